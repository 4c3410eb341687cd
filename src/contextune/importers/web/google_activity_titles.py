"""The sentence around a title: "Watched Glaze basics" and "Glaze basics angesehen" are one video.

Takeout's JSON has the title within such a sentence, in the user's language.
"""

from collections.abc import Sequence
from typing import NamedTuple

ENOUGH = 40
"""Titles that tell the sentence they stand in."""
_FEWEST = 4


class TitleFrame(NamedTuple):
    """What stands before and behind every title."""

    before: str = ""
    behind: str = ""

    def title(self, sentence: str) -> str:
        """The title alone."""
        if not self.holds(sentence):
            return sentence
        return sentence[len(self.before) : len(sentence) - len(self.behind)].strip()

    def holds(self, sentence: str) -> bool:
        """Whether it is such a sentence."""
        long_enough = len(sentence) > len(self.before) + len(self.behind)
        return long_enough and sentence.startswith(self.before) and sentence.endswith(self.behind)


_KNOWN = (
    *(TitleFrame(before) for before in (
        "Watched ", "Vous avez regardé ", "Has visto ", "Viste ", "Hai guardato ", "Assistiu a ",
        "Você assistiu a ", "Visualizou ", "Bekeken: ", "Tittade på ", "Så ", "Så på ", "Obejrzano: ",
        "Zhlédli jste video ", "Ați vizionat ", "Просмотрено видео ", "Ви дивилися відео ",
    )),
    *(TitleFrame("", behind) for behind in (
        " angesehen", " adlı videoyu izlediniz", " を視聴しました", " katsottiin",
    )),
    TitleFrame("Je hebt naar ", " gekeken"),
)  # fmt: skip


def frame_of(sentences: Sequence[str]) -> TitleFrame:
    """The frame of these sentences: one that is known, else what all of them have in common."""
    different = list(dict.fromkeys(sentences))
    fitting = [frame for frame in _KNOWN if _fits(frame, different)]
    if fitting:
        return max(fitting, key=lambda frame: len(frame.before) + len(frame.behind))
    if len(different) < _FEWEST:
        return TitleFrame()
    before = _beginning(different)
    behind = _beginning([sentence[::-1] for sentence in different])[::-1]
    # a title may begin with the same letters as the next: whole words only
    before = before[: before.rfind(" ") + 1]
    behind = behind[behind.find(" ") :] if " " in behind else ""
    return TitleFrame(before, behind)


def _fits(frame: TitleFrame, sentences: Sequence[str]) -> bool:
    """Nearly all of them: a video that is gone is told in another sentence."""
    return sum(map(frame.holds, sentences)) > 0.8 * len(sentences)


def _beginning(texts: Sequence[str]) -> str:
    """What all of them begin with: the first and the last of them in order differ soonest."""
    first, last = min(texts), max(texts)
    same = next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), None)
    return first[:same]

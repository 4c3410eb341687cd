"""Detect and strip the phrase around a title: "Watched X", "X angesehen".

Takeout's JSON has titles within such a sentence, in the user's language.
"""

from collections.abc import Sequence
from typing import NamedTuple

SAMPLE_SIZE = 40
"""Titles from which the phrase is detected."""
_MIN_TITLES = 4


class TitleFrame(NamedTuple):
    """The text before and after every title."""

    before: str = ""
    after: str = ""

    def title(self, sentence: str) -> str:
        """The title without the frame."""
        if not self.matches(sentence):
            return sentence
        return sentence[len(self.before) : len(sentence) - len(self.after)].strip()

    def matches(self, sentence: str) -> bool:
        """Whether the sentence has this frame."""
        long_enough = len(sentence) > len(self.before) + len(self.after)
        return long_enough and sentence.startswith(self.before) and sentence.endswith(self.after)


_KNOWN_FRAMES = (
    *(TitleFrame(before) for before in (
        "Watched ", "Vous avez regardé ", "Has visto ", "Viste ", "Hai guardato ", "Assistiu a ",
        "Você assistiu a ", "Visualizou ", "Bekeken: ", "Tittade på ", "Så ", "Så på ", "Obejrzano: ",
        "Zhlédli jste video ", "Ați vizionat ", "Просмотрено видео ", "Ви дивилися відео ",
    )),
    *(TitleFrame("", after) for after in (
        " angesehen", " adlı videoyu izlediniz", " を視聴しました", " katsottiin",
    )),
    TitleFrame("Je hebt naar ", " gekeken"),
)  # fmt: skip


def detect_frame(sentences: Sequence[str]) -> TitleFrame:
    """The frame of these sentences: a known one, else their common prefix and suffix."""
    distinct = list(dict.fromkeys(sentences))
    candidates = [frame for frame in _KNOWN_FRAMES if _matches_most(frame, distinct)]
    if candidates:
        return max(candidates, key=lambda frame: len(frame.before) + len(frame.after))
    if len(distinct) < _MIN_TITLES:
        return TitleFrame()
    before = _common_prefix(distinct)
    after = _common_prefix([sentence[::-1] for sentence in distinct])[::-1]
    # titles may start with the same letters: whole words only
    before = before[: before.rfind(" ") + 1]
    after = after[after.find(" ") :] if " " in after else ""
    return TitleFrame(before, after)


def _matches_most(frame: TitleFrame, sentences: Sequence[str]) -> bool:
    """Whether it matches more than 80 % of the sentences; removed videos have a different one."""
    return sum(map(frame.matches, sentences)) > 0.8 * len(sentences)


def _common_prefix(texts: Sequence[str]) -> str:
    """The common prefix, which is that of the first and the last text in sorted order."""
    first, last = min(texts), max(texts)
    same = next(
        (position for position, (left, right) in enumerate(zip(first, last, strict=False)) if left != right),
        None,
    )
    return first[:same]

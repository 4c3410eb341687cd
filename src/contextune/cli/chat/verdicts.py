"""Verdicts of a chat on the last answer: "right", "wrong", "it was 2"."""

import re
from dataclasses import dataclass, replace

from contextune.context.history import depends_on_history
from contextune.tuner import Tuner
from contextune.types import Answer

_RIGHT = re.compile(r"(?:that(?:'s| is| was) |yes,? )?(?:right|correct)[.!]*", re.IGNORECASE)
_WRONG = re.compile(r"(?:that(?:'s| is| was) |no,? )?(?:wrong|not right|incorrect)[.!]*", re.IGNORECASE)
_IT_WAS = re.compile(r"(?:no,? )?it(?:'s| is| was) (?:number |no\. ?)?(\d+)[.!]*", re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
    """Which items and whether the tool of an answer were right."""

    text: str
    """What to say to the user."""
    used: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    tool: str | None = None
    ok: bool = True

    def give(self, tuner: Tuner, answer: Answer) -> None:
        """Record it for the request of the answer, without a history that says nothing about it."""
        request = answer.request
        if not depends_on_history(request):
            request = replace(request, history=())
        tuner.feedback(request, self.used, self.rejected, tool=self.tool, ok=self.ok)


def read_verdict(line: str, answer: Answer) -> Verdict | None:
    """What a line says of an answer, if it does; a number is that of an item as it was printed."""
    # a refusal only shows the nearest call
    tool = answer.plan.tool if answer.plan and answer.plan.decision != "none" else None
    meant = _meant_items(answer)
    if _RIGHT.fullmatch(line):
        return Verdict("Remembered as right.", used=meant, tool=tool)
    if _WRONG.fullmatch(line):
        return Verdict("Remembered as wrong.", rejected=meant, tool=tool, ok=False)
    match = _IT_WAS.fullmatch(line)
    number = int(match[1]) if match else 0
    if not 1 <= number <= len(answer.context):
        return None
    item = answer.context[number - 1].item
    rejected = tuple(other for other in meant if other != item.id)
    return Verdict(f"Remembered: it was “{item.label}”.", used=(item.id,), rejected=rejected)


def _meant_items(answer: Answer) -> tuple[str, ...]:
    """The items that the call takes its values from, else the first one."""
    arguments = answer.plan.arguments.values() if answer.plan else ()
    sources = (source for argument in arguments for source in argument.sources)
    ids = dict.fromkeys(source.item for source in sources if source.kind == "item" and source.item)
    return tuple(ids) or tuple(hit.item.id for hit in answer.context[:1])

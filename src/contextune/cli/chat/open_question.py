"""The question of the last answer, which stays open until the user answers or leaves it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from contextune.cli.chat.small_talk import is_assent, is_refusal
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.multi_step.split import tool_verbs
from contextune.search import tokenize
from contextune.tools import bundled_toolbox
from contextune.types import Answer, Option, Plan, Question

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_CHOICE = re.compile(
    rf"\W*(?:(?:yes|no|ok|okay|the|number|no\.|option|i mean|i meant|take|choose)\b\W*)*"
    rf"(?:(?P<number>\d{{1,2}})|(?P<ordinal>{'|'.join(_ORDINALS)}|last))"
    r"(?:\s+(?:one|option))?(?:,? please)?\W*",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\W*(?:what|when|where|who|whom|whose|which|why|how|is|are|am|was|were|do|does|did|can|could|will|would)\b",
    re.IGNORECASE,
)
_MAX_WORDS = 8
"""Words of a reply to a question for one value; a longer line is a request of its own."""

Meaning = Literal["choose", "leave", "repeat", "complete"]


class Reply(NamedTuple):
    """What a line says to an open question: take this call, leave it, ask again, or add the missing value."""

    meaning: Meaning
    plan: Plan | None = None
    request: str = ""
    """For `complete`, the last request with the value."""


@dataclass(frozen=True)
class OpenQuestion:
    """A question that has been put to the user, and the answer that it is from."""

    question: Question
    answer: Answer

    @classmethod
    def of(cls, answer: Answer) -> "OpenQuestion | None":
        """The question of an answer, if there is one that can be answered."""
        plan = answer.plan
        if plan is None or plan.question is None or plan.decision in (None, "act", "none"):
            return None
        return cls(plan.question, answer)

    def read(self, line: str) -> Reply | None:
        """What a line says to the question; None if it is about something else."""
        plans = [option.plan for option in self.question.options]
        if number := _chosen_number(line, len(plans)):
            return Reply("choose", plans[number - 1])
        if is_refusal(line):
            return Reply("leave")
        if is_assent(line):
            return Reply("choose", plans[0]) if len(plans) == 1 else Reply("repeat")
        if option := _named_option(line, self.question.options):
            return Reply("choose", option.plan)
        if not plans and _is_value(line):
            return Reply("complete", request=f"{self.answer.request.text.rstrip(' .!?')} {line}")
        return None


def _chosen_number(line: str, count: int) -> int:
    """The number of the option that a line says: "2", "the second one", "the last"; 0 if it says none."""
    match = _CHOICE.fullmatch(line)
    if match is None:
        return 0
    word = (match["ordinal"] or "").casefold()
    number = (
        int(match["number"]) if match["number"] else count if word == "last" else _ORDINALS.index(word) + 1
    )
    return number if number <= count else 0


def _named_option(line: str, options: Sequence[Option]) -> Option | None:
    """The only option whose label has all the words that a line says beside "I mean", "please", …."""
    words = frozenset(tokenize(line)) - STOP_WORDS - {"mean", "meant"}
    if not words or len(options) < 2 or _ASKS.match(line):
        return None
    named = [option for option in options if words <= frozenset(tokenize(option.label))]
    return named[0] if len(named) == 1 else None


def _is_value(line: str) -> bool:
    """Whether a line gives a value and is neither a question nor an order."""
    words = line.split()
    first = words[0].strip(",.!").casefold() if words else ""
    is_order = first in tool_verbs(bundled_toolbox()) and len(words) > 1
    return 0 < len(words) <= _MAX_WORDS and not _ASKS.match(line) and not is_order

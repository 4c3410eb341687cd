"""Lines of a chat other than requests: small talk, replies to an open question, verdicts on the answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from contextune.context.history import depends_on_history
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.multi_step.split import tool_verbs
from contextune.search import tokenize
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Answer, Option, Plan, Question

_YES = re.compile(
    r"\W*(?:(?:y|yes|yep|yeah|yup|sure|ok|okay|please|do it|go ahead|do that|of course|exactly)"
    r"\b\W*){1,4}",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\W*(?:(?:n|no|nope|nah|cancel|neither|none|none of them|leave it|leave that|never mind|nevermind"
    r"|forget it|forget that|skip it|not now)\b\W*){1,4}(?:(?:thanks|thank you)\b\W*)?",
    re.IGNORECASE,
)
_FILLER = (
    r"(?:there|contextune|again|so much|very much|a lot|everyone|all|then|now|today|ok|okay|well|great"
    r"|perfect|nice)"
)
_KINDS: tuple[tuple[str, str], ...] = (
    (
        (
            r"(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|how are you|how's it going"
            r"|how are things|what's up)"
        ),
        "Hello. Ask about your mail, calendar, notes, calls or music, or say what to do.",
    ),
    (
        r"(?:thanks?|thank you|many thanks|cheers|ta|much appreciated)",
        "You're welcome.",
    ),
    (
        (
            r"(?:great|perfect|nice|cool|awesome|lovely|brilliant|good job|well done|ok|okay|alright|fine"
            r"|got it|i see|sounds good)"
        ),
        "Good.",
    ),
    (r"(?:bye|goodbye|good night|see you|see you later|talk later)", "Goodbye. /quit ends the chat."),
    (
        r"(?:help|help me|what can you do|what do you do|who are you|what are you|what can i ask)",
        (
            "I find what is stored here and propose the call to make: “When is the dentist?”, “Call my "
            "brother”. Nothing is executed. /why explains an answer, /quit ends."
        ),
    ),
)
_PATTERNS = tuple(
    (re.compile(rf"\A\W*(?:(?:{kind}|{_FILLER})\b\W*){{1,5}}", re.IGNORECASE), reply)
    for kind, reply in _KINDS
)
_STARTS = tuple(re.compile(rf"\b{kind}\b", re.IGNORECASE) for kind, _ in _KINDS)
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
_RIGHT = re.compile(r"(?:that(?:'s| is| was) |yes,? )?(?:right|correct)[.!]*", re.IGNORECASE)
_WRONG = re.compile(r"(?:that(?:'s| is| was) |no,? )?(?:wrong|not right|incorrect)[.!]*", re.IGNORECASE)
_IT_WAS = re.compile(r"(?:no,? )?it(?:'s| is| was) (?:number |no\. ?)?(\d+)[.!]*", re.IGNORECASE)


def small_talk(line: str) -> str | None:
    """The reply to a line that asks for nothing; None if it may be a request."""
    text = line.replace("’", "'")
    for (pattern, reply), start in zip(_PATTERNS, _STARTS, strict=True):
        if start.search(text) and pattern.fullmatch(text):
            return reply
    return None


def is_assent(line: str) -> bool:
    """Whether a line only says yes."""
    return _YES.fullmatch(line) is not None


def is_refusal(line: str) -> bool:
    """Whether a line only says no."""
    return _NO.fullmatch(line) is not None


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

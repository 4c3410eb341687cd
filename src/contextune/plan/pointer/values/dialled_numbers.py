"""The number that a request says to dial, however short: "Call 112", "Dial *100#"."""

import re
from functools import lru_cache

from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import TextSpan, find_spans
from contextune.types import Source

_DIALLED = re.compile(
    r"\b(?:call|dial|ring|phone)(?: up)?(?: (?:the )?number)?:? "
    r"(?P<number>[+*#]*\d(?:[ ()./-]?[\d*#])*[*#]*)"
    r"(?=\W*$|[,;:.!?] "
    r"|(?: (?:please|now|for me|again|and|then|on|from|to|about|that|right|if|before|after)\b))",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d{1,2}[.:]\d\d")
_KEYS = re.compile(r"[^\d+*#]")


@lru_cache(maxsize=512)
def dialled_number(text: str) -> TextSpan | None:
    """The digits, with + * and #, right after an order to dial; None if there are none."""
    match = _DIALLED.search(text)
    if match is None or _CLOCK.fullmatch(match["number"]):
        return None
    return TextSpan(*match.span("number"), match["number"], "number", "dial")


def dialled_candidate(text: str) -> Candidate | None:
    """The same as a value."""
    span = dialled_number(text)
    if span is None:
        return None
    return Candidate(span.text, "said number", (Source("said", words=span.text),), span=span)


def said_numbers(text: str) -> list[str]:
    """The phone numbers that a request says."""
    numbers = [span.text for span in find_spans(text) if span.shape == "number"]
    dialled = dialled_number(text)
    return numbers if dialled is None or dialled.text in numbers else [*numbers, dialled.text]


def dialled_keys(text: str) -> str:
    """A number as it is typed, without spaces and brackets."""
    return _KEYS.sub("", text)

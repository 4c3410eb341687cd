"""The number that a request says to dial, however short: "Call 112", "Dial *100#", "Dial nine one one"."""

import re
from functools import lru_cache

from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import TextSpan, find_spans
from contextune.time_phrases.number_words import HOUR_WORDS
from contextune.types import Source

_DIALLED = re.compile(
    r"\b(?:call|dial|ring|phone)(?: up)?(?: (?:the )?number)?:? "
    r"(?P<number>[+*#]*\d(?:[ ()./-]?[\d*#])*[*#]*)"
    r"(?=\W*$|[,;:.!?] "
    r"|(?: (?:please|now|for me|again|and|then|on|from|to|about|that|right|if|before|after)\b))",
    re.IGNORECASE,
)
_DIGITS = {
    **{word: str(number) for word, number in HOUR_WORDS.items() if number < 10},
    **dict.fromkeys(["zero", "oh", "o", "nought"], "0"),
}
_DIGIT = rf"(?:(?:(?:double|triple)[ -])?(?:{'|'.join(_DIGITS)}|\d\b)|[+*#]*\d+)"
_SPELLED = re.compile(
    rf"\b(?:call|dial|ring|phone)(?: up)?(?: (?:the )?number)?:? (?P<number>{_DIGIT}(?:(?:, | |-){_DIGIT})+)"
    r"(?=\W*$|[;.!?] |(?:,? (?:please|now|for me|again|and|then)\b))",
    re.IGNORECASE,
)
"""A number in words: "Dial nine one one", "Call oh eight hundred" is not."""
_REPEATS = {"double": 2, "triple": 3}
_MIN_SPELLED = 3
"""Digits of a number in words: "Call one two" may be anything."""
_OF_ITEM = re.compile(
    r"\W*(?:(?:please|can you|could you|just),? )*(?:call|phone|ring|dial)(?: up)?"
    r" (?:the|that) (?:phone )?number(?: that(?:['’]s| is))?"
    r" (?:in|from|on|at the (?:end|bottom) of) (?:my|the|that|this|\w+['’]s)\b",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"\W*(?:(?:please|can you|could you|would you|just),? )*(?P<verb>[a-z]+)"
    r"(?: (?:(?:all )?(?:the )?calls from|the|this|that|number|caller))*:? "
    r"(?P<number>[+(]?\d(?:[ ()./-]{0,2}\d){6,})(?:,? (?:please|now|for me|for good|from now on))*\W*$",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\d{1,2}[.:]\d\d")
_KEYS = re.compile(r"[^\d+*#]")


@lru_cache(maxsize=512)
def dialled_number(text: str) -> TextSpan | None:
    """The digits, with + * and #, right after an order to dial, also in words; None if there are none."""
    match = _DIALLED.search(text)
    if match is None and (spelled := _SPELLED.search(text)) is not None:
        digits = _spelled_digits(spelled["number"])
        is_number = len(digits) >= _MIN_SPELLED
        return TextSpan(*spelled.span("number"), digits, "number", "dial") if is_number else None
    if match is None or _CLOCK.fullmatch(match["number"]):
        return None
    return TextSpan(*match.span("number"), match["number"], "number", "dial")


def _spelled_digits(words: str) -> str:
    """The digits of a number in words: "double five one" is 551."""
    digits, times = "", 1
    for word in re.split(r"[ ,-]+", words.casefold()):
        if word in _REPEATS:
            times = _REPEATS[word]
            continue
        digits += _DIGITS.get(word, word) * times
        times = 1
    return digits


def dialled_candidate(text: str) -> Candidate | None:
    """The same as a value."""
    span = dialled_number(text)
    if span is None:
        return None
    return Candidate(span.text, "said number", (Source("said", words=span.text),), span=span)


def number_verb(text: str) -> str | None:
    """The verb of an order whose only object is a phone number: "Block +56 9 8100 2233"."""
    match = _ORDERED.match(text)
    return match["verb"].casefold() if match else None


def is_number_of_item(text: str) -> bool:
    """Whether the number to dial is one that an item says: "Call the number in Jan's mail"."""
    return _OF_ITEM.match(text) is not None


def said_numbers(text: str) -> list[str]:
    """The phone numbers that a request says."""
    numbers = [span.text for span in find_spans(text) if span.shape == "number"]
    dialled = dialled_number(text)
    return numbers if dialled is None or dialled.text in numbers else [*numbers, dialled.text]


def dialled_keys(text: str) -> str:
    """A number as it is typed, without spaces and brackets."""
    return _KEYS.sub("", text)

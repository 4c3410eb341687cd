"""Compare the sentence that is shown for a question with the answer that a world gives.

The answers are people's own short wording, so the comparison is lenient: a part of the shown text is enough,
if its words and those of the answer have an F1 of at least `MIN_F1`. But every number of the answer must be
in the shown text; times of day agree on either clock.
"""

import calendar
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from contextune.answers import ExtractedAnswer
from contextune.time_phrases.number_words import parse_number

MIN_F1 = 0.5
"""Least F1 of the words of a part of the shown text and of the answer."""
_CLOCK = re.compile(r"\b(\d{1,2})[:.](\d\d)\b(?:\s*(am|pm)\b)?|\b(\d{1,2})\s*(am|pm)\b")
_DIGITS = re.compile(r"(?<=\d),(?=\d)")
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)\b")
_NUMBER_WORDS = (
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
_NAMES = {name.casefold(): name[:3].casefold() for name in (*calendar.day_name, *calendar.month_name) if name}
_EMPTY = frozenset(
    ["a", "an", "the", "of", "at", "on", "in", "is", "it", "and", "to", "by", "for", "from", "with"]
)


def shown_text(answer: ExtractedAnswer) -> str:
    """All that is shown as the answer: the sentence, and what a later item says."""
    return f"{answer.text}\n{answer.correction.text}" if answer.correction else answer.text


def has_answer(shown: str, wanted: str) -> bool:
    """Whether the shown text has the wanted answer."""
    have, want = _words(shown), _words(wanted)
    if not want:
        return False
    if any(word[0].isdigit() and word not in have for word in want):
        return False
    return max(map(partial(_f1, want=want), _parts(have, 2 * len(want))), default=0.0) >= MIN_F1


def _parts(words: Sequence[str], longest: int) -> Iterator[Sequence[str]]:
    """All parts of a text of up to `longest` words."""
    for start in range(len(words)):
        for end in range(start + 1, min(start + longest, len(words)) + 1):
            yield words[start:end]


def _f1(part: Sequence[str], want: Sequence[str]) -> float:
    common = sum((Counter(part) & Counter(want)).values())
    return 2 * common / (len(part) + len(want))


def _words(text: str) -> list[str]:
    """The words that count, with numbers, days and months in one form."""
    low = _DIGITS.sub("", text.casefold().replace("’", "'").replace("noon", "12:00"))
    low = _ORDINAL.sub(r"\1", low)
    low = _CLOCK.sub(_twelve_hours, low)
    return [_number(word) for word in _WORD.findall(low) if word not in _EMPTY]


def _twelve_hours(match: re.Match[str]) -> str:
    """A time of day as hour and minute on a twelve-hour clock; a full hour as the hour alone."""
    hour, minute = int(match[1] or match[4]), int(match[2] or 0)
    if hour > 24 or minute > 59:
        return match[0]
    hour = hour % 12 or 12
    return f" {hour}.{minute:02d} " if minute else f" {hour} "


def _number(word: str) -> str:
    if word in _NUMBER_WORDS:
        return f"{parse_number(word):g}"
    word = _NAMES.get(word, word)
    return word.lstrip("0") or "0" if word.isdigit() else word

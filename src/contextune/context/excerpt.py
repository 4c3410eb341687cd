"""Excerpt: an item as text, whole, shortened to what matters for a request, or only its title."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from math import log
from typing import cast

from contextune._internal.untrusted import neutralize
from contextune.search import tokenize
from contextune.types import Item, local_time

Fits = Callable[[str], bool]
"""Whether a text fits into the budget."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ROLES = {"made": "when", "start": "when", "end": "until", "due": "due"}
_GAP = "…"
_FACT = re.compile(r"\d|@|://")
_TIME_WEIGHT, _FACT_WEIGHT = 1.5, 1.0
"""Weight of a time, and of a number or an address; a word shared with the request weighs about 1."""
# a full stop after two letters, as in "Dr. Rui", does not end a sentence
_SENTENCE_END = re.compile(r"(?<=\w{3}[.!?;…])\s+|(?<=\d[.!?;])\s+|(?<=[。！？])|(?<= /) ")
_MAX_SENTENCE = 200
"""Maximum number of characters of a sentence; longer ones are split at a space."""
_MAX_MISSES = 20
"""Stop after this many sentences in a row that do not fit; a book has thousands."""


class TokenWeights:
    """Weighs sentences by the words they share with a request, by inverse document frequency."""

    def __init__(self, request: str, texts: Sequence[str]) -> None:
        """`texts` are the documents that word frequencies are counted in."""
        request_words = set(tokenize(request))
        counts = Counter(word for text in texts for word in request_words & set(tokenize(text)))
        self._weights = {word: log(1 + len(texts) / count) for word, count in counts.items()}

    def weigh(self, sentence: str) -> float:
        """The weight of the shared words, plus a bonus for a number, a time or an address."""
        shared = sum(self._weights.get(word, 0.0) for word in set(tokenize(sentence)))
        return shared + (_FACT_WEIGHT if _FACT.search(sentence) else 0.0)


@dataclass(frozen=True, slots=True)
class _FieldLine:
    """One field: its label, its sentences with trailing spaces, and its own weight."""

    label: str
    sentences: tuple[str, ...]
    weight: float

    def render(self, kept: Sequence[int]) -> str:
        """The line with only these sentences, and a mark for each gap."""
        text, next_number = self.label, 0
        for number in kept:
            text += (f"{_GAP} " if number != next_number else "") + self.sentences[number]
            next_number = number + 1
        return text if next_number == len(self.sentences) else f"{text.rstrip()} {_GAP}"


class Excerpt:
    """An item that can be rendered at any length; its text is neutralised, so that it cannot fake a fence."""

    def __init__(self, item: Item, zone: tzinfo | None = None) -> None:
        """`zone` is the time zone for showing zoned times."""
        self._lines = list(_lines(item, zone))

    @property
    def whole(self) -> str:
        """All fields of the item."""
        return "\n".join(line.label + "".join(line.sentences) for line in self._lines)

    def title(self, fits: Fits) -> str | None:
        """The title, cut to fit; None if not even its first word fits."""
        title = "".join(self._lines[0].sentences)
        if fits(text := _mark_cut(title, len(self._lines) > 1)):
            return text
        words = title.split(" ")
        low, high = 1, len(words) - 1  # binary search for the number of words
        while low <= high:
            middle = (low + high) // 2
            text = _mark_cut(" ".join(words[:middle]), True)
            low, high = (middle + 1, high) if fits(text) else (low, middle - 1)
        return _mark_cut(" ".join(words[:high]), True) if high > 0 else None

    def shortened(self, fits: Fits, weights: TokenWeights) -> str | None:
        """The title and the sentences with the highest weight that fit; None if only the title fits."""
        kept: dict[int, list[int]] = {0: [0]}
        pieces = [
            (-line.weight - weights.weigh(line.label + sentence), row, number)
            for row, line in enumerate(self._lines)
            for number, sentence in enumerate(line.sentences)
        ]
        misses = 0
        for _, row, number in sorted(pieces):
            if (row, number) == (0, 0):
                continue
            longer = {**kept, row: sorted([*kept.get(row, ()), number])}
            if fits(self._render(longer)):
                kept, misses = longer, 0
            elif (misses := misses + 1) == _MAX_MISSES:
                break
        return self._render(kept) if kept != {0: [0]} else None

    def _render(self, kept: Mapping[int, Sequence[int]]) -> str:
        text = "\n".join(self._lines[row].render(kept[row]) for row in sorted(kept))
        return _mark_cut(text, len(kept) < len(self._lines))


def _mark_cut(text: str, cut: bool) -> str:
    return f"{text} {_GAP}" if cut and not text.endswith(_GAP) else text


def _lines(item: Item, zone: tzinfo | None) -> Iterator[_FieldLine]:
    """The title, the text fields of the schema, the times, the place, then all other fields."""
    schema, fields = item.schema, item.fields
    listed = {schema.title, "place", *schema.text, *schema.times.values()}
    yield _FieldLine("", _sentences(neutralize(_to_text(fields.get(schema.title)))) or ("(untitled)",), 1.0)
    for position, (name, label) in enumerate(schema.text.items()):
        if name != schema.title and (text := neutralize(_to_text(fields.get(name)))):
            # the schema lists fields in reading order: the folder and the like come last
            weight = 1 - position / len(schema.text)
            yield _FieldLine(f"{neutralize(label)}: " if label else "", _sentences(text), weight)
    yield from _times(item, zone)
    if place := neutralize(_to_text(fields.get("place")).replace("_", " ")):
        yield _FieldLine("place: ", (place,), 1.0)
    for name, value in fields.items():
        if name not in listed and (text := neutralize(_to_text(value))):
            yield _FieldLine(f"{neutralize(name.replace('_', ' '))}: ", _sentences(text), 0.0)


def _times(item: Item, zone: tzinfo | None) -> Iterator[_FieldLine]:
    """The times by role; an end on the same day as the start goes on the same line."""
    values = {role: item.fields.get(name) for role, name in item.schema.times.items()}
    times = {role: _day_and_hour(value, zone) for role, value in values.items() if value}
    (start, start_hour), (end, end_hour) = (times.get(role, ("", "")) for role in ("start", "end"))
    if start_hour and end_hour and start == end:
        times = {**times, "start": (start, f"{start_hour} to {end_hour}")}
        del times["end"]
    for role, (day, hour) in times.items():
        yield _FieldLine(f"{_ROLES[role]}: ", (f"{day} {hour}".strip(),), _TIME_WEIGHT)


def _day_and_hour(value: object, zone: tzinfo | None) -> tuple[str, str]:
    """The day, and the hour if there is one, in the time zone; a value that is not a time is kept as text."""
    with suppress(ValueError):
        time = local_time(value if isinstance(value, datetime) else datetime.fromisoformat(str(value)), zone)
        hour = "" if isinstance(value, str) and ":" not in value else f"{time:%H:%M}"
        return f"{_DAYS[time.weekday()]} {time:%Y-%m-%d}", hour
    return neutralize(str(value)), ""


def _to_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return "; ".join(f"{name}: {text}" for name, inner in pairs if (text := _to_text(inner)))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return ", ".join(filter(None, map(_to_text, cast("Sequence[object]", value))))
    return str(value)


def _sentences(text: str) -> tuple[str, ...]:
    """Split into sentences; joined, they are the text."""
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    pieces: list[str] = []
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        while end - start > _MAX_SENTENCE:
            cut = text.rfind(" ", start, start + _MAX_SENTENCE) + 1 or start + _MAX_SENTENCE
            pieces.append(text[start:cut])
            start = cut
        pieces.append(text[start:end])
    return tuple(filter(None, pieces))

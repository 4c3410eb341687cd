"""Excerpt: an item as text, whole or as a selection of its title, fields and sentences."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from math import log

from contextune._internal.untrusted import neutralize
from contextune.search import tokenize
from contextune.types import Item, local_time
from contextune.types.field_values import is_day, read_time, to_text

Fits = Callable[[str], bool]
"""Whether a text fits into the budget."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ROLES = {"made": "when", "start": "when", "end": "until", "due": "due"}
_GAP = "…"
_FACT = re.compile(r"\d|@|://")
_TITLE, _PEOPLE, _EVENT_TIME, _FIELD, _SENTENCE = 1.0, 0.8, 0.8, 0.5, 0.15
_FACT_BONUS, _CREATED, _PLACE, _LEAST = 0.2, 0.1, 0.05, 0.02
_SHARED_WORD = 0.3
"""Values of the pieces of an item, relative to its title; chosen on half of the development personas.

A call needs titles, people, and the times of events and reminders most, when an item was created least. A
sentence of running text is worth more if it has a number or an address, or shares words with the request.
"""
_PEOPLE_DECAY = 0.7
"""Schemas list fields in reading order; the last people field is worth this much less than the first."""
_MAX_FIELD = 60
"""A field with more characters, or with several sentences, is running text."""
# a full stop after two letters, as in "Dr. Rui", does not end a sentence
_SENTENCE_END = re.compile(r"(?<=\w{3}[.!?;…])\s+|(?<=\d[.!?;])\s+|(?<=[。！？])|(?<= /) ")
_MAX_SENTENCE = 200
"""Maximum number of characters of a sentence; longer ones are split at a space."""


class TokenWeights:
    """Weighs sentences by the words they share with a request, by inverse document frequency."""

    def __init__(self, request: str, texts: Sequence[str]) -> None:
        """`texts` are the documents that word frequencies are counted in."""
        request_words = set(tokenize(request))
        counts = Counter(word for text in texts for word in request_words & set(tokenize(text)))
        self._weights = {word: log(1 + len(texts) / count) for word, count in counts.items()}

    def weigh(self, sentence: str) -> float:
        """The weight of the shared words."""
        return sum(self._weights.get(word, 0.0) for word in set(tokenize(sentence)))


Place = tuple[int, int]
"""The line and the sentence of a piece; (0, 0) is the title."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence, or a short field: what it adds to a prompt and what it is worth."""

    place: Place
    text: str
    value: float


@dataclass(frozen=True, slots=True)
class _FieldLine:
    """One field: its label, its sentences with trailing spaces, and the value of each sentence."""

    label: str
    sentences: tuple[str, ...]
    value: float
    running: bool = False
    """Running text, in which sentences with numbers or addresses count more."""

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

    def pieces(self, weights: TokenWeights) -> list[Piece]:
        """All sentences and fields in reading order, valued for the request; the title comes first."""
        return [
            Piece(
                (row, number),
                (line.label if number == 0 else "") + sentence,
                line.value
                + (_FACT_BONUS if line.running and _FACT.search(sentence) else 0.0)
                + _SHARED_WORD * weights.weigh(sentence),
            )
            for row, line in enumerate(self._lines)
            for number, sentence in enumerate(line.sentences)
        ]

    def render(self, kept: Collection[Place]) -> str:
        """Only these pieces, in reading order; a mark shows where sentences of a field are missing."""
        rows: dict[int, list[int]] = {}
        for row, number in sorted(kept):
            rows.setdefault(row, []).append(number)
        return "\n".join(self._lines[row].render(numbers) for row, numbers in rows.items())

    def cut_title(self, fits: Fits) -> str | None:
        """As many words of the title as fit; None if not even the first does."""
        words = "".join(self._lines[0].sentences).split(" ")
        low, high = 1, len(words) - 1  # binary search for the number of words
        while low <= high:
            middle = (low + high) // 2
            text = f"{' '.join(words[:middle])} {_GAP}"
            low, high = (middle + 1, high) if fits(text) else (low, middle - 1)
        return f"{' '.join(words[:high])} {_GAP}" if high > 0 else None


def _lines(item: Item, zone: tzinfo | None) -> Iterator[_FieldLine]:
    """The title, the text fields of the schema, the times, the place, then all other fields."""
    schema, fields = item.schema, item.fields
    listed = {schema.title, "place", *schema.text, *schema.times.values()}
    title = neutralize(item.title)
    yield _FieldLine("", _sentences(title) or ("(untitled)",), _TITLE)
    for position, (name, label) in enumerate(schema.text.items()):
        if name not in (schema.title, schema.title_end) and (text := neutralize(to_text(fields.get(name)))):
            share = position / len(schema.text)
            heading = f"{neutralize(label)}: " if label else ""
            if name in schema.people:
                yield _FieldLine(heading, _sentences(text), _LEAST + _PEOPLE * (1 - _PEOPLE_DECAY * share))
            else:
                yield _text_line(heading, text, _FIELD * (1 - share))
    yield from _times(item, zone)
    if place := neutralize(to_text(fields.get("place")).replace("_", " ")):
        yield _FieldLine("place: ", (place,), _PLACE)
    for name, value in fields.items():
        if name not in listed and (text := neutralize(to_text(value))):
            yield _text_line(f"{neutralize(name.replace('_', ' '))}: ", text, 0.0)


def _text_line(label: str, text: str, value: float) -> _FieldLine:
    """A text field: running text, or a short one with this value."""
    sentences = _sentences(text)
    running = len(sentences) > 1 or len(text) > _MAX_FIELD
    return _FieldLine(label, sentences, _LEAST + (_SENTENCE if running else value), running)


def _times(item: Item, zone: tzinfo | None) -> Iterator[_FieldLine]:
    """The times by role; an end on the same day as the start goes on the same line."""
    values = {role: item.fields.get(name) for role, name in item.schema.times.items()}
    times = {role: _day_and_hour(value, zone) for role, value in values.items() if value}
    (start, start_hour), (end, end_hour) = (times.get(role, ("", "")) for role in ("start", "end"))
    if start_hour and end_hour and start == end:
        times = {**times, "start": (start, f"{start_hour} to {end_hour}")}
        del times["end"]
    for role, (day, hour) in times.items():
        yield _FieldLine(
            f"{_ROLES[role]}: ", (f"{day} {hour}".strip(),), _CREATED if role == "made" else _EVENT_TIME
        )


def _day_and_hour(value: object, zone: tzinfo | None) -> tuple[str, str]:
    """The day, and the hour if there is one, in the time zone; a value that is not a time is kept as text."""
    time = read_time(value)
    if time is None:
        return neutralize(str(value)), ""
    time = local_time(time, zone)
    return f"{_DAYS[time.weekday()]} {time:%Y-%m-%d}", "" if is_day(value) else f"{time:%H:%M}"


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

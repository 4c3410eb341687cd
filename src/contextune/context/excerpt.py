"""An item in lines: all of them, those that matter to a request, or its name alone."""

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
"""Whether there is room for a text."""

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_ROLES = {"made": "when", "start": "when", "end": "until", "due": "due"}
_GAP = "…"
_FACT = re.compile(r"\d|@|://")
_TIMELY, _FACTUAL = 1.5, 1.0
"""What a time is worth, and a number or an address; a word shared with the request is worth about 1."""
# a stop behind two letters, as in "Dr. Rui", ends no sentence
_END = re.compile(r"(?<=\w{3}[.!?;…])\s+|(?<=\d[.!?;])\s+|(?<=[。！？])|(?<= /) ")
_LONGEST = 200
"""Characters in a sentence at most: not all that is written has stops, so the rest is taken in pieces."""
_PATIENCE = 20
"""How many sentences in a row may fail to fit before an item is taken for full; a book has thousands."""


class TokenWeights:
    """What a sentence is worth to a request: the rarer the words they share, the more."""

    def __init__(self, asked: str, texts: Sequence[str]) -> None:
        """`texts` tell a rare word from a common one."""
        wanted = set(tokenize(asked))
        found = Counter(word for text in texts for word in wanted & set(tokenize(text)))
        self._weights = {word: log(1 + len(texts) / count) for word, count in found.items()}

    def of(self, sentence: str) -> float:
        """The weight of the words shared, and more where there is a number, a time or an address."""
        shared = sum(self._weights.get(word, 0.0) for word in set(tokenize(sentence)))
        return shared + (_FACTUAL if _FACT.search(sentence) else 0.0)


@dataclass(frozen=True, slots=True)
class _FieldLine:
    """One field: its label, its sentences with the spaces behind them, and what it is worth by itself."""

    label: str
    sentences: tuple[str, ...]
    worth: float

    def said(self, kept: Sequence[int]) -> str:
        """The line with only these sentences; a mark stands where others are left out."""
        text, follows = self.label, 0
        for number in kept:
            text += (f"{_GAP} " if number != follows else "") + self.sentences[number]
            follows = number + 1
        return text if follows == len(self.sentences) else f"{text.rstrip()} {_GAP}"


class Excerpt:
    """An item, ready to be written at any length. Its words are inert: no fence begins in them."""

    def __init__(self, item: Item, zone: tzinfo | None = None) -> None:
        """`zone` is that of the user's wall clock, on which zoned times are shown."""
        self._lines = list(_lines(item, zone))

    @property
    def whole(self) -> str:
        """Everything the item says."""
        return "\n".join(line.label + "".join(line.sentences) for line in self._lines)

    def title(self, fits: Fits) -> str | None:
        """What it is called, cut where it is long; None if there is no room for a word of it."""
        name = "".join(self._lines[0].sentences)
        if fits(text := _marked(name, len(self._lines) > 1)):
            return text
        said = name.split(" ")
        least, most = 1, len(said) - 1
        while least <= most:
            middle = (least + most) // 2
            text = _marked(" ".join(said[:middle]), True)
            least, most = (middle + 1, most) if fits(text) else (least, middle - 1)
        return _marked(" ".join(said[:most]), True) if most > 0 else None

    def shortened(self, fits: Fits, weights: TokenWeights) -> str | None:
        """The title and what else is worth most and fits, in the item's order; None if nothing else does."""
        kept: dict[int, list[int]] = {0: [0]}
        pieces = [
            (-line.worth - weights.of(line.label + sentence), row, number)
            for row, line in enumerate(self._lines)
            for number, sentence in enumerate(line.sentences)
        ]
        misses = 0
        for _, row, number in sorted(pieces):
            if (row, number) == (0, 0):
                continue
            longer = {**kept, row: sorted([*kept.get(row, ()), number])}
            if fits(self._said(longer)):
                kept, misses = longer, 0
            elif (misses := misses + 1) == _PATIENCE:
                break
        return self._said(kept) if kept != {0: [0]} else None

    def _said(self, kept: Mapping[int, Sequence[int]]) -> str:
        text = "\n".join(self._lines[row].said(kept[row]) for row in sorted(kept))
        return _marked(text, len(kept) < len(self._lines))


def _marked(text: str, more: bool) -> str:
    return f"{text} {_GAP}" if more and not text.endswith(_GAP) else text


def _lines(item: Item, zone: tzinfo | None) -> Iterator[_FieldLine]:
    """The title, the fields by the table, the times, the place, and last what the table does not know."""
    schema, fields = item.schema, item.fields
    told = {schema.title, "place", *schema.text, *schema.times.values()}
    yield _FieldLine("", _sentences(neutralize(_words(fields.get(schema.title)))) or ("(untitled)",), 1.0)
    for place, (name, label) in enumerate(schema.text.items()):
        if name != schema.title and (text := neutralize(_words(fields.get(name)))):
            # the table has an application's fields in reading order: what is filed where comes last
            worth = 1 - place / len(schema.text)
            yield _FieldLine(f"{neutralize(label)}: " if label else "", _sentences(text), worth)
    yield from _times(item, zone)
    if place := neutralize(_words(fields.get("place")).replace("_", " ")):
        yield _FieldLine("place: ", (place,), 1.0)
    for name, value in fields.items():
        if name not in told and (text := neutralize(_words(value))):
            yield _FieldLine(f"{neutralize(name.replace('_', ' '))}: ", _sentences(text), 0.0)


def _times(item: Item, zone: tzinfo | None) -> Iterator[_FieldLine]:
    """Its times by role; an end on the day of the start is said on the same line."""
    values = {role: item.fields.get(name) for role, name in item.schema.times.items()}
    moments = {role: _moment(value, zone) for role, value in values.items() if value}
    (start, begins), (end, ends) = (moments.get(role, ("", "")) for role in ("start", "end"))
    if begins and ends and start == end:
        moments = {**moments, "start": (start, f"{begins} to {ends}")}
        del moments["end"]
    for role, (day, hour) in moments.items():
        yield _FieldLine(f"{_ROLES[role]}: ", (f"{day} {hour}".strip(),), _TIMELY)


def _moment(value: object, zone: tzinfo | None) -> tuple[str, str]:
    """The day, and the hour if there is one, on the user's wall clock; what is no time stays as it is."""
    with suppress(ValueError):
        time = local_time(value if isinstance(value, datetime) else datetime.fromisoformat(str(value)), zone)
        hour = "" if isinstance(value, str) and ":" not in value else f"{time:%H:%M}"
        return f"{_DAYS[time.weekday()]} {time:%Y-%m-%d}", hour
    return neutralize(str(value)), ""


def _words(value: object) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return "; ".join(f"{name}: {text}" for name, inner in pairs if (text := _words(inner)))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return ", ".join(filter(None, map(_words, cast("Sequence[object]", value))))
    return str(value)


def _sentences(text: str) -> tuple[str, ...]:
    """The text in pieces which put together are the text."""
    ends = [match.end() for match in _END.finditer(text)]
    pieces: list[str] = []
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        while end - start > _LONGEST:
            cut = text.rfind(" ", start, start + _LONGEST) + 1 or start + _LONGEST
            pieces.append(text[start:cut])
            start = cut
        pieces.append(text[start:end])
    return tuple(filter(None, pieces))

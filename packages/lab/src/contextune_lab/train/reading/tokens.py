"""Rows as token ids, in the form that `contextune.reading.model` reads them in.

Training reads fewer tokens than the model may, to be faster; most texts are shorter anyway.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from contextune_lab.train.reading.rows import CallTrainingRow, ListRow

CLS, SEP = 101, 102
_ARGUMENT, _VALUE, _OMITTED, _SPAN = 2, 3, 4, 5
_CALL_REQUEST, _CALL_TOOL, _CALL_ARGUMENT, _CALL_VALUE = 150, 48, 24, 16


@dataclass(frozen=True)
class TokenLimits:
    """Most tokens: of a request and of an item beside it, of a request and of a tool, and of a whole call."""

    item: tuple[int, int] = (100, 115)
    tool: tuple[int, int] = (165, 60)
    call: int = 400


@dataclass(frozen=True, eq=False)
class TokenSequence:
    """Token ids, and where the second segment begins."""

    ids: Sequence[int]
    segment: int


@dataclass(frozen=True, eq=False)
class ListTokens:
    """A request beside each of its texts."""

    sequences: Sequence[TokenSequence]
    grades: Sequence[int]


@dataclass(frozen=True, eq=False)
class ArgumentTokens:
    """The columns that an argument admits, those that are right (if known), and the tokens of its span."""

    admitted: NDArray[np.bool_]
    gold: Sequence[int]
    span: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class CallTokens:
    """A request beside a tool with its arguments and values."""

    sequence: TokenSequence
    argument_places: Sequence[int]
    value_places: Sequence[int]
    arguments: Sequence[ArgumentTokens]
    words: int
    """Tokens of the request."""
    fits: bool


class RowTokenizer:
    """Makes token ids of rows."""

    def __init__(self, file: Path, limits: TokenLimits | None = None) -> None:
        self.limits = limits or TokenLimits()
        self._tokenizer = cast("Any", Tokenizer.from_file(str(file)))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def list_tokens(self, row: ListRow, limits: tuple[int, int]) -> ListTokens:
        """A row of items or of tools."""
        request = self._ids(row.request, limits[0])
        sequences = [
            TokenSequence([CLS, *request, SEP, *self._ids(text, limits[1]), SEP], len(request) + 2)
            for text in row.texts
        ]
        return ListTokens(sequences, row.grades)

    def call_tokens(self, row: CallTrainingRow) -> CallTokens:
        """A row of a call."""
        encoding = self._tokenizer.encode(row.request, add_special_tokens=False)
        words: list[int] = encoding.ids[:_CALL_REQUEST]
        ids = [CLS, *words, SEP]
        segment = len(ids)
        ids += self._ids(row.tool, _CALL_TOOL)
        argument_places: list[int] = []
        for argument in row.arguments:
            argument_places.append(len(ids))
            ids += [_ARGUMENT, *self._ids(argument.text, _CALL_ARGUMENT)]
        ids.append(SEP)
        value_places = [len(ids), len(ids) + 1]
        ids += [_OMITTED, _SPAN]
        for value in row.values:
            tokens = self._ids(value, _CALL_VALUE)
            if len(ids) + len(tokens) + 2 > self.limits.call:
                break
            value_places.append(len(ids))
            ids += [_VALUE, *tokens]
        ids.append(SEP)
        last = len(ids) - 1
        offsets: list[tuple[int, int]] = encoding.offsets[: len(words)]
        return CallTokens(
            TokenSequence(ids, segment),
            [min(place, last) for place in argument_places],
            value_places,
            [
                ArgumentTokens(
                    *_columns(each.values, each.gold, len(value_places)), _span(each.span, offsets)
                )
                for each in row.arguments
            ],
            len(words),
            row.fits,
        )

    def _ids(self, text: str, limit: int) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids[:limit]


def _columns(
    values: Sequence[int], gold: Sequence[int] | None, count: int
) -> tuple[NDArray[np.bool_], list[int]]:
    """The admitted columns, and the right ones among them; values that were cut off are neither."""
    admitted = np.zeros(count, np.bool_)
    admitted[[0, 1, *(value + 2 for value in values if value + 2 < count)]] = True
    return admitted, [column for column in gold or () if column < count and admitted[column]]


def _span(span: tuple[int, int] | None, offsets: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The first and last token of a span of characters; the request begins after one special token."""
    if span is None:
        return None
    inside = [number for number, (start, end) in enumerate(offsets) if end > span[0] and start < span[1]]
    return (1 + inside[0], 1 + inside[-1]) if inside else None


def token_batches(lengths: Sequence[int], budget: int, draw: Random, *, jitter: float) -> list[list[int]]:
    """Row numbers in batches of at most `budget` padded tokens, in random order.

    Rows of similar length are together; `jitter` in tokens varies which ones.
    """
    order = sorted(range(len(lengths)), key=lambda row: lengths[row] + draw.random() * jitter)
    batches = list(_filled(order, lengths, budget))
    draw.shuffle(batches)
    return batches


def _filled(order: Sequence[int], lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    batch: list[int] = []
    longest = 0
    for row in order:
        longest = max(longest, lengths[row])
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], lengths[row]
        batch.append(row)
    if batch:
        yield batch

"""RowList and RowNumbers: values by row and rows by id, updated without copying all of them.

Copying a list of 50,000 objects takes 5 ms, since the reference count of each object is written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.row_mapping import RowMapping

_MAX_UNUSED = 1 / 8
"""Share of stored values without a row, and of values outside the large list, before all are copied."""
Value = TypeVar("Value")
Other = TypeVar("Other")


class RowList(Sequence[Value], Generic[Value]):
    """A list of which a few values are moved, removed or replaced. Immutable; equal to a list of the same."""

    def __init__(
        self, base: Sequence[Value], more: Sequence[Value] = (), order: NDArray[np.int64] | None = None
    ) -> None:
        """`order` has for each row its position in `base`, or after it in `more`."""
        self._base, self._more, self._order = base, more, order

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._base) if self._order is None else len(self._order)

    @overload
    def __getitem__(self, row: int) -> Value: ...
    @overload
    def __getitem__(self, row: slice) -> list[Value]: ...
    def __getitem__(self, row: int | slice) -> Value | list[Value]:
        """The value of a row, or a list of those of a slice."""
        if self._order is None:
            return list(self._base[row]) if isinstance(row, slice) else self._base[row]
        if isinstance(row, slice):
            return list(self._at(self._order[row]))
        return self._value(int(self._order[row]))

    def __iter__(self) -> Iterator[Value]:
        """The values by row."""
        return iter(self._base) if self._order is None else self._at(self._order)

    def __eq__(self, other: object) -> bool:
        """Whether the values are equal to those of another sequence."""
        return isinstance(other, Sequence) and list(self) == list(cast("Sequence[object]", other))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # like a list

    def convert(self, base: Callable[[int], Other], value: Callable[[Value], Other]) -> Iterator[Other]:
        """Convert the values by row: those of `base` by their position in it, the others by themselves."""
        size = len(self._base)
        for position in range(len(self)) if self._order is None else self._order.tolist():
            yield base(position) if position < size else value(self._more[position - size])

    @property
    def base(self) -> Sequence[Value]:
        """The large list, in which rows have been moved and replaced since."""
        return self._base

    def find(self, value: Value) -> int:
        """A row with this value, or -1."""
        size = len(self._base)
        for values, start in ((self._base, 0), (self._more, size)):
            if value in values:
                position = start + values.index(value)
                if self._order is None:
                    return position
                rows = np.flatnonzero(self._order == position)
                if len(rows):
                    return int(rows[0])
        return -1

    def replaced(self, rows: Sequence[int], values: Sequence[Value]) -> "RowList[Value]":
        """The same rows with new values for some."""
        if not rows:
            return self
        order = np.arange(len(self)) if self._order is None else self._order.copy()
        order[rows] = len(self._base) + len(self._more) + np.arange(len(rows))
        return RowList(self._base, [*self._more, *values], order)._compacted()

    def moved(self, mapping: RowMapping, values: Sequence[Value]) -> "RowList[Value]":
        """The rows after a change; `values` are those of the changed rows."""
        order = np.arange(len(self)) if self._order is None else self._order
        added = len(self._base) + len(self._more) + np.arange(len(values))
        more = [*self._more, *values] if values else self._more
        return RowList(self._base, more, mapping.merge(order, added))._compacted()

    def _value(self, position: int) -> Value:
        size = len(self._base)
        return self._base[position] if position < size else self._more[position - size]

    def _at(self, positions: NDArray[np.int64]) -> Iterator[Value]:
        return map(self._value, positions.tolist())

    def _compacted(self) -> "RowList[Value]":
        stored = len(self._base) + len(self._more)
        if len(self._more) <= _MAX_UNUSED * stored and stored - len(self) <= _MAX_UNUSED * stored:
            return self
        return RowList(list(self))


def as_row_list(values: Sequence[Value]) -> RowList[Value]:
    """The values as a `RowList`."""
    return values if isinstance(values, RowList) else RowList(values)


class RowNumbers(Mapping[str, int]):
    """The row of each id."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._base: Mapping[str, int] = dict(zip(ids, range(len(ids)), strict=True))
        self._more: Mapping[str, int] = {}
        # Ids have numbers that stay when their rows move.
        self._rows: NDArray[np.int64] = np.arange(len(ids))

    def __getitem__(self, name: str) -> int:
        """The row of an id."""
        number = self._more.get(name)
        row = int(self._rows[self._base[name] if number is None else number])
        if row < 0:
            raise KeyError(name)
        return row

    def get(self, key: str, default: Any = None) -> Any:
        """The row of an id, or `default`; most lookups are of this kind."""
        number = self._more.get(key)
        if number is None:
            number = self._base.get(key)
        if number is None:
            return default
        row = int(self._rows[number])
        return default if row < 0 else row

    def __contains__(self, name: object) -> bool:
        """Whether the id has a row."""
        return isinstance(name, str) and self.get(name) is not None

    def __len__(self) -> int:
        """Number of rows."""
        return int((self._rows >= 0).sum())

    def __iter__(self) -> Iterator[str]:
        """The ids, in no particular order."""
        return (name for name in {**self._base, **self._more} if name in self)

    def moved(self, mapping: RowMapping, ids: Sequence[str]) -> "RowNumbers":
        """The rows after a change; `ids` are those of the changed rows."""
        previous_size = int(self._rows.max(initial=-1)) + 1
        if len(self._more) + len(ids) > _MAX_UNUSED * len(mapping.source):
            by_row = {self[name]: name for name in self}
            previous = [by_row[row] for row in range(previous_size)]
            return RowNumbers(mapping.merge_lists(previous, ids))
        numbers = RowNumbers([])
        numbers._base = self._base
        start = len(self._rows)
        numbers._more = {**self._more, **{name: start + n for n, name in enumerate(ids)}}
        current = np.append(mapping.current_rows(previous_size), -1)
        numbers._rows = np.concatenate([current[self._rows], np.array(mapping.changed, np.int64)])
        return numbers

"""Items, uses and habits in arrays; objects are made when they are read."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched.habits import HabitHistory, Phrases
from contextune.context.snapshot.lazy_rows import LazySequence
from contextune.context.snapshot.pack import ByteRows
from contextune.types import Item, UsageEvent

Value = TypeVar("Value")
NO_PLACE = -1
NO_PHRASE = -1


class ItemTable(LazySequence[Item]):
    """Items whose fields are JSON texts, parsed on first access."""

    def __init__(
        self, ids: Sequence[str], apps: Sequence[str], codes: NDArray[np.int64], fields: ByteRows
    ) -> None:
        """`codes` are the applications of the items, as indexes into `apps`."""
        super().__init__(len(ids))
        self._ids, self._apps, self._codes, self._fields = ids, apps, codes, fields
        self._items: list[Item | None] = [None] * len(ids)

    def value(self, row: int) -> Item:
        """The item of a row; the same object each time."""
        item = self._items[row]
        if item is None:
            item = Item(self._ids[row], self._apps[int(self._codes[row])], json.loads(self._fields[row]))
            self._items[row] = item
        return item

    def fields_json(self, row: int) -> bytes:
        """The fields of an item as JSON."""
        return self._fields[row]


class UseTable(LazySequence[UsageEvent]):
    """Usage events with their times as ISO 8601 texts."""

    def __init__(
        self,
        ids: Sequence[str],
        items: NDArray[np.int32],
        times: ByteRows,
        places: Sequence[str],
        codes: NDArray[np.int32],
    ) -> None:
        """`items` are indexes into `ids`, and `codes` into `places`, or `NO_PLACE`."""
        super().__init__(len(items))
        self._ids, self._items, self._times, self._places, self._codes = ids, items, times, places, codes

    def value(self, row: int) -> UsageEvent:
        """The usage event of a row."""
        time = datetime.fromisoformat(self._times[row].decode())
        return UsageEvent(self.item(row), time, self.place(row))

    def item(self, row: int) -> str:
        """The id of the item used."""
        return self._ids[int(self._items[row])]

    def time(self, row: int) -> bytes:
        """The time as ISO 8601 text."""
        return self._times[row]

    def place(self, row: int) -> str | None:
        """The place of use."""
        code = int(self._codes[row])
        return None if code == NO_PLACE else self._places[code]


class UsesByItem(Mapping[str, list[UsageEvent]]):
    """The usage events of each item that has any."""

    def __init__(self, uses: UseTable, items: NDArray[np.int32], row_by_id: Mapping[str, int]) -> None:
        """`items` are the rows of the items used."""
        self._uses, self._row_by_id = uses, row_by_id
        self._order = np.argsort(items, kind="stable")
        self._ends = np.cumsum(np.bincount(items, minlength=len(row_by_id)))

    def _range(self, item: object) -> tuple[int, int]:
        row = self._row_by_id.get(item) if isinstance(item, str) else None
        if row is None:
            return 0, 0
        return int(self._ends[row - 1]) if row else 0, int(self._ends[row])

    def __getitem__(self, item: str) -> list[UsageEvent]:
        """The usage events of an item, by time."""
        start, end = self._range(item)
        if start == end:
            raise KeyError(item)
        return [self._uses[number] for number in self._order[start:end].tolist()]

    def __contains__(self, item: object) -> bool:
        """Whether the item was used."""
        start, end = self._range(item)
        return start < end

    def __iter__(self) -> Iterator[str]:
        """The ids of the items that were used."""
        return (item for item in self._row_by_id if item in self)

    def __len__(self) -> int:
        """Number of items that were used."""
        return int((np.diff(self._ends, prepend=0) > 0).sum())


class HabitTable(LazySequence[HabitHistory]):
    """Habits with their phrases as numbers."""

    def __init__(
        self,
        phrases: Sequence[str],
        ends: NDArray[np.int64],
        times: NDArray[np.float64],
        numbers: NDArray[np.int32],
    ) -> None:
        """`ends` says where the versions of each row end; `numbers` has the phrases of each version."""
        super().__init__(len(ends))
        self._phrases, self._ends, self._times, self._numbers = phrases, ends, times, numbers

    def value(self, row: int) -> HabitHistory:
        """The habits of a row."""
        part = slice(int(self._ends[row - 1]) if row else 0, int(self._ends[row]))
        return HabitHistory(
            tuple(self._times[part].tolist()), tuple(map(self._version, self._numbers[part].tolist()))
        )

    def _version(self, numbers: list[int]) -> Phrases:
        return tuple(self._phrases[number] for number in numbers if number != NO_PHRASE)


class RowGroups(Mapping[str, Value], Generic[Value]):
    """Lists of rows by word; `convert` makes the value of a list."""

    def __init__(
        self,
        words: Sequence[str],
        rows: NDArray[np.int32],
        ends: NDArray[np.int64],
        convert: Callable[[list[int]], Value],
    ) -> None:
        self._numbers = dict(zip(words, range(len(words)), strict=True))
        self._rows, self._ends, self._convert = rows, ends, convert

    def __getitem__(self, word: str) -> Value:
        """The value of a word."""
        number = self._numbers[word]
        start = int(self._ends[number - 1]) if number else 0
        return self._convert(self._rows[start : self._ends[number]].tolist())

    def __iter__(self) -> Iterator[str]:
        """The words."""
        return iter(self._numbers)

    def __len__(self) -> int:
        """Number of words."""
        return len(self._numbers)

"""A user's usage events as numpy columns, updated incrementally."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.columns import NO_PLACE, Floats, ItemColumns, Numbers, to_hours
from contextune.context.signals.row_mapping import RowMapping
from contextune.types import UsageEvent, local_time


@dataclass(frozen=True, eq=False)
class ItemsMove:
    """Where the rows and the codes of places of some items went when the items changed."""

    rows: Numbers
    """For each previous row its row now, or -1 if the item was deleted."""
    places: Numbers | None
    """For each previous code of a place its code now, and `NO_PLACE` last; None if there are new places."""

    @classmethod
    def between(cls, previous: ItemColumns, current: ItemColumns, mapping: RowMapping) -> "ItemsMove":
        """`mapping` leads from the current to the previous rows."""
        rows = mapping.current_rows(len(previous.items))
        for row in mapping.changed:
            if (old := previous.row_by_id.get(current.items[row].id)) is not None:
                rows[old] = row
        if current.place_codes.keys() - previous.place_codes.keys():
            return cls(rows, None)
        codes = [current.place_codes.get(place, NO_PLACE) for place in previous.places]
        return cls(rows, np.array([*codes, NO_PLACE], np.int64))

    @classmethod
    def none(cls, columns: ItemColumns) -> "ItemsMove":
        """For items that have not changed."""
        return cls(np.arange(len(columns.items)), np.array([*range(len(columns.places)), NO_PLACE]))


@dataclass(frozen=True)
class UseColumns:
    """Usage events as columns, ordered by time."""

    item: Numbers
    """The row of the item used."""
    time: Floats
    """Hours since the epoch, as `to_hours` gives them."""
    hour: Numbers
    weekday: Numbers
    place: Numbers

    def updated(
        self,
        columns: ItemColumns,
        uses: Sequence[UsageEvent],
        *,
        kept: NDArray[np.bool_],
        new: NDArray[np.bool_],
        moved: "ItemsMove | None" = None,
    ) -> "UseColumns | None":
        """The columns of `uses`, computed only for new events; None if that is not possible.

        `kept` flags the previous events that remain, `new` flags the events of `uses` that were added. An
        event of an unknown item rules an update out. `moved` leads from the previous items to the current
        ones, so that the kept events need not be looked up one by one.
        """
        if len(self.time) != len(kept) or kept.sum() != (~new).sum():
            return None
        added = UseColumns.build(columns, [uses[number] for number in np.flatnonzero(new).tolist()])

        def merge(previous: NDArray[Any], more: NDArray[Any]) -> NDArray[Any]:
            column = np.empty(len(uses), previous.dtype)
            column[~new], column[new] = previous[kept], more
            return column

        if len(added.time) != new.sum():
            return None
        # rows and codes of places may have changed with the items
        if moved:
            item = merge(moved.rows[self.item], added.item)
        else:
            item = np.array([columns.row_by_id.get(use.item, -1) for use in uses], np.int64)
        if (item < 0).any():
            return None
        if moved and moved.places is not None:
            place = merge(moved.places[self.place], added.place)
        else:
            place = np.array([columns.place_codes.get(use.place or "", NO_PLACE) for use in uses], np.int64)
        return UseColumns(
            item,
            merge(self.time, added.time),
            merge(self.hour, added.hour),
            merge(self.weekday, added.weekday),
            place,
        )

    @classmethod
    def build(cls, columns: ItemColumns, uses: Sequence[UsageEvent]) -> "UseColumns":
        """The columns of all events of known items."""
        zone = columns.user.zone
        events = [
            (columns.row_by_id[use.item], local_time(use.time, zone), use.place)
            for use in uses
            if use.item in columns.row_by_id
        ]
        events.sort(key=lambda event: event[1])
        places = [columns.place_codes.get(place or "", NO_PLACE) for _, _, place in events]
        return cls(
            np.array([row for row, _, _ in events], np.int64),
            np.array([to_hours(time) for _, time, _ in events], np.float64),
            np.array([time.hour for _, time, _ in events], np.int64),
            np.array([time.weekday() for _, time, _ in events], np.int64),
            np.array(places, np.int64),
        )

    def before(self, time: float) -> "UseColumns":
        """The events before a time, in hours: a request sees no later ones."""
        end = int(np.searchsorted(self.time, time, side="left"))
        return UseColumns(
            self.item[:end], self.time[:end], self.hour[:end], self.weekday[:end], self.place[:end]
        )

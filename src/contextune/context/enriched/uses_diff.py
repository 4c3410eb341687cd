"""UsesDiff: difference of two time-ordered lists of one user's usage events."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals.row_list import as_row_list
from contextune.context.signals.row_mapping import RowMapping
from contextune.types import UsageEvent, local_time

_BLOCK = 1024
"""Events compared at once: comparing list slices is faster than a loop over their elements."""


@dataclass(frozen=True, eq=False)
class UsesDiff:
    """Difference of two time-ordered lists of one user's usage events."""

    kept: NDArray[np.bool_]
    """For each previous event, whether it is still there."""
    new: NDArray[np.bool_]
    """For each current event, whether it was added; the others are the kept ones in the same order."""
    items: frozenset[str]
    """Items whose events differ."""
    groups: Mapping[str, list[UsageEvent]] = field(default_factory=dict[str, list[UsageEvent]])
    """The current events of these items, where known."""

    @classmethod
    def compare(cls, previous: Sequence[UsageEvent], current: Sequence[UsageEvent]) -> "UsesDiff":
        """Compare two lists; common prefix and suffix are skipped block by block."""
        head = _common_prefix(previous, current)
        shorter = min(len(previous), len(current)) - head
        tail = _common_prefix(previous[: -shorter - 1 : -1], current[: -shorter - 1 : -1])
        old, fresh = previous[head : len(previous) - tail], current[head : len(current) - tail]
        old_set, fresh_set = set(old), set(fresh)
        kept, new = np.ones(len(previous), np.bool_), np.zeros(len(current), np.bool_)
        kept[head : head + len(old)] = [use in fresh_set for use in old]
        new[head : head + len(fresh)] = [use not in old_set for use in fresh]
        return cls(kept, new, frozenset(use.item for use in old_set ^ fresh_set))


def apply_changes(
    uses: Sequence[UsageEvent],
    by_item: Mapping[str, Sequence[UsageEvent]],
    *,
    added: Sequence[UsageEvent],
    deleted: Collection[str],
    zone: ZoneInfo | None,
) -> tuple[Sequence[UsageEvent], UsesDiff]:
    """Drop the uses of deleted items, and add others where the store would return them.

    `by_item` are the uses of each item. Uses that are there already are not added again.
    """
    key = _store_order(zone)
    gone = {item for item in deleted if by_item.get(item)}
    groups: dict[str, list[UsageEvent]] = {item: [] for item in gone}
    removed = [row for row, use in enumerate(uses) if use.item in gone] if gone else []
    events: list[UsageEvent] = []
    positions: list[int] = []
    for use in sorted(added, key=key):
        position = bisect_left(uses, key(use), key=key)
        if use.item in gone or position == len(uses) or uses[position] != use:
            events.append(use)
            positions.append(position)
            group = groups.setdefault(use.item, list(by_item.get(use.item, ())))
            group.insert(bisect_left(group, key(use), key=key), use)
    mapping = RowMapping.from_edits(len(uses), removed, positions)
    new = mapping.source < 0
    kept = mapping.current_rows(len(uses)) >= 0
    current = as_row_list(uses).moved(mapping, events) if removed or events else uses
    return current, UsesDiff(kept, new, frozenset(groups), groups)


def _store_order(zone: ZoneInfo | None) -> Callable[[UsageEvent], tuple[object, ...]]:
    """The order of `Store.uses`: by local time, then item, moment and place; no place comes last."""

    def key(use: UsageEvent) -> tuple[object, ...]:
        moment = use.time if use.time.tzinfo is None else use.time.astimezone(UTC)
        return (
            local_time(use.time, zone),
            use.item,
            moment.isoformat(),
            use.place is None,
            use.place or "",
        )

    return key


def _common_prefix(left: Sequence[UsageEvent], right: Sequence[UsageEvent]) -> int:
    """Length of the common prefix."""
    start = 0
    while (part := left[start : start + _BLOCK]) and part == right[start : start + len(part)]:
        start += len(part)
    return start + next(
        (n for n, (a, b) in enumerate(zip(part, right[start : start + len(part)], strict=False)) if a != b),
        min(len(part), max(0, len(right) - start)),
    )

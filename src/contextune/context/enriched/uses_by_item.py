"""Group usage events by item; only the groups of items with changed events are rebuilt."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import cast

from contextune.context.enriched.uses_diff import UsesDiff
from contextune.types import UsageEvent

_MAX_OVERLAY = 1000
"""Items with changed uses before all groups of uses are copied."""

UsesByItem = Mapping[str, list[UsageEvent]]
"""The usage events of each item that has any."""


def group_by_item(uses: Sequence[UsageEvent]) -> UsesByItem:
    """Group all events."""
    return _added({}, uses)


def update_groups(groups: UsesByItem, uses: Sequence[UsageEvent], diff: UsesDiff) -> UsesByItem:
    """The groups of `uses`, given those of the events that `diff` compares them with."""
    if diff.groups.keys() >= diff.items:
        return _overlaid(groups, diff.groups)
    kept = dict(groups)
    for item in diff.items:
        kept.pop(item, None)
    return _added(kept, [use for use in uses if use.item in diff.items])


def _added(groups: dict[str, list[UsageEvent]], uses: Sequence[UsageEvent]) -> UsesByItem:
    for use in uses:
        groups.setdefault(use.item, []).append(use)
    return groups


def _overlaid(groups: UsesByItem, changed: UsesByItem) -> UsesByItem:
    """The groups with some changed, without copying the others."""
    if not changed:
        return groups
    base, overlay = groups, dict(changed)
    if isinstance(groups, ChainMap):
        overlay, base = {**groups.maps[0], **changed}, groups.maps[1]
    if len(overlay) > _MAX_OVERLAY:
        return {**base, **overlay}
    return ChainMap(overlay, cast("dict[str, list[UsageEvent]]", base))  # only the overlay is written

"""What was done before: which tools served a user's earlier requests, and how well."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np

from contextune.embed import Embedder, embed_items
from contextune.store import Store
from contextune.tools.index import ToolIndex
from contextune.tools.query import PastCalls
from contextune.types import Feedback, local_time

_MOST = 2000
"""Earlier requests that are looked at: the latest."""
_DAY = 86_400.0


def past_of(
    store: Store, user: str, index: ToolIndex, embedder: Embedder, now: datetime, zone: tzinfo | None
) -> PastCalls | None:
    """The user's past with this catalogue before a moment; vectors are kept in the store, with the user."""
    place = {tool.id: number for number, tool in enumerate(index.catalog)}
    moment = local_time(now, zone)
    told = [
        (one, (moment - local_time(one.request.time, zone)).total_seconds() / _DAY)
        for one in store.feedback(user)
        if one.tool in place
    ]
    before = [(one, age) for one, age in told if age > 0][-_MOST:]
    if not before:
        return None
    texts = [one.request.text for one, _ in before]
    return PastCalls(
        np.array([place[one.tool or ""] for one, _ in before], np.int64),
        embed_items(texts, embedder=embedder, store=store, user=user),
        np.array([age for _, age in before], np.float64),
        np.array([one.ok for one, _ in before], bool),
    )


@dataclass(frozen=True, slots=True)
class ToolStats:
    """How a tool has fared."""

    tool: str
    right: int
    wrong: int
    last: datetime

    @property
    def success(self) -> float:
        """The share of times it was right."""
        return self.right / (self.right + self.wrong)


def tool_stats(feedback: Sequence[Feedback]) -> list[ToolStats]:
    """Of every tool that was told of, the most used first."""
    found: dict[str, ToolStats] = {}
    for one in feedback:
        if not one.tool:
            continue
        time = local_time(one.request.time, None)
        before = found.get(one.tool, ToolStats(one.tool, 0, 0, time))
        found[one.tool] = ToolStats(
            one.tool, before.right + one.ok, before.wrong + (not one.ok), max(before.last, time)
        )
    return sorted(found.values(), key=lambda stats: (-stats.right - stats.wrong, stats.tool))

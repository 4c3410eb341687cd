"""Past calls: which tools served a user's earlier requests, from their feedback."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

import numpy as np
from numpy.typing import NDArray

from contextune.embed import Embedder, embed_items
from contextune.search import tokenize
from contextune.search.request_text import planned_request
from contextune.store import Store
from contextune.tools.index import ToolIndex
from contextune.tools.large.subset import LargeIndex
from contextune.tools.query import PastCalls
from contextune.types import Feedback, local_time

_MAX_CALLS = 2000
"""Only the latest are used."""
_SECONDS_PER_DAY = 86_400.0
_NEARLY_SAME = 0.85
"""Least similarity of two requests that ask for nearly the same."""


def load_past_calls(
    store: Store,
    user: str,
    index: ToolIndex | LargeIndex,
    embedder: Embedder,
    now: datetime,
    zone: tzinfo | None,
) -> PastCalls | None:
    """The user's calls of this catalogue's tools before `now`; their vectors are cached in the store."""
    feedback = store.feedback(user)
    positions = index.positions(list({call.tool: None for call in feedback if call.tool}))
    local_now = local_time(now, zone)
    calls = [
        (call, (local_now - local_time(call.request.time, zone)).total_seconds() / _SECONDS_PER_DAY)
        for call in feedback
        if call.tool in positions
    ]
    past = [(call, age) for call, age in calls if age > 0][-_MAX_CALLS:]
    if not past:
        return None
    texts = [planned_request(call.request.text) for call, _ in past]
    return PastCalls(
        np.array([positions[call.tool or ""] for call, _ in past], np.int64),
        embed_items(texts, embedder=embedder, store=store, user=user),
        np.array([age for _, age in past], np.float64),
        np.array([call.ok for call, _ in past], bool),
        texts,
    )


def confirmed_tools(
    calls: PastCalls | None, vector: NDArray[np.float32], private: frozenset[str] = frozenset()
) -> list[int]:
    """Positions of the tools that were right when nearly the same was asked, the nearest request first.

    Requests that share a word of `private` ask for the same: words of the user's own.
    """
    if calls is None:
        return []
    near = calls.vectors @ vector
    shares = [bool(private) and not private.isdisjoint(tokenize(text)) for text in calls.texts]
    last: dict[int, int] = {}
    for row in np.flatnonzero(
        (near >= _NEARLY_SAME) | np.array(shares or [False])
    ).tolist():  # from old to new
        last[int(calls.tool[row])] = row
    right = [row for row in last.values() if calls.ok[row]]
    return [int(calls.tool[row]) for row in sorted(right, key=lambda row: -float(near[row]))]


@dataclass(frozen=True, slots=True)
class ToolStats:
    """How often a tool was right and wrong."""

    tool: str
    right: int
    wrong: int
    last: datetime

    @property
    def success(self) -> float:
        """The share of its calls that were right."""
        return self.right / (self.right + self.wrong)


def tool_stats(feedback: Sequence[Feedback]) -> list[ToolStats]:
    """Statistics of every tool in the feedback, most used first."""
    by_tool: dict[str, ToolStats] = {}
    for call in feedback:
        if not call.tool:
            continue
        time = local_time(call.request.time, None)
        stats = by_tool.get(call.tool, ToolStats(call.tool, 0, 0, time))
        by_tool[call.tool] = ToolStats(
            call.tool, stats.right + call.ok, stats.wrong + (not call.ok), max(stats.last, time)
        )
    return sorted(by_tool.values(), key=lambda stats: (-stats.right - stats.wrong, stats.tool))

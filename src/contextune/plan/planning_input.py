"""`PlanningInput`, what a planner reads, and the `Planner` protocol."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.plan.bounded_items import bounded_item, clamp_time
from contextune.plan.lures import is_lure
from contextune.plan.names import NameMatch, match_names
from contextune.plan.times.phrases import TimeExpressions, find_times
from contextune.plan.values import ContactLookup, contact_lookup
from contextune.search import tokenize
from contextune.time_phrases import TimePhrase, parse_time_phrases
from contextune.types import Item, ItemHit, Plan, Request, ToolHit, User, local_time

_OWNER = re.compile(r"\b(\w+)['’]s\b(?! (?:on|in|at|not|the|a|down|been|got|here|there|got|still|out)\b)")
MAX_ITEMS = 8
"""Planners read this many items, best first."""


def _bounded(hit: ItemHit) -> ItemHit:
    item = bounded_item(hit.item)
    return hit if item is hit.item else replace(hit, item=item)


@dataclass(frozen=True, eq=False)
class PlanningInput:
    """A request, its user and the retrieved items (best first), with lazily computed views for planners."""

    request: Request
    user: User
    hits: Sequence[ItemHit] = field(default=())
    max_items: int = MAX_ITEMS
    """Items that planners read; a large language model can read more."""

    @cached_property
    def read_hits(self) -> list[ItemHit]:
        """The best `max_items` hits, without lures of strangers."""
        safe = (hit for hit in map(_bounded, self.hits) if not is_lure(hit.item, self.people))
        return list(islice(safe, self.max_items))

    @cached_property
    def items(self) -> list[Item]:
        """The items of `read_hits`."""
        return [hit.item for hit in self.read_hits]

    @cached_property
    def relative_scores(self) -> NDArray[np.float64]:
        """The items' scores, scaled to 1 (best) … 0 (worst)."""
        scores = np.array([hit.score for hit in self.read_hits], np.float64)
        if not len(scores):
            return scores
        low, high = float(scores.min()), float(scores.max())
        return (scores - low) / (high - low) if high > low else np.ones(len(scores))

    @cached_property
    def now(self) -> datetime:
        """The time of the request in the user's time zone, to the minute."""
        now = local_time(self.request.time, self.user.zone)
        return clamp_time(now).replace(second=0, microsecond=0)

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the request."""
        return tokenize(self.request.text)

    @cached_property
    def times(self) -> TimeExpressions:
        """The time expressions in the request."""
        return find_times(self.request.text, self.now)

    @cached_property
    def time_phrases(self) -> list[TimePhrase]:
        """The time phrases of the request, each resolved by itself, without the items."""
        return parse_time_phrases(self.request.text, self.now)

    @cached_property
    def people(self) -> ContactLookup:
        """The user's contacts."""
        return contact_lookup(tuple(self.user.contacts))

    @cached_property
    def name_matches(self) -> list[int]:
        """For each contact, how many words of the name occur in the request; a nickname counts as one."""
        return [math.ceil(match.words) for match in self.names]

    @cached_property
    def names(self) -> list[NameMatch]:
        """For each contact, how and where the request names it."""
        return match_names(self.request.text, self.user.contacts)

    @cached_property
    def relation_matches(self) -> list[int]:
        """For each contact, how many words of the relation ("sister") occur in the request."""
        owners = frozenset(tokenize(" ".join(_OWNER.findall(self.request.text))))
        heads = [word for word in self.tokens if word not in owners]
        # "my brother's tutor" means the tutor; the brother counts only if nobody else matches
        counts = self.people.count_relation_matches(heads)
        return counts if any(counts) else self.people.count_relation_matches(self.tokens)

    @cached_property
    def item_tokens(self) -> list[frozenset[str]]:
        """The tokens of each item."""
        return [_vocabulary(item.text) for item in self.items]


@lru_cache(maxsize=4096)
def _vocabulary(text: str) -> frozenset[str]:
    """Cached, since the items of a user recur in many requests."""
    return frozenset(tokenize(text))


class Planner(Protocol):
    """Turns a request, its context and the retrieved tools into a call."""

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """Plan one call; None if no call can be made.

        `tools` are sorted best first; `fits` is the probability that any of them can serve the request.
        """
        ...

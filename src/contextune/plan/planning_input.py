"""A request with all that its call may be made of: the user, the items it hangs on, what it says of time."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from contextune.plan.times.phrases import TimeExpressions, find_times
from contextune.plan.values import ContactLookup, people_of
from contextune.search import tokenize
from contextune.types import Item, ItemHit, Request, User, local_time

_OWNER = re.compile(r"(\w+)['’]s\b(?! (?:on|in|at|not|the|a|down|been|got|here|there|got|still|out)\b)")
MOST = 8
"""How many items are looked at."""


@dataclass(frozen=True, eq=False)
class PlanningInput:
    """What a planner sees. Items come best first; none means that the request is taken by its words alone."""

    request: Request
    user: User
    hits: Sequence[ItemHit] = field(default=())

    @cached_property
    def items(self) -> list[Item]:
        """The items the request hangs on."""
        return [hit.item for hit in self.hits[:MOST]]

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """How far each item is behind the first, 1 to 0."""
        scores = np.array([hit.score for hit in self.hits[:MOST]], np.float64)
        if not len(scores):
            return scores
        low, high = float(scores.min()), float(scores.max())
        return (scores - low) / (high - low) if high > low else np.ones(len(scores))

    @cached_property
    def now(self) -> datetime:
        """On the user's wall clock."""
        return local_time(self.request.time, self.user.zone).replace(second=0, microsecond=0)

    @cached_property
    def words(self) -> list[str]:
        """What is said."""
        return tokenize(self.request.text)

    @cached_property
    def times(self) -> TimeExpressions:
        """What is said of time."""
        return find_times(self.request.text, self.now)

    @cached_property
    def people(self) -> ContactLookup:
        """Whom the user knows."""
        return people_of(tuple(self.user.contacts))

    @cached_property
    def named(self) -> list[int]:
        """For each contact, how many words of the name are said."""
        return self.people.named(self.words)

    @cached_property
    def related(self) -> list[int]:
        """For each contact, how many words are said for what they are to the user."""
        owners = frozenset(tokenize(" ".join(_OWNER.findall(self.request.text))))
        heads = [word for word in self.words if word not in owners]
        # "my brother's tutor" is the tutor, and the brother only where nobody else is meant
        found = self.people.related(heads)
        return found if any(found) else self.people.related(self.words)

    @cached_property
    def word_sets(self) -> list[frozenset[str]]:
        """The words of each item."""
        return [frozenset(tokenize(item.text)) for item in self.items]

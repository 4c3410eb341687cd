"""EnrichedVectors: vectors of texts plus vectors of habits, now and as of an earlier time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched.habits import HabitHistory, Phrases
from contextune.context.enriched.row_vectors import RowVectors
from contextune.context.signals.columns import to_hours
from contextune.context.signals.row_list import as_row_list
from contextune.embed import Matrix

_FEW = 8
"""So few digests are searched in a list; for more, a dictionary is made."""


class EnrichedVectors(NamedTuple):
    """Contents, habits and vectors of all items, under all usage events so far."""

    digests: Sequence[bytes]
    """`text_digest` of the text of each item without its habits."""
    contents: RowVectors
    """Vectors of these texts."""
    habits: Sequence[HabitHistory]
    phrases: Mapping[str, Matrix]
    """The vector of every phrase in the habits."""
    vectors: RowVectors
    changed: NDArray[np.float64]
    """For each item, when its habits changed last, in hours on the wall clock."""

    def find_rows(self, digests: Sequence[bytes]) -> list[int]:
        """For each digest its row, or -1."""
        if len(digests) <= _FEW:
            known = as_row_list(self.digests)
            return [known.find(digest) for digest in digests]
        row_by_digest = {digest: row for row, digest in enumerate(self.digests)}
        return [row_by_digest.get(digest, -1) for digest in digests]

    def as_of(self, now: datetime) -> RowVectors:
        """The vectors with the habits of an earlier time on the user's wall clock."""
        hours = to_hours(now)
        later = np.flatnonzero(self.changed >= hours)
        if not len(later):
            return self.vectors
        past = [self.habits[row].as_of(hours) for row in map(int, later)]
        return self.vectors.replaced(later, add_habits(self.contents.take(later), past, self.phrases))


def add_habits(contents: Matrix, habits: Sequence[Phrases], vectors: Mapping[str, Matrix]) -> Matrix:
    """Vectors of items: that of each content plus that of its habits, at unit length.

    The vector of an item's habits is the direction of the sum of its phrases, which `vectors` holds.
    """
    used = [row for row, phrases in enumerate(habits) if phrases]
    if not used:
        return contents
    sums = np.stack([np.sum([vectors[phrase] for phrase in habits[row]], axis=0) for row in used])
    result = contents.copy()
    result[used] = _unit(contents[used] + _unit(sums))
    return result


def _unit(rows: Matrix) -> Matrix:
    return (rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)).astype(np.float32)

"""Candidate selection: all items of a small store, the best of several lists of a large one."""

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals import ItemColumns, UseColumns
from contextune.search import top

SCORE_ALL_LIMIT = 200
"""Up to this many visible items, all are candidates."""
_SIMILAR, _LEXICAL, _NEAR_IN_TIME, _NEWEST, _MOST_USED = 50, 20, 20, 10, 20
_OTHER_PLACE_WEIGHT = 0.3


def select_candidates(
    visible: NDArray[np.bool_],
    situated: NDArray[np.float64],
    text: NDArray[np.float64],
    lexical: NDArray[np.float64],
    columns: ItemColumns,
    uses: UseColumns,
    *,
    now: float,
    here: int,
    depth: int,
) -> NDArray[np.int64]:
    """Rows of the candidates, ascending: items similar to the request, near in time, new, or often used here.

    `situated`, `text` and `lexical` are the similarities of all items, as in `Similarities`.

    Items near in time are taken per application. With one list over all of 10,000 items, a busy application
    fills it, and the right item is a candidate for 84 % of the requests instead of 97 %.

    There are at least `depth` candidates if as many are visible, though at most `SCORE_ALL_LIMIT` are added
    to reach that.
    """
    visible_rows = np.flatnonzero(visible)
    if len(visible_rows) <= SCORE_ALL_LIMIT:
        return visible_rows
    distance = np.abs(np.arange(24) - now % 24)
    hour_weight = np.exp(-np.minimum(distance, 24 - distance) / 3)
    weight = np.where(uses.place == here, 1.0, _OTHER_PLACE_WEIGHT) * hour_weight[uses.hour]
    used = np.bincount(uses.item, weight, len(visible)).astype(np.float64)
    near = _nan_to_lowest(-np.abs(columns.main_time - now))
    lists = (
        top(situated, max(_SIMILAR, min(depth, SCORE_ALL_LIMIT)), visible=visible),
        top(text, _SIMILAR, visible=visible),
        top(lexical, _LEXICAL, visible=visible & (lexical > 0)),
        *(rows[top(near[rows], _NEAR_IN_TIME, visible=visible[rows])] for rows in columns.rows_by_app),
        top(_nan_to_lowest(columns.times["made"]), _NEWEST, visible=visible),
        top(used, _MOST_USED, visible=visible & (used > 0)),
    )
    return np.unique(np.concatenate(lists)).astype(np.int64)


def _nan_to_lowest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.nan_to_num(values, nan=-np.inf, neginf=-np.inf)

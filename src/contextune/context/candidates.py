"""Candidate selection: all items of a small store, the best of several lists of a large one."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from contextune.context.index import UserIndex
from contextune.context.mentions import mentioned_intervals, mentioned_people
from contextune.context.signals import UseColumns
from contextune.context.signals.columns import PeopleColumns, to_hours
from contextune.search import tokenize, top
from contextune.time_phrases import Interval

SCORE_ALL_LIMIT = 200
"""Up to this many visible items, all are candidates."""
_SIMILAR, _LEXICAL, _NEAR_IN_TIME, _NEWEST, _MOST_USED = 50, 20, 20, 10, 20
_MENTIONED, _MENTIONED_IN_ALL, _MIN_MENTIONED = 20, 60, 5
"""Items per application: in a list of mentioned items, in all of them, and the least of a list."""
_OTHER_PLACE_WEIGHT = 0.3
_NOW_WEIGHT = 1e-6
"""Weight of the distance to now among items near an interval: it only breaks ties."""
_NO_TIME = 1e9
"""Distance in hours of an item without a time: more than the calendar's range."""

Rows = NDArray[np.intp]


def select_candidates(
    visible: NDArray[np.bool_],
    situated: NDArray[np.float64],
    text: NDArray[np.float64],
    lexical: NDArray[np.float64],
    index: UserIndex,
    uses: UseColumns,
    *,
    query: str,
    now: datetime,
    here: int,
    depth: int,
) -> NDArray[np.int64]:
    """Rows of the candidates, ascending.

    Candidates are items that are similar to the request, near in time, new, often used here, or mentioned.
    `situated`, `text` and `lexical` are the similarities of all items, as in `Similarities`; `query` is the
    text of the request, and `now` its time on the user's wall clock.

    Items near in time are taken per application. With one list over all of 10,000 items, a busy application
    fills it, and the right item is a candidate for 84 % of the requests instead of 97 %.

    There are at least `depth` candidates if as many are visible, though at most `SCORE_ALL_LIMIT` are added
    to reach that.
    """
    visible_rows = np.flatnonzero(visible)
    if len(visible_rows) <= SCORE_ALL_LIMIT:
        return visible_rows
    columns, now_hours = index.item_columns, to_hours(now)
    distance = np.abs(np.arange(24) - now_hours % 24)
    hour_weight = np.exp(-np.minimum(distance, 24 - distance) / 3)
    weight = np.where(uses.place == here, 1.0, _OTHER_PLACE_WEIGHT) * hour_weight[uses.hour]
    used = np.bincount(uses.item, weight, len(visible)).astype(np.float64)
    near_now = _nan_to_lowest(-np.abs(columns.main_time - now_hours))
    lists = (
        top(situated, max(_SIMILAR, min(depth, SCORE_ALL_LIMIT)), visible=visible),
        top(text, _SIMILAR, visible=visible),
        top(lexical, _LEXICAL, visible=visible & (lexical > 0)),
        *_top_by_app(near_now, _NEAR_IN_TIME, index, visible_rows),
        top(_nan_to_lowest(columns.times["made"]), _NEWEST, visible=visible),
        top(used, _MOST_USED, visible=visible & (used > 0)),
        *_mentioned(query, now, lexical, index, visible),
    )
    return np.unique(np.concatenate(lists)).astype(np.int64)


def _mentioned(
    query: str, now: datetime, lexical: NDArray[np.float64], index: UserIndex, visible: NDArray[np.bool_]
) -> Iterator[Rows]:
    """Per application, items that the request mentions by a person, a time or the title.

    Of many items of a person or with a title, those nearest to now and to the times that the request names.
    """
    words = tokenize(query)
    people, mentions = index.item_columns.people, index.mentions
    masks = [np.zeros(len(visible), np.bool_)]
    masks[0][mentions.rows_by_title(frozenset(words))] = True
    for word, contacts in mentioned_people(words, people, mentions, visible).items():
        masks.append((index.lexical_scores([word], visible) > 0) | _involves(contacts, people))
    selections = [rows for mask in masks if len(rows := np.flatnonzero(mask & visible))]
    intervals = mentioned_intervals(query, now)
    if not selections and not intervals:  # most implicit requests
        return
    near_now = _nearness((now, now), lexical, index)
    near_intervals = [_nearness(interval, lexical, index) + _NOW_WEIGHT * near_now for interval in intervals]
    lists = [
        *((nearness, np.flatnonzero(visible)) for nearness in near_intervals),
        *((nearness, rows) for rows in selections for nearness in (near_now, *near_intervals)),
    ]
    k = max(_MIN_MENTIONED, min(_MENTIONED, _MENTIONED_IN_ALL // max(len(lists), 1)))
    for nearness, rows in lists:
        yield from _top_by_app(nearness, k, index, rows)


def _nearness(interval: Interval, lexical: NDArray[np.float64], index: UserIndex) -> NDArray[np.float64]:
    """Minus the hours from each item's main time or creation to the interval; 0 if one of them is in it.

    Items without a time come last, those that share words with the request before the others.
    """
    start, end = map(to_hours, interval)
    times = index.item_columns.main_time, index.item_columns.times["made"]
    distance = np.fmin(*(np.maximum(np.maximum(start - time, time - end), 0) for time in times))
    return np.where(np.isnan(distance), lexical - _NO_TIME, -distance)


def _involves(contacts: Sequence[int], people: PeopleColumns) -> NDArray[np.bool_]:
    """Whether each item involves or mentions one of the contacts."""
    wanted = np.zeros(len(people.contacts) + 1, np.bool_)  # the last is for the padding, `NO_CONTACT`
    wanted[contacts] = True
    result = np.zeros(len(people.involved), np.bool_)
    if contacts:
        for column in (*people.involved.T, *people.mentioned.T):  # faster than `any` over short rows
            result |= wanted[column]
    return result


def _top_by_app(scores: NDArray[np.float64], k: int, index: UserIndex, rows: Rows) -> Iterator[Rows]:
    """The `k` best of some rows (ascending) in each application."""
    for app_rows in np.split(rows, np.searchsorted(rows, [part.stop for part in index.apps.values()])):
        yield app_rows[top(scores[app_rows], k)] if len(app_rows) > k else app_rows


def _nan_to_lowest(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.nan_to_num(values, nan=-np.inf, neginf=-np.inf)

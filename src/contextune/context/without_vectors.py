"""How likely an item is wanted now, from its uses and times alone, for requests that vectors do not rank."""

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import resolve_place
from contextune.context.index import UserState
from contextune.context.signals.columns import NO_PLACE, to_hours
from contextune.types import Request, local_time

_SATURDAY = 5
_HALF_LIFE = 24.0 * 10
"""Hours after which a use counts half."""
_HOUR_VARIANCE = 4.5
_OTHER_PLACE_WEIGHT, _OTHER_DAYS_WEIGHT = 0.3, 0.5
_NEAR = 24.0
"""An item this many hours away counts half as much as one of this hour."""


def likelihoods(request: Request, state: UserState) -> NDArray[np.float64]:
    """A number per item, 0 or more: uses at such hours, days and places, and nearness in time."""
    return np.log1p(_habits(request, state)) + _nearness(request, state)


def _habits(request: Request, state: UserState) -> NDArray[np.float64]:
    """Past uses of each item, weighted by how close their hour, day and place are to those of the request."""
    user, columns = state.index.user, state.index.item_columns
    now, place = local_time(request.time, user.zone), resolve_place(request, user)
    uses = state.enriched.columns(columns).before(to_hours(now))
    distance = np.abs(uses.hour - now.hour)
    distance = np.minimum(distance, 24 - distance)
    weights = 0.5 ** ((to_hours(now) - uses.time) / _HALF_LIFE) * np.exp(-(distance**2) / _HOUR_VARIANCE)
    same_days = (uses.weekday >= _SATURDAY) == (now.weekday() >= _SATURDAY)
    weights *= np.where(same_days, 1, _OTHER_DAYS_WEIGHT)
    if place is not None:
        here = columns.place_codes.get(place, NO_PLACE)
        weights *= np.where((uses.place == here) & (here != NO_PLACE), 1, _OTHER_PLACE_WEIGHT)
    return np.bincount(uses.item, weights, minlength=len(columns.items)).astype(np.float64)


def _nearness(request: Request, state: UserState) -> NDArray[np.float64]:
    """1 for an item of this hour, less for earlier and later ones, 0 for one without a time."""
    columns = state.index.item_columns
    now = to_hours(local_time(request.time, state.index.user.zone))
    times = [columns.times[role] for role in ("made", "start", "due")]
    hours = np.min([np.nan_to_num(np.abs(time - now), nan=np.inf) for time in times], axis=0)
    return 1 / (1 + hours / _NEAR)

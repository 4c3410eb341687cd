"""Times and places.

A naive `datetime` is the user's own wall clock; a zoned one is an instant. Both are kept as given. Wherever
two times meet, `local_time` puts an instant on the user's wall clock first: in `User.zone` where the user has
one, else in the zone of the machine. So "tonight" means the user's night, whatever mix of times the data
holds.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, tzinfo

from contextune.errors import InvalidRequestError

Coordinates = tuple[float, float]
"""Latitude and longitude, in degrees."""
COMMUTE, ANYWHERE = "commute", "anywhere"
NAMELESS = (COMMUTE, ANYWHERE)
"""Places every user has though they have no coordinates: between two places, and nowhere in particular."""


def check_coordinates(place: Sequence[float]) -> Coordinates:
    """A latitude and a longitude that exist on Earth, or an error."""
    try:
        latitude, longitude = map(float, place)
    except (TypeError, ValueError):
        raise InvalidRequestError(
            f"{place!r} is no coordinate: give latitude and longitude, such as (41.15, -8.63)"
        ) from None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise InvalidRequestError(
            f"({latitude}, {longitude}) is no coordinate: latitude lies in -90…90, longitude in -180…180"
        )
    return latitude, longitude


def local_time(time: datetime, zone: tzinfo | None) -> datetime:
    """`time` on the user's wall clock, naive. `zone` None stands for the machine's own zone."""
    if time.tzinfo is not None:
        with suppress(OverflowError):  # 0001-01-01T00:00Z stands for "never": a few hours do not matter
            time = time.astimezone(zone)
    return time.replace(tzinfo=None)


def parse_time(text: str) -> datetime:
    """A date with a time, as in 2024-05-16T17:40 or 2024-05-16T17:40+01:00."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    # without the hour being asked for, 2024-05-16+01:00, a date with a zone, would pass as one in the night
    if time is None or not re.search(r"[Tt ]\d\d:", text):
        raise InvalidRequestError(f"{text!r} is not a date with a time: write it as 2024-05-16T17:40")
    return time


def parse_place(text: str) -> str | Coordinates:
    """A place as somebody types it: the name of one, or latitude and longitude with a comma between."""
    numbers = text.split(",")
    try:
        coordinates = [float(number) for number in numbers]
    except ValueError:
        return text
    return check_coordinates(coordinates)

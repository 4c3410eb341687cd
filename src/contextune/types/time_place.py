"""Parse and normalise times and places.

A naive `datetime` is the user's wall-clock time, a zoned one an instant. Both are stored as given. Before two
times are compared, `local_time` converts an instant to the user's wall clock (`User.zone`, else the zone of
the machine), so that "tonight" means the user's night.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, tzinfo

from contextune.errors import InvalidRequestError

Coordinates = tuple[float, float]
"""Latitude and longitude in degrees."""
PlaceLocation = Coordinates | str
"""Where a named place is: coordinates, or an address, whose coordinates are unknown."""
COMMUTE, ANYWHERE = "commute", "anywhere"
NAMELESS = (COMMUTE, ANYWHERE)
"""Places without coordinates that every user has."""


def check_coordinates(place: Sequence[float]) -> Coordinates:
    """Validate latitude and longitude."""
    try:
        latitude, longitude = map(float, place)
    except (TypeError, ValueError):
        raise InvalidRequestError(
            f"not a coordinate: {place!r} (pass latitude and longitude, such as (41.15, -8.63))"
        ) from None
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise InvalidRequestError(
            f"not a coordinate: ({latitude}, {longitude}) (latitude is in -90…90, longitude in -180…180)"
        )
    return latitude, longitude


def coordinates_of(location: PlaceLocation) -> Coordinates | None:
    """The coordinates of a place; None for an address."""
    return None if isinstance(location, str) else location


def local_time(time: datetime, zone: tzinfo | None) -> datetime:
    """Convert `time` to the user's wall clock, naive. `zone=None` is the zone of the machine."""
    if time.tzinfo is not None:
        with suppress(OverflowError):  # 0001-01-01T00:00Z means "never"
            time = time.astimezone(zone)
    return time.replace(tzinfo=None)


def parse_time(text: str) -> datetime:
    """Parse a date with a time, such as 2024-05-16T17:40 or 2024-05-16T17:40+01:00."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        time = None
    # require the hour: 2024-05-16+01:00 parses as a date at midnight
    if time is None or not re.search(r"[Tt ]\d\d:", text):
        raise InvalidRequestError(f"not a date with a time: {text!r} (write it as 2024-05-16T17:40)")
    return time


def parse_place(text: str) -> str | Coordinates:
    """Parse a place: a name, or `latitude,longitude`."""
    numbers = text.split(",")
    try:
        coordinates = [float(number) for number in numbers]
    except ValueError:
        return text
    return check_coordinates(coordinates)

"""Time zones: that of this machine, and those that people name by a city or an offset."""

import os
import re
from contextlib import suppress
from pathlib import Path
from zoneinfo import ZoneInfo, available_timezones

from contextune.cli.setup.cities import zones_of
from contextune.errors import InvalidDataError

_LOCALTIME, _TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
_MAX_CHOICES = 6
_OFFSET = re.compile(r"(?:UTC|GMT)\s*([+-])\s*(\d{1,2})(?::?00)?", re.IGNORECASE)


def find_zone(text: str) -> ZoneInfo | None:
    """The time zone of a name as Europe/Lisbon, of a city as "Cape Town", a country, or an offset as GMT+1.

    Raises `InvalidDataError` if a city or a country may be of several zones.
    """
    text = text.strip()
    if match := _OFFSET.fullmatch(text):
        # the signs of these zones are those of POSIX, where west is positive
        sign = "-" if match[1] == "+" else "+"
        return _zone(f"Etc/GMT{sign}{int(match[2])}" if int(match[2]) else "Etc/GMT")
    if zone := _zone(text):
        return zone
    wanted = text.casefold().replace(" ", "_")
    names = [
        name
        for name in available_timezones()
        if wanted in (name.casefold(), name.casefold().rpartition("/")[2])
    ]
    # several names of a city are of one zone: America/Indiana/Indianapolis and America/Indianapolis
    if names:
        return _zone(min(names, key=lambda name: (name.count("/"), name)))
    zones = zones_of(text)
    if len(zones) > 1:
        choices = ", ".join(zones[:_MAX_CHOICES]) + (", …" if len(zones) > _MAX_CHOICES else "")
        raise InvalidDataError(
            f"{text!r} may be of several time zones: {choices} (write one of them, or a city and its country)"
        )
    return _zone(zones[0]) if zones else None


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None


def machine_zone() -> str | None:
    """The name of the zone, such as Europe/Lisbon; None if the machine does not tell."""
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    with suppress(OSError):
        candidates.append(str(_LOCALTIME.resolve()).partition("zoneinfo/")[2])
    with suppress(OSError):
        candidates.append(_TIMEZONE.read_text(encoding="utf-8").strip())
    for name in candidates:
        with suppress(ValueError, OSError, KeyError):
            if name:
                return ZoneInfo(name.removeprefix("posix/")).key
    return None

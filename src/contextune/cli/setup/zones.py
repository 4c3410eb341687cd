"""Time zones: that of this machine, and those that people name by a city, a country or an offset.

Cities are those with airports in airportsdata, countries those of the zone tables of IANA.
"""

import csv
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo, available_timezones

from contextune.errors import InvalidDataError

_ALIASES = {
    **dict.fromkeys(("uk", "england", "scotland", "wales", "great britain", "northern ireland"), "GB"),
    **dict.fromkeys(("usa", "united states of america", "america"), "US"),
    "holland": "NL",
    "south korea": "KR",
    "czech republic": "CZ",
    "uae": "AE",
}
"""Names of countries beside those of IANA's table."""
_PARENTHESES = re.compile(r"(?<!\s)\s*\([^()]*\)")
_NO_LETTERS = re.compile(r"[\W_]+")
_LOCALTIME, _TIMEZONE = Path("/etc/localtime"), Path("/etc/timezone")
_MAX_CHOICES = 6
_OFFSET = re.compile(r"(?:UTC|GMT)\s*([+-])\s*(\d{1,2})(?::?00)?", re.IGNORECASE)


def zones_of(text: str) -> list[str]:
    """The zones that the name of a city or a country may mean, such as "Cape Town" or "Portland, Maine".

    What follows a comma is a country or a region of it. A country with islands or several zones has several.
    """
    city, _, region = map(_plain, text.partition(","))
    if not city:
        return []
    country = _country_code(region)
    zones = {
        zone: None
        for zone, code, subdivision in zones_by_city().get(city, ())
        if not region or country == code or region == subdivision
    }
    if zones:
        return list(zones)
    return _zones_of_country(country if region else _country_code(city))


@cache
def zones_by_city() -> Mapping[str, list[tuple[str, str, str]]]:
    """Zone, country and region of the airports of a city; only of airports with scheduled flights, if any."""
    try:
        table = files("airportsdata").joinpath("airports.csv")
        text = table.read_text(encoding="utf-8")
    except (ImportError, OSError):  # not installed: countries only
        return {}
    airports: dict[str, list[tuple[bool, tuple[str, str, str]]]] = {}
    for row in csv.DictReader(text.splitlines()):
        if row["tz"]:
            where = (row["tz"], row["country"], _plain(row["subd"]))
            airports.setdefault(_plain(row["city"]), []).append((bool(row["iata"]), where))
    return {
        city: [where for scheduled, where in found if scheduled or not any(large for large, _ in found)]
        for city, found in airports.items()
    }


def _country_code(name: str) -> str:
    """The code of a country by its name or code; empty if there is none."""
    if not name:
        return ""
    codes = {_plain(_PARENTHESES.sub("", row[1])): row[0] for row in _table("iso3166.tab") if len(row) > 1}
    return _ALIASES.get(name) or codes.get(name) or (name.upper() if name.upper() in codes.values() else "")


def _zones_of_country(country: str) -> list[str]:
    """The zones of a country, without those that it shares with a neighbour if it has others."""
    zones = [row[2] for row in _table("zone.tab") if row[0] == country]
    shared = {row[2]: row[0].split(",")[0] for row in _table("zone1970.tab")}
    own = [zone for zone in zones if shared.get(zone) == country]
    return own if len(zones) > 1 and own else zones


@lru_cache(maxsize=4)
def _table(name: str) -> list[list[str]]:
    """The rows of a table of IANA's database, of the system or of the package tzdata; else empty."""
    for text in _tables(name):
        return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return []


def _tables(name: str) -> Iterator[str]:
    for folder in TZPATH:
        path = Path(folder, name)
        if path.is_file():
            yield path.read_text(encoding="utf-8")
    try:
        yield files("tzdata").joinpath("zoneinfo", name).read_text(encoding="utf-8")
    except (ImportError, OSError):
        return


def _plain(name: str) -> str:
    """A name in lower case, without accents and punctuation: "St. Louis" is "st louis"."""
    letters = (letter for letter in unicodedata.normalize("NFKD", name) if not unicodedata.combining(letter))
    return _NO_LETTERS.sub(" ", "".join(letters).casefold()).strip()


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

"""Values of fields: read times, people and text from what applications export."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import cast

from contextune.types.field_names import snake_case

_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_EXIF = re.compile(r"(\d{4}):(\d\d):(\d\d)[ T](\d\d:\d\d.*)")
_MAIL_HEADER = re.compile(r"(?:[A-Z][a-z]{2}, )?\d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d")
_NUMBER = re.compile(r"\d{9,13}(?:\.\d+)?")
_FIRST_EPOCH, _LAST_EPOCH = 946_684_800, 4_102_444_800
"""The years 2000 to 2099: other numbers are not taken for seconds since 1970."""
_DATE_LIKE = re.compile(
    r"\d{1,4}[-/.:]\d{1,2}[-/.:]\d{1,4}|\d{8,}|\b\d{4}\b.{0,100}\b\d{1,2}\b"
    r"|\b\d{1,2}\b.{0,100}\b\d{4}\b",
    re.DOTALL,
)
_PERSON = frozenset(
    [
        "name",
        "display_name",
        "full_name",
        "real_name",
        "username",
        "email",
        "email_address",
        "address",
        "phone",
    ]
)
_MAX_DEPTH = 8


def is_iso_time(value: object) -> bool:
    """Whether the value is a time, or text that begins with a date such as 2024-05-16."""
    return isinstance(value, datetime) or (
        isinstance(value, str) and bool(_ISO.match(value)) and read_time(value) is not None
    )


def read_time(value: object) -> datetime | None:
    """The time that a value stands for; None if it cannot be read as one.

    Reads ISO 8601, EXIF (2024:05:16 19:00:00), dates of mail headers, and seconds or milliseconds since 1970.
    """
    if isinstance(value, datetime):
        return value
    if isinstance(value, int | float):
        return None if isinstance(value, bool) else _from_epoch(value)
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return _read_other_format(value.strip())


def _read_other_format(text: str) -> datetime | None:
    if _NUMBER.fullmatch(text):
        return _from_epoch(float(text))
    try:
        if match := _EXIF.fullmatch(text):
            return datetime.fromisoformat("{}-{}-{}T{}".format(*match.groups()))
        if _MAIL_HEADER.match(text):
            return parsedate_to_datetime(text)
    except ValueError:
        pass
    return None


def _from_epoch(number: float) -> datetime | None:
    for seconds in (number, number / 1000):
        if _FIRST_EPOCH <= seconds < _LAST_EPOCH:
            return datetime.fromtimestamp(seconds, UTC)
    return None


def is_day(value: object) -> bool:
    """Whether the value is a date without an hour."""
    try:
        return isinstance(value, str) and ":" not in value and bool(date.fromisoformat(value))
    except ValueError:
        return False


def looks_like_date(value: object) -> bool:
    """Whether the value is probably meant as a date, readable or not."""
    return isinstance(value, str | int | float) and bool(_DATE_LIKE.search(str(value)))


def to_text(value: object) -> str:
    """A value in words: lists with commas, nested fields with their names."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return "; ".join(f"{name}: {text}" for name, inner in pairs if (text := to_text(inner)))
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return ", ".join(filter(None, map(to_text, cast("Sequence[object]", value))))
    return str(value)


def people_in(value: object, depth: int = _MAX_DEPTH) -> Iterator[str]:
    """The people that a value names: itself, its entries, or the name, address and number in its fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth:
        for name, inner in cast("Mapping[object, object]", value).items():
            if isinstance(inner, Mapping | list) or snake_case(str(name)) in _PERSON:
                yield from people_in(cast("object", inner), depth - 1)
    elif isinstance(value, Sequence) and not isinstance(value, bytes) and depth:
        for entry in cast("Sequence[object]", value):
            yield from [str(entry)] if isinstance(entry, int) else people_in(entry, depth - 1)

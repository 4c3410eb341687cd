"""The string formats of JSON Schema that values are checked by, and the patterns that find them in a text."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit
from uuid import UUID

ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
"""An email address."""
LINK = re.compile(r"(?<![\w.+-])[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\s<>\"“”«»]{1,500}")
"""An address of the web, or of another service."""
ISO_DURATION = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)


def _is_moment(text: str) -> bool:
    """Local time without a UTC offset is accepted, unlike in RFC 3339."""
    return "T" in text and bool(datetime.fromisoformat(text))


def _is_day(text: str) -> bool:
    return bool(date.fromisoformat(text))


def _is_time(text: str) -> bool:
    """Without seconds and offset too, unlike in RFC 3339."""
    time.fromisoformat(text)
    return ":" in text


def _is_duration(text: str) -> bool:
    match = ISO_DURATION.fullmatch(text)
    return match is not None and any(match.groups())


def _is_link(text: str) -> bool:
    parts = urlsplit(text)
    return bool(parts.scheme and (parts.netloc or parts.path)) and not any(map(str.isspace, text))


def _is_uuid(text: str) -> bool:
    return len(text) == 36 and bool(UUID(text))


FORMATS: Mapping[str, Callable[[str], bool]] = {
    "date-time": _is_moment,
    "date": _is_day,
    "time": _is_time,
    "duration": _is_duration,
    "email": lambda text: ADDRESS.fullmatch(text) is not None,
    "uri": _is_link,
    "uuid": _is_uuid,
    "ipv4": lambda text: bool(IPv4Address(text)) or True,
    "ipv6": lambda text: bool(IPv6Address(text)) or True,
}
"""Checks by the name of the format; they may raise `ValueError`."""

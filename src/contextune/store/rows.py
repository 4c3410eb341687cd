"""Conversion between database rows and the library's types, without loss; and checksums of rows.

SQLite itself does not notice a changed byte in a value.
"""

import json
import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from zlib import crc32
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from contextune.errors import InvalidDataError, StoreError
from contextune.store.protocol import Vector
from contextune.types import Contact, Feedback, Item, PlaceLocation, Request, Turn, UsageEvent, User
from contextune.types.time_text import UnreadTimes

_NO_PLACE = b""
_SCALARS = (str, int, float)
_CONTAINERS = (dict, list)
_MAX_DEPTH = 100
"""Levels of lists and dicts in one value, well below the limits of Python's JSON encoder and decoder."""
_log = logging.getLogger("contextune.store")


class DamagedRowError(sqlite3.DatabaseError):
    """Stored data differ from what was written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def row_checksum(*values: str | bytes | int | None) -> int:
    """CRC-32 of the values of a row."""
    return crc32(
        b"\x1f".join([value if isinstance(value, bytes) else str(value).encode() for value in values])
    )


def check_rows(table: str, rows: Sequence[tuple[Any, ...]], *owner: int) -> None:
    """Raise `DamagedRowError` unless each row ends with the checksum of `owner` and its other values."""
    for row in rows:
        if row_checksum(*owner, *row[:-1]) != row[-1]:
            raise DamagedRowError(f"a row of the table {table} does not match its checksum")


def check_count(table: str, count: int, expected: int) -> None:
    """Raise `DamagedRowError` unless a user has as many different rows as expected."""
    if count != expected:
        raise DamagedRowError(f"the table {table} has {count} of {expected} rows of a user")


def _encoder(*, escape: bool) -> json.JSONEncoder:
    # circular values are refused by `_is_json`, as too deep
    return json.JSONEncoder(ensure_ascii=escape, allow_nan=False, check_circular=False, separators=(",", ":"))


_encode = _encoder(escape=False).encode
_encode_escaped = _encoder(escape=True).encode


def check_unicode(text: str, what: str) -> str:
    """Return the text; raise `InvalidDataError` if it contains a lone surrogate, left by wrong decoding."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidDataError(f"{what} {text!r} contains a lone surrogate: decode it as UTF-8") from None
    return text


def _is_json(value: object, levels: int = _MAX_DEPTH) -> bool:
    """Whether the value survives a JSON round trip: a tuple would become a list, a key 1 the key "1".

    Plain loops, and no call for strings: a bulk load runs this millions of times.
    """
    if value is None or isinstance(value, _SCALARS):
        return True
    if levels == 0 or not isinstance(value, _CONTAINERS):
        return False
    parts = cast("Iterable[object]", value)
    if isinstance(value, dict):
        for name in parts:
            if not isinstance(name, str):
                return False
        parts = cast("dict[object, object]", value).values()
    for part in parts:  # noqa: SIM110
        if type(part) is not str and not _is_json(part, levels - 1):
            return False
    return True


def _json(value: object) -> str:
    if not _is_json(value):
        raise ValueError
    text = _encode(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate, from a broken mail: JSON can escape it
            text = _encode_escaped(value)
            if json.loads(text) != value:
                raise
    return text


def _fields_json(fields: Mapping[str, Any], owner: str) -> str:
    try:
        return _json(dict(fields))
    except ValueError:
        for name, value in fields.items():
            try:
                _json({name: value})
            except ValueError:
                break
        raise InvalidDataError(
            f"{owner}, field {name!r}: a {type(value).__name__} like this is not a JSON value; "  # pyright: ignore[reportPossiblyUnboundVariable]  # an empty dict does not fail
            f"use strings, finite numbers, booleans, None, lists, and dicts with string keys"
        ) from None


def user_row(user: User) -> tuple[str, str, str, str, str | None, int]:
    """The row of a user: id, profile, places, contacts, zone, checksum."""
    owner = f"user {user.id!r}"
    if user.zone is not None and not user.zone.key:
        raise InvalidDataError(f"{owner}: the time zone has no name; use e.g. ZoneInfo('Europe/Lisbon')")
    contacts = [
        {"name": c.name, "email": c.email, "phone": c.phone, "relation": c.relation, "more": dict(c.more)}
        for c in user.contacts
    ]
    places = {name: _location_json(place) for name, place in user.places.items()}
    row = (
        check_unicode(user.id, "the user id"),
        _fields_json(user.profile, f"{owner}, profile"),
        _fields_json(places, f"{owner}, places"),
        _fields_json({"contacts": contacts}, owner),
        user.zone and user.zone.key,
    )
    return (*row, row_checksum(*row))


def parse_user(row: Sequence[Any]) -> User:
    """The user of a row (id, profile, places, contacts, zone, …)."""
    user, profile, places, contacts, zone = row[:5]
    try:
        return User(
            id=user,
            profile=json.loads(profile),
            places={name: _parse_location(place) for name, place in json.loads(places).items()},
            contacts=tuple(Contact(**contact) for contact in json.loads(contacts)["contacts"]),
            zone=parse_zone(zone),
        )
    except (ValueError, TypeError, LookupError) as error:
        raise StoreError(f"cannot read the stored user {user!r}: write it again with put_user") from error


def _location_json(location: PlaceLocation) -> list[float] | str:
    return location if isinstance(location, str) else list(location)


def _parse_location(stored: Any) -> PlaceLocation:
    """The inverse of `_location_json`; stores of before addresses hold coordinates only."""
    return stored if isinstance(stored, str) else (stored[0], stored[1])


def parse_zone(key: str | None) -> ZoneInfo | None:
    """The time zone of this name; raise `StoreError` if this machine's zone data lacks it."""
    try:
        return ZoneInfo(key) if key else None
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise StoreError(f"unknown time zone {key!r} on this machine: pip install -U tzdata") from error


def item_row(key: int, item: Item) -> tuple[int, str, str, str, int]:
    """The row of an item: user key, id, app, fields, checksum."""
    _ = item.times  # raises for a malformed time, which would break every later request
    fields = _fields_json(item.fields, f"item {item.id!r}")
    row = key, check_unicode(item.id, "the item id"), check_unicode(item.app, "the app"), fields
    return (*row, row_checksum(*row))


def parse_items(rows: Sequence[tuple[str, str, str, int]]) -> list[Item]:
    """The items of rows (id, app, fields, …); parsed as one JSON list, in half the time of one by one."""
    try:
        parsed = cast("list[dict[str, Any]]", json.loads(f"[{','.join([row[2] for row in rows])}]"))
        return [Item(row[0], row[1], fields) for row, fields in zip(rows, parsed, strict=True)]
    except ValueError as error:
        raise StoreError("cannot read the stored items: load the user's data again") from error


def use_row(key: int, use: UsageEvent) -> tuple[int, str, str, str | bytes, str, int]:
    """The row of a use: user key, item, moment, place, time, checksum."""
    time = use.time
    if time.tzinfo is None:
        moment = time.isoformat()
    elif 1 < time.year < 9999:
        moment = time.astimezone(UTC).isoformat()
    else:  # in UTC it may be out of range for a datetime
        raise InvalidDataError(f"a use of item {use.item!r}: time out of range: {time.isoformat()!r}")
    place = (
        _NO_PLACE if use.place is None else check_unicode(use.place, f"a use of item {use.item!r}: the place")
    )
    row = key, check_unicode(use.item, "the item id"), moment, place, time.isoformat()
    return (*row, row_checksum(*row))


def parse_uses(rows: Sequence[tuple[str, str, str | bytes, str, int]]) -> list[UsageEvent]:
    """The uses of rows (item, moment, place, time, checksum)."""
    try:
        return [
            UsageEvent(item, datetime.fromisoformat(time), place if isinstance(place, str) else None)
            for item, _, place, time, _ in rows
        ]
    except ValueError as error:
        raise StoreError("cannot read the stored uses: load the user's data again") from error


def feedback_row(key: int, feedback: Feedback) -> tuple[int, str, str, str, str | None, int, int]:
    """The row of feedback: user key, request, items used, items rejected, tool, whether right, checksum."""
    request = feedback.request
    fields = {
        "text": request.text,
        "time": request.time.isoformat(),
        "place": request.place
        if request.place is None or isinstance(request.place, str)
        else [*request.place],
        "history": [[turn.speaker, turn.text] for turn in request.history],
    }
    row = (
        key,
        _encode_escaped(fields),
        _encode_escaped([*feedback.used]),
        _encode_escaped([*feedback.rejected]),
        feedback.tool and check_unicode(feedback.tool, "the tool"),
        int(feedback.ok),
    )
    return (*row, row_checksum(*row))


def parse_feedback(user: str, row: tuple[str, str, str, str | None, int, int]) -> Feedback:
    """The feedback of a row (request, items used, items rejected, tool, whether it was right, checksum)."""
    *texts, tool, ok, _ = row
    try:
        fields, used, rejected = map(json.loads, texts)
        place = tuple(fields["place"]) if isinstance(fields["place"], list) else fields["place"]
        request = Request(
            fields["text"],
            user,
            datetime.fromisoformat(fields["time"]),
            place,
            tuple(Turn(*turn) for turn in fields["history"]),
        )
        return Feedback(request, tuple(used), tuple(rejected), tool, bool(ok))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            "cannot read the stored feedback: forget the user and load the data again"
        ) from error


def vector_blob(vector: Vector) -> bytes:
    """The vector as little-endian float32."""
    if vector.ndim != 1 or not vector.size:
        raise InvalidDataError(f"a vector needs one dimension and some numbers: shape {vector.shape!r}")
    return vector.astype("<f4", copy=False).tobytes()


def parse_vector(blob: bytes) -> Vector:
    """The vector of a blob; read-only."""
    return np.frombuffer(blob, "<f4").astype(np.float32, copy=False)


def log_unread_times(unread: UnreadTimes) -> None:
    """Log the fields, by application, without their values."""
    for field in unread.all():
        _log.warning("%s", field)

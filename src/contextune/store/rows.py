"""Rows of the database to the library's values, and back, without loss."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from contextune.errors import InvalidDataError, StoreError
from contextune.store.protocol import Vector
from contextune.types import Contact, Feedback, Item, Request, Turn, UsageEvent, User

_NO_PLACE = b""
_SCALARS = (str, int, float)
_CONTAINERS = (dict, list)
_DEEPEST = 100
"""Levels of lists and dicts in one value; far from where JSON in Python gives up, in both directions."""


def _encoder(*, escape: bool) -> json.JSONEncoder:
    # what is circular is too deep as well, so `_survives` has found it before
    return json.JSONEncoder(ensure_ascii=escape, allow_nan=False, check_circular=False, separators=(",", ":"))


_encode = _encoder(escape=False).encode
_encode_escaped = _encoder(escape=True).encode


def checked(text: str, what: str) -> str:
    """`text`, or an error where it is no Unicode: half a surrogate pair, left over by a wrong decoding."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidDataError(f"{what} {text!r} holds half a character: decode it as UTF-8") from None
    return text


def _survives(value: object, levels: int = _DEEPEST) -> bool:
    """Whether JSON gives back an equal value: a tuple would come back as a list, a key 1 as "1".

    Plain loops, and text let through without a call: a bulk load comes by here millions of times.
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
        if type(part) is not str and not _survives(part, levels - 1):
            return False
    return True


def _json(value: object) -> str:
    if not _survives(value):
        raise ValueError
    text = _encode(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:  # half a surrogate pair, from a broken mail: JSON can hold it escaped
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
            f"{owner}, field {name!r}: JSON cannot hold this value of type {type(value).__name__} as it is; "  # pyright: ignore[reportPossiblyUnboundVariable]  # an empty dict does not fail
            f"use text, numbers, booleans, None, lists, and dicts with text as keys"
        ) from None


def user_row(user: User) -> tuple[str, str, str, str, str | None]:
    """Id, profile, places, contacts, zone."""
    owner = f"user {user.id!r}"
    if user.zone is not None and not user.zone.key:
        raise InvalidDataError(f"{owner}: the zone has no name; make it as ZoneInfo('Europe/Lisbon')")
    contacts = [
        {"name": c.name, "email": c.email, "phone": c.phone, "relation": c.relation, "more": dict(c.more)}
        for c in user.contacts
    ]
    return (
        checked(user.id, "the user id"),
        _fields_json(user.profile, f"{owner}, profile"),
        _fields_json({name: list(place) for name, place in user.places.items()}, f"{owner}, places"),
        _fields_json({"contacts": contacts}, owner),
        user.zone and user.zone.key,
    )


def user_from(row: Sequence[Any]) -> User:
    """The user of an id, profile, places, contacts, zone."""
    user, profile, places, contacts, zone = row
    try:
        return User(
            id=user,
            profile=json.loads(profile),
            places={name: (place[0], place[1]) for name, place in json.loads(places).items()},
            contacts=tuple(Contact(**contact) for contact in json.loads(contacts)["contacts"]),
            zone=zone_from(zone),
        )
    except (ValueError, TypeError, LookupError) as error:
        raise StoreError(f"what is stored of user {user!r} cannot be read: put_user them again") from error


def zone_from(key: str | None) -> ZoneInfo | None:
    """The zone of this name, which a machine with older zone data may not know."""
    try:
        return ZoneInfo(key) if key else None
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise StoreError(f"this machine does not know the zone {key!r}: pip install -U tzdata") from error


def item_row(key: int, item: Item) -> tuple[int, str, str, str]:
    """User key, id, app, fields; an item whose times cannot be read would spoil every later request."""
    _ = item.times
    fields = _fields_json(item.fields, f"item {item.id!r}")
    return key, checked(item.id, "the item id"), checked(item.app, "the app"), fields


def items_from(rows: Sequence[tuple[str, str, str]]) -> list[Item]:
    """The items of ids, apps, fields. Parsed as one JSON list, which takes half the time of one by one."""
    try:
        parsed = cast("list[dict[str, Any]]", json.loads(f"[{','.join([row[2] for row in rows])}]"))
        return [Item(row[0], row[1], fields) for row, fields in zip(rows, parsed, strict=True)]
    except ValueError as error:
        raise StoreError("items in the store cannot be read: load the user's data again") from error


def use_row(key: int, use: UsageEvent) -> tuple[int, str, str, str | bytes, str]:
    """User key, item, moment, place, time."""
    time = use.time
    if time.tzinfo is None:
        moment = time.isoformat()
    elif 1 < time.year < 9999:
        moment = time.astimezone(UTC).isoformat()
    else:  # in another zone it may lie outside of what a datetime can say
        raise InvalidDataError(f"a use of item {use.item!r}: {time.isoformat()!r} is no time of use")
    place = _NO_PLACE if use.place is None else checked(use.place, f"a use of item {use.item!r}: the place")
    return key, checked(use.item, "the item id"), moment, place, time.isoformat()


def uses_from(rows: Sequence[tuple[str, str, str | bytes]]) -> list[UsageEvent]:
    """The uses of items, times, places."""
    try:
        return [
            UsageEvent(item, datetime.fromisoformat(time), place if isinstance(place, str) else None)
            for item, time, place in rows
        ]
    except ValueError as error:
        raise StoreError("uses in the store cannot be read: load the user's data again") from error


def feedback_row(key: int, feedback: Feedback) -> tuple[int, str, str, str, str | None, bool]:
    """User key, request, items used, items rejected, tool called, whether that was right."""
    request = feedback.request
    said = {
        "text": request.text,
        "time": request.time.isoformat(),
        "place": request.place
        if request.place is None or isinstance(request.place, str)
        else [*request.place],
        "history": [[turn.speaker, turn.text] for turn in request.history],
    }
    return (
        key,
        _encode_escaped(said),
        _encode_escaped([*feedback.used]),
        _encode_escaped([*feedback.rejected]),
        feedback.tool and checked(feedback.tool, "the tool"),
        feedback.ok,
    )


def feedback_from(user: str, row: tuple[str, str, str, str | None, int]) -> Feedback:
    """The feedback of request, items used, items rejected, tool called, whether that was right."""
    *texts, tool, ok = row
    try:
        said, used, rejected = map(json.loads, texts)
        place = tuple(said["place"]) if isinstance(said["place"], list) else said["place"]
        request = Request(
            said["text"],
            user,
            datetime.fromisoformat(said["time"]),
            place,
            tuple(Turn(*turn) for turn in said["history"]),
        )
        return Feedback(request, tuple(used), tuple(rejected), tool, bool(ok))
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            "feedback in the store cannot be read: forget the user, load the data again"
        ) from error


def vector_blob(vector: Vector) -> bytes:
    """Little-endian float32, whatever the machine."""
    if vector.ndim != 1 or not vector.size:
        raise InvalidDataError(f"a vector has one dimension and some numbers, not the shape {vector.shape!r}")
    return vector.astype("<f4", copy=False).tobytes()


def vector_from(blob: bytes) -> Vector:
    """The vector of a blob; read-only, as it is kept for others too."""
    return np.frombuffer(blob, "<f4").astype(np.float32, copy=False)

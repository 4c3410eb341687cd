"""Labelled requests in the format of worlds: what was said, when, and the call and items that are right.

`docs/worlds.md` describes the format. Only `text` and `time` are needed, and what is to be measured: `needs`
for items, `expected` for calls.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from contextune.errors import InvalidDataError
from contextune.types import Turn

_MAX_ERRORS = 20


@dataclass(frozen=True, slots=True)
class WorldCall:
    """A call of a tool; of a call that must not be made, only the arguments that make it harmful."""

    tool: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NeededItem:
    """An item as a program shows it: application, title, and time to the minute (empty without one)."""

    app: str
    title: str
    time: str


@dataclass(frozen=True, slots=True)
class WorldRequest:
    """A request with what was expected."""

    id: str
    text: str
    time: datetime
    place: str | None
    kind: str
    history: tuple[Turn, ...]
    calls: tuple[WorldCall, ...]
    """The call or steps that are expected; empty if no tool serves."""
    asks: bool
    """Whether a good assistant asks back before the call."""
    is_sequence: bool
    """Whether `calls` are steps, to be made in order."""
    also_right: tuple[tuple[WorldCall, ...], ...]
    """Whole alternatives that are as good, of one call or of several steps."""
    must_not: tuple[WorldCall, ...]
    free: frozenset[str]
    """Arguments whose wording is the assistant's own."""
    needs: frozenset[NeededItem]
    helps: frozenset[NeededItem]
    source: Mapping[str, Any] = field(repr=False, compare=False)
    """The line of requests.jsonl."""

    @property
    def first_calls(self) -> tuple[WorldCall, ...]:
        """The calls that are right as the first one."""
        return (*self.calls[:1], *(calls[0] for calls in self.also_right))

    @property
    def is_served(self) -> bool:
        """Whether any tool can serve the request."""
        return bool(self.first_calls)


def parse_request(data: Mapping[str, Any]) -> WorldRequest:
    """A request in the form of a line of requests.jsonl."""
    expected = data["expected"]
    return WorldRequest(
        id=data["id"],
        text=data["text"],
        time=datetime.fromisoformat(data["time"]),
        place=data.get("place") or None,
        kind=data["kind"],
        history=tuple(Turn(turn["role"], turn["text"]) for turn in data["history"]),
        calls=_calls(expected),
        asks=bool(expected.get("ask")),
        is_sequence="steps" in expected,
        also_right=tuple(calls for other in data["also_right"] if (calls := _calls(other))),
        must_not=tuple(
            WorldCall(call["tool"], call.get("args") or {}) for call in data["must_not"] if "tool" in call
        ),
        free=frozenset(data.get("free") or ()),
        needs=_items(data["needs"]),
        helps=_items(data.get("helps") or ()),
        source=data,
    )


def _calls(expected: Mapping[str, Any]) -> tuple[WorldCall, ...]:
    """The calls of an expectation: one, several steps, or none."""
    steps: Sequence[Mapping[str, Any]] = [expected] if expected.get("tool") else expected.get("steps", [])
    return tuple(WorldCall(step["tool"], step.get("args") or {}) for step in steps)


def _items(listed: Iterable[Mapping[str, Any]]) -> frozenset[NeededItem]:
    return frozenset(
        NeededItem(item["app"], item["title"], cast("str", item.get("time") or "")[:16]) for item in listed
    )


def read_requests(file: Path) -> list[WorldRequest]:
    """Read a file of labelled requests; the error lists the invalid lines with what is missing."""
    try:
        lines = file.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise InvalidDataError(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidDataError(f"{file}: is not UTF-8: {error}") from None
    requests: dict[str, WorldRequest] = {}
    errors: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            request = _labelled(json.loads(line), f"line {number}")
            if request.id in requests:
                raise ValueError(f"the id {request.id!r} is used by another request: ids must be unique")
            requests[request.id] = request
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            errors.append(f"line {number}: {error if isinstance(error, ValueError) else _reason(error)}")
    if errors:
        more = [f"and {len(errors) - _MAX_ERRORS} more"] if len(errors) > _MAX_ERRORS else []
        listed = "\n  ".join([*errors[:_MAX_ERRORS], *more])
        raise InvalidDataError(f"{file}: invalid requests:\n  {listed}")
    if not requests:
        raise InvalidDataError(
            f'{file}: contains no request: write one {{"text": "…", "time": "2026-11-12T17:35", "needs": [], '
            '"expected": {"tool": "server/name", "args": {}}} per line'
        )
    return list(requests.values())


def _labelled(data: object, default_id: str) -> WorldRequest:
    """A request of a user's own file, which may leave out what is empty."""
    if not isinstance(data, dict):
        raise ValueError('is not a JSON object: write {"text": "…", "time": "…", …}')
    fields = cast("dict[str, Any]", data)
    for name in ("text", "time"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise ValueError(f"has no {name!r}: it is needed")
    if not fields.keys() & {"needs", "expected"}:
        raise ValueError('has neither "needs" (items) nor "expected" (the call): there is nothing to measure')
    if "expected" in fields and not isinstance(fields["expected"], dict):
        raise ValueError('"expected" must be an object: {"tool": …, "args": {}}; {"tool": null} if none fits')
    for name in ("needs", "helps", "also_right", "must_not", "history", "free"):
        if not isinstance(fields.get(name) or [], list):
            raise ValueError(f"{name!r} must be a list")
    try:
        datetime.fromisoformat(fields["time"])
    except ValueError:
        raise ValueError(f'"time" is no date and time: {fields["time"]!r} (write 2026-11-12T17:35)') from None
    defaults: dict[str, Any] = {"id": default_id, "kind": "", "history": [], "also_right": []}
    defaults |= {"must_not": [], "needs": [], "expected": {"tool": None}}
    request = parse_request(defaults | {name: value for name, value in fields.items() if value is not None})
    return replace(request, source=fields)


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"lacks {error.args[0]!r} (items have app, title, time; turns role, text; calls tool, args)"
    return f"has a value of the wrong type ({error})"

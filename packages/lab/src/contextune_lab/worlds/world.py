"""Read a world: the person, the tools, and the requests with what they need (format: docs/worlds.md)."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast
from zoneinfo import ZoneInfo

from contextune.errors import InvalidDataError
from contextune.tools import bundled_toolbox
from contextune.types import Tool, Turn, User

_T = TypeVar("_T")
USER = "me"
"""The id of the person in the store of a world."""


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


@dataclass(frozen=True)
class World:
    """One person with their files, tools and requests."""

    folder: Path
    person: Mapping[str, Any]
    requests: tuple[WorldRequest, ...]

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @property
    def has_own_tools(self) -> bool:
        """Whether the world has a catalogue of its own; otherwise it has the bundled toolbox."""
        return (self.folder / "tools.json").exists()

    @cached_property
    def tools(self) -> list[Tool]:
        """The tools of the person's assistant."""
        if not self.has_own_tools:
            return bundled_toolbox()
        servers = _read(self.folder / "tools.json", json.loads)["servers"]
        return [
            Tool(
                tool["name"],
                tool.get("description", ""),
                app=server,
                parameters=tool.get("inputSchema") or {},
            )
            for server, listed in servers.items()
            for tool in listed["tools"]
        ]

    @property
    def zone(self) -> ZoneInfo:
        """The person's time zone."""
        return ZoneInfo(self.person["zone"])

    @property
    def now(self) -> datetime:
        """When the files were exported."""
        return datetime.fromisoformat(self.person["now"]).replace(tzinfo=self.zone)

    @property
    def user(self) -> User:
        """The person as the user of a store: name, addresses, time zone and places."""
        profile = {"name": self.person["name"], "email": list(self.person["emails"])}
        return User(USER, profile, dict(self.person.get("places") or {}), zone=self.zone)

    @cached_property
    def file_times(self) -> Mapping[str, datetime]:
        """The time of change of files that have one of their own, by path from the folder of the world."""
        file = self.folder / "mtimes.json"
        times: Mapping[str, str] = _read(file, json.loads) if file.exists() else {}
        return {path: datetime.fromisoformat(when).replace(tzinfo=self.zone) for path, when in times.items()}


def read_world(folder: Path) -> World:
    """Read a world; raises `InvalidDataError` that names the file and the line."""
    person = _read(folder / "person.json", json.loads)
    file = folder / "requests.jsonl"
    requests = tuple(_read(file, lambda text: list(_parse_lines(text.splitlines()))))
    return World(folder, person, requests)


def find_worlds(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """The folders of the worlds in a folder, by name; or those with the given names."""
    found = {path.parent.name: path.parent for path in sorted(folder.glob("*/requests.jsonl"))}
    if unknown := [name for name in names if name not in found]:
        known = ", ".join(found) or "none"
        raise InvalidDataError(f"{folder}: no world {unknown[0]!r} (worlds: {known})")
    if not found:
        raise InvalidDataError(f"{folder}: no worlds (a world is a folder with requests.jsonl)")
    return [found[name] for name in names or found]


def _read(file: Path, parse: Callable[[str], _T]) -> _T:
    try:
        return parse(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidDataError(f"{file}: not a file of a world: {error}") from None


def _parse_lines(lines: Iterable[str]) -> Iterator[WorldRequest]:
    for number, line in enumerate(lines, 1):
        try:
            yield parse_request(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"line {number}: {type(error).__name__} {error}") from None


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

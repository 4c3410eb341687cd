"""Read a world: the person, the tools, and the requests with what they need (format: docs/worlds.md)."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from contextune.errors import InvalidDataError
from contextune.evaluate.requests import (
    NeededItem as NeededItem,
)
from contextune.evaluate.requests import (
    WorldCall as WorldCall,
)
from contextune.evaluate.requests import (
    WorldRequest as WorldRequest,
)
from contextune.evaluate.requests import (
    parse_request as parse_request,
)
from contextune.tools import bundled_toolbox
from contextune.types import Tool, User

_T = TypeVar("_T")
USER = "me"
"""The id of the person in the store of a world."""


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

    def moment(self, now: datetime | None) -> datetime:
        """A moment in the person's zone if it names none; without one, `self.now`."""
        if now is None:
            return self.now
        return now if now.tzinfo else now.replace(tzinfo=self.zone)

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

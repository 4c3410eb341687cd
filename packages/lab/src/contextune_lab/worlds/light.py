"""Light worlds: a person with items, tools and requests in one file, without exports to import.

They train the reading model and its rankers. The format is that of worlds (docs/worlds.md), except that the
items are given as they are stored.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from contextune._internal.assets import lab_asset, read_decompressed
from contextune.errors import InvalidDataError
from contextune.store import Store
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, Tool, User
from contextune_lab.worlds.world import USER, WorldRequest, parse_request

FILE = "training/light_worlds.jsonl.gz"
_ABSENT: tuple[object, ...] = (None, "", [])
_ZONED = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)[^:].*")
"""A time of minutes with an offset, which items keep as wall clock."""


@dataclass(frozen=True)
class LightWorld:
    """One invented person with items, tools and requests."""

    name: str
    person: Mapping[str, Any]
    items: tuple[Item, ...]
    requests: tuple[WorldRequest, ...]
    servers: Mapping[str, Any] | None = None
    """The world's own tools as MCP lists them; None for the bundled toolbox."""

    @property
    def has_own_tools(self) -> bool:
        """Whether the world has a catalogue of its own."""
        return self.servers is not None

    @cached_property
    def tools(self) -> list[Tool]:
        """The tools of the person's assistant."""
        return bundled_toolbox() if self.servers is None else server_tools(self.servers)

    @property
    def user(self) -> User:
        """The person as the user of a store."""
        profile = {"name": self.person["name"], "email": list(self.person["emails"])}
        contacts = tuple(map(_contact, self.person["contacts"]))
        return User(USER, profile, {}, contacts, ZoneInfo(self.person["zone"]))

    def load(self, store: Store) -> None:
        """Put the person and the items into a store."""
        store.put_user(self.user)
        store.put_items(USER, list(self.items))


def server_tools(servers: Mapping[str, Any]) -> list[Tool]:
    """The tools of servers as MCP lists them."""
    return [
        Tool(tool["name"], tool.get("description", ""), app=server, parameters=tool.get("inputSchema") or {})
        for server, listed in servers.items()
        for tool in listed["tools"]
    ]


def read_light_worlds(file: Path | None = None, names: Sequence[str] = ()) -> list[LightWorld]:
    """The light worlds of a file, by default the bundled one; all of them, or those with the given names."""
    file = file or lab_asset(FILE, "the light worlds")
    try:
        rows = [json.loads(line) for line in read_decompressed(file).decode().splitlines()]
        worlds = {row["name"]: parse_light_world(row) for row in rows if not names or row["name"] in names}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidDataError(f"{file}: not a file of light worlds: {error}") from None
    if unknown := [name for name in names if name not in worlds]:
        raise InvalidDataError(f"{file}: no light world {unknown[0]!r}")
    return list(worlds.values())


def parse_light_world(row: Mapping[str, Any]) -> LightWorld:
    """A light world in the form of a line of the file."""
    defaults: dict[str, Any] = {"history": [], "also_right": [], "must_not": [], "needs": []}
    return LightWorld(
        row["name"],
        row["person"],
        tuple(map(_item, row["items"])),
        tuple(parse_request({**defaults, **request}) for request in row["requests"]),
        row.get("servers"),
    )


def _contact(person: Mapping[str, Any]) -> Contact:
    emails: list[str] = person.get("emails") or []
    phones: list[str] = person.get("phones") or []
    more: dict[str, Any] = {
        "nickname": ", ".join(person.get("nicknames") or []),
        "note": person.get("note"),
        "emails": emails[1:],
        "phones": phones[1:],
    }
    return Contact(
        person["name"],
        emails[0] if emails else None,
        phones[0] if phones else None,
        person.get("relation") or None,
        {name: value for name, value in more.items() if value},
    )


def _item(row: Mapping[str, Any]) -> Item:
    app = row["app"]
    fields = {name: value for name, value in row.items() if name not in ("id", "app")}
    if app == "Messages":
        fields = _message(row)
    if app == "Reminders" and "note" in fields:
        fields["notes"] = fields.pop("note")
    return Item(
        row["id"], app, {name: _wall_clock(value) for name, value in fields.items() if value not in _ABSENT}
    )


def _message(row: Mapping[str, Any]) -> dict[str, Any]:
    """A message with its group, or with the contact as recipient if the user sent it."""
    fields: dict[str, Any] = {name: row.get(name) for name in ("text", "sender", "date", "group")}
    contact = row.get("contact")
    if contact and contact != row.get("sender") and not row.get("group"):
        fields["recipients"] = [contact]
    return fields


def _wall_clock(value: Any) -> Any:
    match = _ZONED.fullmatch(value) if isinstance(value, str) and len(value) > 19 else None
    return match[1] if match else value

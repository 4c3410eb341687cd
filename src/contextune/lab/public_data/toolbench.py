"""ToolBench as OpenBMB publishes it: `data/` with its lists of requests, and the APIs in `toolenv`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.lab.public_data.collect import TESTED, UNKNOWN, UNNAMED, PublicBenchmark, ToolsetBuilder
from contextune.lab.public_data.files import (
    Entry,
    a_text,
    an_id,
    checked_entry,
    checked_list,
    checked_text,
    entries,
    whole,
)
from contextune.lab.public_data.rapidapi import ApiName, api_name, api_tool, described_api
from contextune.types import Tool

GROUPS = ("G1", "G2", "G3")
"""Requests for one tool, for tools of one category, and for tools of one collection."""
AMBIGUOUS = "more than one tool is called what it needs"
_TRAIN, _TEST = "train", "test"


@dataclass(frozen=True, slots=True)
class _QueryRecord:
    """A request as read; what its own list does not hold may turn up in another's."""

    id: str
    text: str
    tools: frozenset[int]
    missing: tuple[tuple[str, str], ...]
    split: str
    where: str


def read_toolbench(
    folder: Path, groups: Sequence[str] = GROUPS, *, whole_toolenv: bool = False
) -> PublicBenchmark:
    """The requests of `instruction/` and `test_instruction/`, and the APIs they list.

    What is in `test_instruction/`, or named in `test_query_ids/`, is the test part; the same request among
    the others is left out. Where there is `toolenv/tools/`, APIs get what their server says of itself, and
    with `whole_toolenv` all its APIs are in the catalogue. An API is what category, server and name say it
    is: described twice, it counts once, as first described.
    """
    tests = [
        file for group in groups for file in sorted((folder / "test_instruction").glob(f"{group}_*.json"))
    ]
    listed = [(group, folder / "instruction" / f"{group}_query.json") for group in groups]
    listed = [(group, file) for group, file in listed if file.exists()]
    if not tests and not listed:
        raise InvalidDataError(
            f"{folder}: has no instruction/G1_query.json and the like for {', '.join(groups)}, "
            "nor test_instruction: give the folder that ToolBench calls data"
        )
    reading = _ToolBenchReader()
    if (folder / "toolenv" / "tools").exists():
        reading.take_toolenv(folder, all_apis=whole_toolenv)
    elif whole_toolenv:
        raise InvalidDataError(f"{folder}: has no toolenv/tools to take all APIs from: unpack it there")
    for file in tests:
        reading.take(file, _TEST, frozenset())
    for group, file in listed:
        reading.take(file, _TRAIN, _tested_ids(folder / "test_query_ids", group))
    return reading.published()


def read_toolenv(folder: Path) -> tuple[Tool, ...]:
    """All APIs of `toolenv/tools/<category>/<tool>.json` under ToolBench's `data`, without any request."""
    reading = _ToolBenchReader()
    reading.take_toolenv(folder, all_apis=True)
    return reading.published().toolset.tools


class _ToolBenchReader:
    """ToolBench's files on their way into a toolset."""

    def __init__(self) -> None:
        self._into = ToolsetBuilder("toolbench")
        self._about: dict[tuple[str, str], str] = {}
        self._called: dict[tuple[str, str], set[int]] = {}
        self._asked: list[_QueryRecord] = []

    def take_toolenv(self, folder: Path, *, all_apis: bool) -> None:
        """What servers say of themselves, and all their APIs if these are wanted."""
        for file, server in _servers(folder):
            category, name = file.parent.name, checked_text(server, "tool_name", str(file))
            said = server.get("tool_description")
            about = self._about[category, name] = a_text(said, f"{file}: 'tool_description'") if said else ""
            if not all_apis:
                continue
            for number, given in enumerate(checked_list(server, "api_list", str(file)), 1):
                where = f"{file}: entry {number}"
                entry = checked_entry(given, where)
                api = ApiName(category, name, checked_text(entry, "name", where))
                self._put(api, api_tool(api, entry, "description", about, where))

    def take(self, file: Path, split: str, tested: frozenset[str]) -> None:
        """The requests of one file; those with a tested id are of the test part."""
        for number, (where, entry) in enumerate(entries(file)):
            own: dict[tuple[str, str], set[int]] = {}
            for given in checked_list(entry, "api_list", where):
                api_entry = checked_entry(given, f"{where}: one of 'api_list'")
                name = api_name(api_entry, where)
                own.setdefault((name.server, name.name), set()).add(self._listed(name, api_entry, where))
            wanted = [_label(label, where) for label in checked_list(entry, "relevant APIs", where)]
            # where a request has no id, ToolBench's own scripts count from nought
            given_id = an_id(entry, "query_id", where) if "query_id" in entry else str(number)
            self._asked.append(
                _QueryRecord(
                    f"{file.stem}/{given_id}",
                    checked_text(entry, "query", where),
                    frozenset(place for label in wanted for place in own.get(label, ())),
                    tuple(label for label in wanted if label not in own),
                    _TEST if given_id in tested else split,
                    where,
                )
            )

    def published(self) -> PublicBenchmark:
        """The toolset: what is tested first, then what is not among it."""
        tested: set[str] = set()
        for asked in self._asked:
            if asked.split == _TEST and asked.text not in tested:
                self._ask(asked)
                tested.add(asked.text)
            elif asked.split == _TEST:
                self._into.skip(asked.id, TESTED)
        for asked in self._asked:
            if asked.split != _TEST and asked.text not in tested:
                self._ask(asked)
            elif asked.split != _TEST:
                self._into.skip(asked.id, TESTED)
        return self._into.published()

    def _listed(self, name: ApiName, entry: Entry, where: str) -> int:
        place = self._into.place(name)
        if place is not None:
            return place
        about = self._about.get((name.category, name.server), "")
        return self._put(name, described_api(entry, about, where))

    def _put(self, name: ApiName, tool: Tool) -> int:
        place = self._into.put(name, lambda: tool)
        self._called.setdefault((name.server, name.name), set()).add(place)
        return place

    def _ask(self, asked: _QueryRecord) -> None:
        tools = set(asked.tools)
        for label in asked.missing:
            found = self._called.get(label, set())
            if len(found) != 1:
                return self._into.skip(asked.id, AMBIGUOUS if found else UNKNOWN, "/".join(label))
            tools |= found
        if not tools:
            return self._into.skip(asked.id, UNNAMED)
        return self._into.ask(asked.id, asked.text, tools, asked.split, asked.where)


def _servers(folder: Path) -> Iterator[tuple[Path, Entry]]:
    files = sorted((folder / "toolenv" / "tools").glob("*/*.json"))
    if not files:
        raise InvalidDataError(
            f"{folder}: toolenv/tools has no <category>/<tool>.json: unpack ToolBench's data"
        )
    return ((file, whole(file)) for file in files)


def _label(given: object, where: str) -> tuple[str, str]:
    match given:
        case [str(server), str(name)]:
            return server, name
        case _:
            raise InvalidDataError(
                f"{where}: {given!r} under 'relevant APIs' does not name a tool and an API of it"
            )


def _tested_ids(folder: Path, group: str) -> frozenset[str]:
    """These files are objects with the ids as names."""
    return frozenset(name for file in sorted(folder.glob(f"{group}_*.json")) for name in whole(file))

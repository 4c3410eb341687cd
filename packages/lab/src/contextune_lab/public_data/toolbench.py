"""ToolBench in OpenBMB's published format: requests in `data/`, APIs in `toolenv`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.types import Tool
from contextune_lab.public_data.collect import (
    ALSO_IN_TEST,
    NO_TOOL,
    UNKNOWN_TOOL,
    PublicBenchmark,
    ToolsetBuilder,
)
from contextune_lab.public_data.files import (
    Entry,
    get_id,
    get_text,
    read_json_array,
    read_object,
    require_list,
    require_object,
    require_text,
)
from contextune_lab.public_data.rapidapi import ApiName, api_name, api_tool, listed_api

GROUPS = ("G1", "G2", "G3")
"""Requests for one tool, for tools of one category, for tools of one collection."""
AMBIGUOUS = "ambiguous tool name"
_TRAIN, _TEST = "train", "test"


@dataclass(frozen=True, slots=True)
class _RawRequest:
    """A request as read; tools missing from its own list may be in another request's."""

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

    Requests in `test_instruction/` or named in `test_query_ids/` are the test split; duplicates of them in
    training are skipped. With `toolenv/tools/`, APIs get the description of their server; with
    `whole_toolenv` all its APIs are in the catalogue. An API is identified by category, server and name;
    the first description counts.
    """
    tests = [
        file for group in groups for file in sorted((folder / "test_instruction").glob(f"{group}_*.json"))
    ]
    query_files = [(group, folder / "instruction" / f"{group}_query.json") for group in groups]
    query_files = [(group, file) for group, file in query_files if file.exists()]
    if not tests and not query_files:
        raise InvalidDataError(
            f"{folder}: has no instruction/G1_query.json and the like for {', '.join(groups)}, "
            "nor test_instruction: give the folder that ToolBench calls data"
        )
    reader = _ToolBenchReader()
    if (folder / "toolenv" / "tools").exists():
        reader.read_toolenv(folder, all_apis=whole_toolenv)
    elif whole_toolenv:
        raise InvalidDataError(f"{folder}: has no toolenv/tools to take all APIs from: unpack it there")
    for file in tests:
        reader.read_requests(file, _TEST, frozenset())
    for group, file in query_files:
        reader.read_requests(file, _TRAIN, _tested_ids(folder / "test_query_ids", group))
    return reader.build()


def read_toolenv(folder: Path) -> tuple[Tool, ...]:
    """All APIs of `toolenv/tools/<category>/<tool>.json` under ToolBench's `data`, without requests."""
    reader = _ToolBenchReader()
    reader.read_toolenv(folder, all_apis=True)
    return reader.build().toolset.tools


class _ToolBenchReader:
    """Reads ToolBench's files into a toolset."""

    def __init__(self) -> None:
        self._builder = ToolsetBuilder("toolbench")
        self._descriptions: dict[tuple[str, str], str] = {}
        self._places_by_name: dict[tuple[str, str], set[int]] = {}
        self._requests: list[_RawRequest] = []

    def read_toolenv(self, folder: Path, *, all_apis: bool) -> None:
        """Read server descriptions, and all their APIs if `all_apis`."""
        for file, server in _servers(folder):
            category, name = file.parent.name, get_text(server, "tool_name", str(file))
            description = server.get("tool_description")
            description_of_server = self._descriptions[category, name] = (
                require_text(description, f"{file}: 'tool_description'") if description else ""
            )
            if not all_apis:
                continue
            for number, value in enumerate(require_list(server, "api_list", str(file)), 1):
                where = f"{file}: entry {number}"
                entry = require_object(value, where)
                api = ApiName(category, name, get_text(entry, "name", where))
                self._put(api, api_tool(api, entry, "description", description_of_server, where))

    def read_requests(self, file: Path, split: str, tested: frozenset[str]) -> None:
        """Read the requests of one file; those with a tested id belong to the test split."""
        for number, (where, entry) in enumerate(read_json_array(file)):
            listed_apis: dict[tuple[str, str], set[int]] = {}
            for value in require_list(entry, "api_list", where):
                api_entry = require_object(value, f"{where}: one of 'api_list'")
                name = api_name(api_entry, where)
                listed_apis.setdefault((name.server, name.name), set()).add(
                    self._listed(name, api_entry, where)
                )
            labels = [_label(label, where) for label in require_list(entry, "relevant APIs", where)]
            # without query_id, ToolBench's scripts count from 0
            request_id = get_id(entry, "query_id", where) if "query_id" in entry else str(number)
            self._requests.append(
                _RawRequest(
                    f"{file.stem}/{request_id}",
                    get_text(entry, "query", where),
                    frozenset(place for label in labels for place in listed_apis.get(label, ())),
                    tuple(label for label in labels if label not in listed_apis),
                    _TEST if request_id in tested else split,
                    where,
                )
            )

    def build(self) -> PublicBenchmark:
        """The benchmark: test requests first, then training requests that do not duplicate them."""
        tested: set[str] = set()
        for request in self._requests:
            if request.split == _TEST and request.text not in tested:
                self._add_request(request)
                tested.add(request.text)
            elif request.split == _TEST:
                self._builder.skip(request.id, ALSO_IN_TEST)
        for request in self._requests:
            if request.split != _TEST and request.text not in tested:
                self._add_request(request)
            elif request.split != _TEST:
                self._builder.skip(request.id, ALSO_IN_TEST)
        return self._builder.build()

    def _listed(self, name: ApiName, entry: Entry, where: str) -> int:
        place = self._builder.place_of(name)
        if place is not None:
            return place
        description_of_server = self._descriptions.get((name.category, name.server), "")
        return self._put(name, listed_api(entry, description_of_server, where))

    def _put(self, name: ApiName, tool: Tool) -> int:
        place = self._builder.add_tool(name, lambda: tool)
        self._places_by_name.setdefault((name.server, name.name), set()).add(place)
        return place

    def _add_request(self, request: _RawRequest) -> None:
        tools = set(request.tools)
        for label in request.missing:
            places = self._places_by_name.get(label, set())
            if len(places) != 1:
                return self._builder.skip(request.id, AMBIGUOUS if places else UNKNOWN_TOOL, "/".join(label))
            tools |= places
        if not tools:
            return self._builder.skip(request.id, NO_TOOL)
        return self._builder.add_request(request.id, request.text, tools, request.split, request.where)


def _servers(folder: Path) -> Iterator[tuple[Path, Entry]]:
    files = sorted((folder / "toolenv" / "tools").glob("*/*.json"))
    if not files:
        raise InvalidDataError(
            f"{folder}: toolenv/tools has no <category>/<tool>.json: unpack ToolBench's data"
        )
    return ((file, read_object(file)) for file in files)


def _label(value: object, where: str) -> tuple[str, str]:
    match value:
        case [str(server), str(name)]:
            return server, name
        case _:
            raise InvalidDataError(
                f"{where}: {value!r} under 'relevant APIs' does not name a tool and an API of it"
            )


def _tested_ids(folder: Path, group: str) -> frozenset[str]:
    """Ids of tested requests: the keys of these JSON objects."""
    return frozenset(name for file in sorted(folder.glob(f"{group}_*.json")) for name in read_object(file))

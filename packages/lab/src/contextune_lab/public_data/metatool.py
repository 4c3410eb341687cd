"""MetaTool in its published format (`dataset/`).

Its tools are plugins; plugins with the same function are merged under a new name, such as FinanceTool.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.types import Tool
from contextune_lab.public_data.collect import UNKNOWN_TOOL, PublicBenchmark, ToolsetBuilder
from contextune_lab.public_data.files import (
    Entry,
    get_text,
    read_json_array,
    read_object,
    read_table,
    require_list,
    require_text,
)

SINGLE, MULTI = "single", "multi"
_LIST = re.compile(r"\[List of Tools with Names and Descriptions Start\](.*?)\[List of Tools", re.DOTALL)
_LISTED = re.compile(r"^\s*\d+\. tool name: (.+?), tool description: ", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Shortlists:
    """Requests with a shortlist of tools each; `offered` maps request ids to tool places.

    If the right tool is not in the shortlist, no tool is relevant: the right answer is that none fits.
    """

    benchmark: PublicBenchmark
    offered: Mapping[str, tuple[int, ...]]


def read_metatool(folder: Path) -> PublicBenchmark:
    """All tools, and the requests for one of them (split "single") or two ("multi")."""
    builder = _with_tools(folder)
    _read_single(folder, builder)
    for number, (where, entry) in enumerate(
        read_json_array(folder / "data" / "multi_tool_query_golden.json"), 1
    ):
        _add_request(builder, f"multi/{number}", entry, MULTI, where)
    return builder.build()


def read_metatool_scenario(folder: Path, scenario: str) -> PublicBenchmark:
    """The tools of a scenario in `dataset/scenario/`, such as "Students", and the requests for one of them.

    Requests for other tools do not belong to the scenario and are not counted as skipped.
    """
    file = folder / "scenario" / f"{scenario}.json"
    if not file.exists():
        available = ", ".join(sorted(value.stem for value in file.parent.glob("*.json")))
        raise InvalidDataError(f"{folder}: no scenario {scenario!r}, available: {available or 'none'}")
    descriptions = _descriptions(folder)
    builder = ToolsetBuilder(f"metatool {scenario}")
    for tool_name in require_list(read_object(file), "Tools", str(file)):
        name = require_text(tool_name, f"{file}: one of 'Tools'")
        if name not in descriptions:
            raise InvalidDataError(f"{file}: the tool {name!r} has no description")
        _put(builder, name, descriptions[name])
    _read_single(folder, builder, elsewhere=frozenset(descriptions))
    return builder.build()


def read_metatool_awareness(folder: Path) -> PublicBenchmark:
    """Task 1: requests that need a tool (split "positive") or none ("negative")."""
    builder = _with_tools(folder)
    file = folder / "tmp_dataset" / "Task1.json"
    for number, (where, entry) in enumerate(read_json_array(file), 1):
        match get_text(entry, "label", where):
            case "positive":
                _add_request(builder, f"task1/{number}", entry, "positive", where)
            case "negative":
                builder.add_request(f"task1/{number}", get_text(entry, "query", where), (), "negative", where)
            case other:
                raise InvalidDataError(f"{where}: 'label' is {other!r}, neither 'positive' nor 'negative'")
    return builder.build()


def read_metatool_shortlists(folder: Path, subtask: int = 3) -> Shortlists:
    """Task 2: similar tools (1), scenarios (2), shortlists without the right tool (3), two tools (4)."""
    builder = _with_tools(folder)
    offered: dict[str, tuple[int, ...]] = {}
    file = folder / "tmp_dataset" / f"Task2-Subtask{subtask}.json"
    for number, (where, entry) in enumerate(read_json_array(file), 1):
        name = f"subtask{subtask}/{number}"
        tool_list = _LIST.search(get_text(entry, "action_prompt", where))
        names: list[str] = _LISTED.findall(tool_list[1]) if tool_list else []
        if not names:
            raise InvalidDataError(f"{where}: 'action_prompt' contains no list of tools")
        places = _places(builder, name, [*names, *_right_tools(entry, where)])
        if places is None:
            continue
        shortlist = places[: len(names)]
        relevant = set(places[len(names) :]) & set(shortlist)
        builder.add_request(name, get_text(entry, "query", where), relevant, f"subtask{subtask}", where)
        if builder.has_request(name):
            offered[name] = shortlist
    return Shortlists(builder.build(), offered)


def _read_single(folder: Path, builder: ToolsetBuilder, elsewhere: frozenset[str] = frozenset()) -> None:
    file = folder / "data" / "all_clean_data.csv"
    for number, (where, (text, tool)) in enumerate(read_table(file, "Query", "Tool", delimiter=","), 1):
        if builder.place_of(tool) is None and tool in elsewhere:
            continue
        places = _places(builder, f"single/{number}", [tool])
        if places is not None:
            builder.add_request(f"single/{number}", text, places, SINGLE, where)


def _add_request(builder: ToolsetBuilder, name: str, entry: Entry, split: str, where: str) -> None:
    places = _places(builder, name, _right_tools(entry, where))
    if places is not None:
        builder.add_request(name, get_text(entry, "query", where), places, split, where)


def _right_tools(entry: Entry, where: str) -> list[str]:
    """The right tools."""
    if isinstance(entry.get("tool"), list):
        return [
            require_text(value, f"{where}: one of 'tool'") for value in require_list(entry, "tool", where)
        ]
    return [get_text(entry, "tool", where)]


def _places(builder: ToolsetBuilder, name: str, tools: Iterable[str]) -> tuple[int, ...] | None:
    """Places of the tools; a request with an unknown tool is skipped."""
    places: list[int] = []
    for tool in tools:
        place = builder.place_of(tool)
        if place is None:
            builder.skip(name, UNKNOWN_TOOL, tool)
            return None
        places.append(place)
    return tuple(places)


def _with_tools(folder: Path) -> ToolsetBuilder:
    builder = ToolsetBuilder("metatool")
    for name, description in _descriptions(folder).items():
        _put(builder, name, description)
    return builder


def _put(builder: ToolsetBuilder, name: str, description: str) -> None:
    builder.add_tool(name, lambda: Tool(name, description))


def _descriptions(folder: Path) -> dict[str, str]:
    """Descriptions by name; for merged tools `big_tool_des.json` takes precedence, as for the authors."""
    places: dict[str, str] = {}
    for file in (folder / "plugin_des.json", folder / "big_tool_des.json"):
        if file.name == "plugin_des.json" or file.exists():
            places |= {
                name: require_text(text, f"{file}: {name!r}").strip()
                for name, text in read_object(file).items()
            }
    return places

"""MetaTool as its authors publish it, all under `dataset/`.

Its tools are plugins, those that do the same merged into one under a name of its own, such as FinanceTool.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from contextune.errors import InvalidDataError
from contextune.lab.public_data.collect import UNKNOWN, PublicBenchmark, ToolsetBuilder
from contextune.lab.public_data.files import (
    Entry,
    a_text,
    checked_list,
    checked_text,
    entries,
    table,
    whole,
)
from contextune.types import Tool

SINGLE, MULTI = "single", "multi"
_LIST = re.compile(r"\[List of Tools with Names and Descriptions Start\](.*?)\[List of Tools", re.DOTALL)
_LISTED = re.compile(r"^\s*\d+\. tool name: (.+?), tool description: ", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Shortlists:
    """Requests that each come with a few tools to choose from; `offered` has them by the id of the request.

    Where the right tool is not among them, no tool is relevant: the right answer is that none fits.
    """

    published: PublicBenchmark
    offered: Mapping[str, tuple[int, ...]]


def read_metatool(folder: Path) -> PublicBenchmark:
    """All tools, and the requests for one of them (the part "single") or for two ("multi")."""
    into = _with_tools(folder)
    _take_single(folder, into)
    for number, (where, entry) in enumerate(entries(folder / "data" / "multi_tool_query_golden.json"), 1):
        _ask(into, f"multi/{number}", entry, MULTI, where)
    return into.published()


def read_metatool_scenario(folder: Path, scenario: str) -> PublicBenchmark:
    """The tools of one of `dataset/scenario/`, such as "Students", and the requests for one of them.

    A request for any other tool is not one of the scenario, and is not counted as left out.
    """
    file = folder / "scenario" / f"{scenario}.json"
    if not file.exists():
        there = ", ".join(sorted(one.stem for one in file.parent.glob("*.json")))
        raise InvalidDataError(f"{folder}: has no scenario {scenario!r}, only: {there or 'none'}")
    described = _descriptions(folder)
    into = ToolsetBuilder(f"metatool {scenario}")
    for given in checked_list(whole(file), "Tools", str(file)):
        name = a_text(given, f"{file}: one of 'Tools'")
        if name not in described:
            raise InvalidDataError(
                f"{file}: the tool {name!r} is described neither in plugin_des.json nor elsewhere"
            )
        _put(into, name, described[name])
    _take_single(folder, into, elsewhere=frozenset(described))
    return into.published()


def read_metatool_awareness(folder: Path) -> PublicBenchmark:
    """Task 1: requests that need a tool (the part "positive"), and requests that need none ("negative")."""
    into = _with_tools(folder)
    file = folder / "tmp_dataset" / "Task1.json"
    for number, (where, entry) in enumerate(entries(file), 1):
        match checked_text(entry, "label", where):
            case "positive":
                _ask(into, f"task1/{number}", entry, "positive", where)
            case "negative":
                into.ask(f"task1/{number}", checked_text(entry, "query", where), (), "negative", where)
            case other:
                raise InvalidDataError(f"{where}: 'label' is {other!r}, neither 'positive' nor 'negative'")
    return into.published()


def read_metatool_shortlists(folder: Path, subtask: int = 3) -> Shortlists:
    """Task 2: similar tools (1), scenarios (2), lists without the right tool (3), two tools (4)."""
    into = _with_tools(folder)
    offered: dict[str, tuple[int, ...]] = {}
    file = folder / "tmp_dataset" / f"Task2-Subtask{subtask}.json"
    for number, (where, entry) in enumerate(entries(file), 1):
        name = f"subtask{subtask}/{number}"
        listed = _LIST.search(checked_text(entry, "action_prompt", where))
        names: list[str] = _LISTED.findall(listed[1]) if listed else []
        if not names:
            raise InvalidDataError(f"{where}: 'action_prompt' has no list of tools")
        places = _places(into, name, [*names, *_right(entry, where)])
        if places is None:
            continue
        choice = places[: len(names)]
        right = set(places[len(names) :]) & set(choice)
        into.ask(name, checked_text(entry, "query", where), right, f"subtask{subtask}", where)
        if into.asked(name):
            offered[name] = choice
    return Shortlists(into.published(), offered)


def _take_single(folder: Path, into: ToolsetBuilder, elsewhere: frozenset[str] = frozenset()) -> None:
    file = folder / "data" / "all_clean_data.csv"
    for number, (where, (text, tool)) in enumerate(table(file, "Query", "Tool", delimiter=","), 1):
        if into.place(tool) is None and tool in elsewhere:
            continue
        places = _places(into, f"single/{number}", [tool])
        if places is not None:
            into.ask(f"single/{number}", text, places, SINGLE, where)


def _ask(into: ToolsetBuilder, name: str, entry: Entry, split: str, where: str) -> None:
    places = _places(into, name, _right(entry, where))
    if places is not None:
        into.ask(name, checked_text(entry, "query", where), places, split, where)


def _right(entry: Entry, where: str) -> list[str]:
    """The right tool, or all of them."""
    if isinstance(entry.get("tool"), list):
        return [a_text(one, f"{where}: one of 'tool'") for one in checked_list(entry, "tool", where)]
    return [checked_text(entry, "tool", where)]


def _places(into: ToolsetBuilder, name: str, tools: Iterable[str]) -> tuple[int, ...] | None:
    """Where these tools are; a request with one that is not there is left out."""
    found: list[int] = []
    for tool in tools:
        place = into.place(tool)
        if place is None:
            into.skip(name, UNKNOWN, tool)
            return None
        found.append(place)
    return tuple(found)


def _with_tools(folder: Path) -> ToolsetBuilder:
    into = ToolsetBuilder("metatool")
    for name, description in _descriptions(folder).items():
        _put(into, name, description)
    return into


def _put(into: ToolsetBuilder, name: str, description: str) -> None:
    into.put(name, lambda: Tool(name, description))


def _descriptions(folder: Path) -> dict[str, str]:
    """By name; of merged tools, what `big_tool_des.json` says counts, as it does for the authors."""
    found: dict[str, str] = {}
    for file in (folder / "plugin_des.json", folder / "big_tool_des.json"):
        if file.name == "plugin_des.json" or file.exists():
            found |= {name: a_text(text, f"{file}: {name!r}").strip() for name, text in whole(file).items()}
    return found

"""MetaTool reader."""

import re
from pathlib import Path

import pytest
from tests.lab.public_data.published_files import requests_by_id, skipped_by_id, table, write

from contextune.errors import InvalidDataError
from contextune_lab.public_data import (
    read_metatool,
    read_metatool_awareness,
    read_metatool_scenario,
    read_metatool_shortlists,
)
from contextune_lab.public_data.collect import NO_TEXT, UNKNOWN_TOOL


def prompt(*tools: str) -> str:
    listed = "".join(
        f"{n}. tool name: {name}, tool description: ['Does it.']\n" for n, name in enumerate(tools, 1)
    )
    name = "List of Tools with Names and Descriptions"
    return f'"You help.\n{name}:\n[{name} Start]\n{listed}\n[{name} End]"\nquery: "1. tool name: x" tool: y'


@pytest.fixture
def metatool(tmp_path: Path) -> Path:
    write(
        tmp_path / "plugin_des.json",
        {"dice": "Rolls dice. ", "PDF&URLTool": "Old words", "chess": "Plays chess"},
    )
    write(tmp_path / "big_tool_des.json", {"PDF&URLTool": "Reads PDF files"})
    table(
        tmp_path / "data" / "all_clean_data.csv",
        [
            ("Query", "Tool"),
            ('Roll, "now"', "dice"),
            ("Read it", "PDF&URLTool"),
            ("Gone", "lost"),
            ("", "dice"),
        ],
        delimiter=",",
    )
    multi = [
        {"query": "Roll and read", "tool": ["dice", "PDF&URLTool"]},
        {"query": "x", "tool": ["dice", "lost"]},
    ]
    write(tmp_path / "data" / "multi_tool_query_golden.json", multi)
    write(tmp_path / "scenario" / "Students.json", {"Tools": ["PDF&URLTool", "chess"], "ref": []})
    tasks = tmp_path / "tmp_dataset"
    write(
        tasks / "Task1.json",
        [
            {"thought_prompt": "…", "label": "positive", "tool": "dice", "query": "Roll one"},
            {"thought_prompt": "…", "label": "negative", "query": "Why is the sky blue?"},
        ],
    )
    write(
        tasks / "Task2-Subtask3.json",
        [
            {
                "action_prompt": prompt("chess", "PDF&URLTool"),
                "tool": "dice",
                "query": "Roll two",
                "index": 9,
            },
            {"action_prompt": prompt("chess", "lost"), "tool": "dice", "query": "Roll three", "index": 9},
        ],
    )
    both = {
        "action_prompt": prompt("chess", "dice", "PDF&URLTool"),
        "tool": ["dice", "chess"],
        "query": "Two",
    }
    write(tasks / "Task2-Subtask4.json", [both])
    return tmp_path


def test_single_and_multi_tool_requests_are_read(metatool: Path) -> None:
    published = read_metatool(metatool)
    assert [(tool.id, tool.description) for tool in published.toolset.tools] == [
        ("dice", "Rolls dice."),
        ("PDF&URLTool", "Reads PDF files"),
        ("chess", "Plays chess"),
    ]
    assert requests_by_id(published) == {
        "single/1": ('Roll, "now"', "single", {"dice"}),
        "single/2": ("Read it", "single", {"PDF&URLTool"}),
        "multi/1": ("Roll and read", "multi", {"dice", "PDF&URLTool"}),
    }
    assert skipped_by_id(published) == {
        "single/3": (UNKNOWN_TOOL, "lost"),
        "single/4": (NO_TEXT, ""),
        "multi/2": (UNKNOWN_TOOL, "lost"),
    }


def test_scenario_has_only_its_own_tools(metatool: Path) -> None:
    published = read_metatool_scenario(metatool, "Students")
    assert [tool.id for tool in published.toolset.tools] == ["PDF&URLTool", "chess"]
    assert requests_by_id(published) == {"single/2": ("Read it", "single", {"PDF&URLTool"})}
    assert skipped_by_id(published) == {"single/3": (UNKNOWN_TOOL, "lost")}
    with pytest.raises(InvalidDataError, match="no scenario 'Elders', available: Students"):
        read_metatool_scenario(metatool, "Elders")
    write(metatool / "scenario" / "Students.json", {"Tools": ["lost"]})
    with pytest.raises(InvalidDataError, match=r"Students\.json: the tool 'lost' has no description"):
        read_metatool_scenario(metatool, "Students")


def test_awareness_task_has_requests_without_tool(metatool: Path) -> None:
    assert requests_by_id(read_metatool_awareness(metatool)) == {
        "task1/1": ("Roll one", "positive", {"dice"}),
        "task1/2": ("Why is the sky blue?", "negative", set()),
    }
    write(metatool / "tmp_dataset" / "Task1.json", [{"label": "maybe", "query": "x"}])
    with pytest.raises(InvalidDataError, match=r"Task1\.json: entry 1: 'label' is 'maybe'"):
        read_metatool_awareness(metatool)


def test_shortlist_without_right_tool_has_no_relevant_tool(metatool: Path) -> None:
    lists = read_metatool_shortlists(metatool)
    assert requests_by_id(lists.benchmark) == {"subtask3/1": ("Roll two", "subtask3", set())}
    assert lists.offered == {"subtask3/1": (2, 1)}
    assert skipped_by_id(lists.benchmark) == {"subtask3/2": (UNKNOWN_TOOL, "lost")}

    both = read_metatool_shortlists(metatool, subtask=4)
    assert requests_by_id(both.benchmark) == {"subtask4/1": ("Two", "subtask4", {"dice", "chess"})}
    assert both.offered == {"subtask4/1": (2, 0, 1)}

    write(
        metatool / "tmp_dataset" / "Task2-Subtask3.json", [{"action_prompt": "…", "tool": "a", "query": "x"}]
    )
    with pytest.raises(InvalidDataError, match="entry 1: 'action_prompt' contains no list of tools"):
        read_metatool_shortlists(metatool)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("plugin_des.json", '{"dice": 1}', "'dice' is 1, not a text"),
        ("plugin_des.json", "[]", "is [], not an object"),
        (
            "data/all_clean_data.csv",
            "Tool,Query\n",
            "line 1 is ['Tool', 'Query'], not the header Query, Tool",
        ),
        ("data/multi_tool_query_golden.json", '[{"query": "x", "tool": [1]}]', "entry 1: one of 'tool' is 1"),
    ],
)
def test_malformed_file_is_reported(metatool: Path, name: str, text: str, fault: str) -> None:
    file = write(metatool / name, text)
    with pytest.raises(InvalidDataError, match=f"{re.escape(str(file))}.*{re.escape(fault)}"):
        read_metatool(metatool)

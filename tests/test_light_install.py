"""The dependencies of the core are enough for tool search and context; the rest names its extra."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.paths import ROOT

CORE = {"numpy", "onnxruntime", "pyyaml", "tzdata"}
OPTIONAL = (
    *("click", "dateutil", "docstring_parser", "icalendar", "jsonschema_rs", "lightgbm", "platformdirs"),
    *("pydantic", "pydantic_core", "recurring_ical_events", "rich", "scipy", "selectolax", "tokenizers"),
    *("tomlkit", "typer", "httpx", "huggingface_hub", "mcp", "onnx", "openai", "torch", "usearch"),
)
BLOCKED = f"""
import sys

class WithoutOptional:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            return None
        return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(WithoutOptional, sys.meta_path)
"""


def run_blocked(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a new process in which no optional package can be imported."""
    command = [sys.executable, "-c", BLOCKED + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_core_has_few_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {requirement.partition(">=")[0] for requirement in project["dependencies"]}
    assert names == CORE
    assert project["scripts"]["contextune"] == "contextune.__main__:main"


def test_tool_search_and_context_need_no_optional_package(tmp_path: Path) -> None:
    code = """
from datetime import datetime
import contextune
from contextune import Item, Request, SQLiteStore, ToolRetriever, Tuner, User, bundled_toolbox, load_tools

schema = {
    "name": "book_table",
    "description": "Book a table at a restaurant.",
    "parameters": {"type": "object", "properties": {"guests": {"type": "integer", "minimum": 1}}},
}
tools = [*bundled_toolbox(), *load_tools([schema]).tools]
assert ToolRetriever(tools).search("reserve a table for four")[0].tool.name == "book_table"

with SQLiteStore("me.db") as store:
    store.put_user(User("me"))
    event = Item.event(name="Glaze night", start="2024-05-16T19:00", location="Barro Studio")
    store.put_items("me", [event, Item.song(name="Barco Negro", artist="X", played="2024-05-15T06:20")])
    tuner = Tuner(store, tools=tools)
    request = Request("When does the glaze night begin?", user="me", time=datetime(2024, 5, 16, 17))
    hit = tuner.context(request)[0]
    assert hit.item == event
    assert hit.reasons
    assert tuner.tools(request).hits[0].tool.app == "Calendar"
"""
    done = run_blocked(code, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("Tuner.from_files(['calendar.ics'])", "calendar"),
        ("Tuner.from_files(['note.html'])", "html"),
        ("load_tools(print)", "functions"),
        ("FunctionRunner({'look': print})", "functions"),
        ("tuner.answer(request)", "plan"),
        ("Ranker.fit([group], ['a'])", "train"),
        ("LogisticRegression.fit(np.eye(2), np.array([True, False]), ['a', 'b'])", "train"),
    ],
)
def test_missing_package_names_its_extra(tmp_path: Path, code: str, extra: str) -> None:
    (tmp_path / "calendar.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20240516T190000\nSUMMARY:x\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    (tmp_path / "note.html").write_text("<p>Talc 8</p>")
    setup = """
import numpy as np
from contextune import Request, SQLiteStore, Tuner, User, Item, bundled_toolbox, load_tools
from contextune.plan import FunctionRunner
from contextune.rank import CandidateGroup, LogisticRegression, Ranker

group = CandidateGroup(np.zeros((2, 1), np.float32), np.array([0, 1]))
store = SQLiteStore("me.db")
store.put_user(User("me"))
store.put_items("me", [Item.event(name="Glaze night", start="2024-05-16T19:00")])
tuner = Tuner(store, tools=bundled_toolbox())
request = Request("When does the glaze night begin?", user="me")
"""
    done = run_blocked(setup + code, tmp_path)
    assert f"pip install 'contextune[{extra}]'" in done.stderr


def test_command_line_names_its_extra(tmp_path: Path) -> None:
    done = run_blocked("from contextune.__main__ import main; main()", tmp_path)
    assert done.returncode == 1
    assert done.stderr == 'error: the command line is not installed: pip install "contextune[cli]"\n'

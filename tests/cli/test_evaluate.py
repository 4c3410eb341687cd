"""`contextune eval tools`, driven as a CI job would."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from contextune.embed import default_embedder
from contextune.store import text_digest
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.tool_text import tool_text
from contextune.types import Tool

PROGRAM = Path(sys.executable).with_name("contextune")
TOOLS: tuple[dict[str, Any], ...] = (
    {"name": "send_mail", "description": "Sends a letter to somebody", "app": "post"},
    {"name": "read_mail", "description": "Opens a letter and reads it out", "app": "post"},
    {"name": "roast", "description": "Roasts potatoes and onions in the oven", "app": "kitchen"},
    {"name": "boil", "description": "Boils eggs in water", "app": "kitchen"},
    {"name": "send_mail", "description": "Sends a letter to somebody", "app": "mirror"},
)
QUERIES: tuple[dict[str, Any], ...] = (
    {"query": "put the potatoes [bold]and[/] onions in the oven", "relevant": ["roast"]},
    {"query": "open Anna's letter and read it out", "tool": "read_mail", "id": "anna"},
    {"query": "potatoes and onions", "relevant": ["boil"]},
    {"query": "what is the capital of Peru", "relevant": []},
)


def write(file: Path, *lines: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, "eval", "tools", *words], cwd=folder, capture_output=True, text=True, env={"COLUMNS": "160"}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "tools.jsonl", *TOOLS)
    write(tmp_path / "queries.jsonl", *QUERIES)
    return tmp_path


GIVEN = ("--catalog", "tools.jsonl", "--queries", "queries.jsonl", "--method", "bm25", "-k", "1")


def test_a_gate_that_holds(folder: Path) -> None:
    files = ("--json", "out/report.json", "--junit", "out/junit.xml")
    done = run(folder, *GIVEN, "--fail-under", "recall@1=0.6", "--fail-under", "mrr=0.5", *files, "--suggest")
    assert done.returncode == 0, done.stderr
    assert "5 tools on 3 servers" in done.stdout
    overall = next(line for line in done.stdout.splitlines() if "all queries" in line)
    assert [cell.split()[0] for cell in overall.split("│")[2:4]] == ["3", "66.7"]
    assert "ms a query" in done.stdout
    assert "Not in the top 1: 1 query" in done.stdout
    wanted = next(line for line in done.stdout.splitlines() if "kitchen/boil" in line)
    assert "no word in common" in wanted
    assert "post/send_mail | mirror/send_mail  the same tool twice" in done.stdout
    assert "✓ recall@1 is 0.6667" in done.stdout
    report = json.loads((folder / "out/report.json").read_text(encoding="utf-8"))
    assert report["config"]["k"] == 1
    assert report["queries"][1]["found"][0]["tool"] == "post/read_mail"
    assert [bar["holds"] for bar in report["bars"]] == [True, True]
    cases = list(Xml.parse(folder / "out/junit.xml").getroot().iter("testcase"))
    assert len(cases) == len(QUERIES) + 2
    assert sum(case.find("failure") is not None for case in cases) == 1


def test_a_gate_that_does_not(folder: Path) -> None:
    done = run(folder, *GIVEN, "--fail-under", "recall@1=0.9", "--misses", "0")
    assert done.returncode == 1
    assert "below the bar: recall@1 is 0.6667" in done.stderr
    assert "0.23 below the bar of 0.9" in done.stderr
    assert "kitchen/boil" not in done.stdout


def test_tools_alone_can_be_looked_over(folder: Path) -> None:
    done = run(folder, "--catalog", "tools.jsonl", "--suggest", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert [found["kind"] for found in report["confusable"]] == ["same"]


def test_a_shelf_is_measured_and_keeps_the_vectors(folder: Path) -> None:
    tools = [Tool(**tool) for tool in TOOLS]
    with CatalogFile(folder / "tools.db") as shelf:
        shelf.put(tools, "test")
    done = run(folder, "--shelf", "tools.db", *GIVEN[2:])
    assert done.returncode == 0, done.stderr
    assert "5 tools on 3 servers" in done.stdout
    digests = [text_digest(tool_text(tool)) for tool in tools]
    with CatalogFile(folder / "tools.db") as shelf:
        assert len(shelf.vectors(default_embedder().name, digests)) == len(tools)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((*GIVEN, "--fail-under", "precision@1=0.9"), "there are: recall@K"),
        ((*GIVEN, "--method", "magic"), "no method 'magic'"),
        (("--catalog", "tools.jsonl"), "--queries is needed"),
        (("--queries", "queries.jsonl"), "--catalog FILE, or as --shelf PATH"),
        (("--shelf", "gone.db", "--queries", "queries.jsonl"), "no catalogue at 'gone.db'"),
    ],
)
def test_what_is_of_no_use_is_one_clear_line(folder: Path, words: tuple[str, ...], reason: str) -> None:
    done = run(folder, *words)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr


def test_all_faults_of_the_queries_are_named(folder: Path) -> None:
    write(folder / "queries.jsonl", {"query": "a", "tool": "rost"}, {"query": "b"}, QUERIES[0])
    done = run(folder, *GIVEN)
    assert done.returncode == 2
    assert "queries.jsonl: 2 lines cannot be used" in done.stderr
    assert "line 1: there is no tool 'rost' in the catalogue; did you mean 'kitchen/roast'?" in done.stderr
    assert "line 2: names no tool" in done.stderr

"""`contextune eval tools`: thresholds, reports and errors, as a CI job sees them."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from tests.program import Completed, run

from contextune.embed import default_embedder
from contextune.store import text_digest
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.tool_text import tool_text
from contextune.types import Tool

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


def evaluate(folder: Path, *words: str) -> Completed:
    return run("eval", "tools", *words, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "tools.jsonl", *TOOLS)
    write(tmp_path / "queries.jsonl", *QUERIES)
    return tmp_path


OPTIONS = ("--catalog", "tools.jsonl", "--queries", "queries.jsonl", "--method", "bm25", "-k", "1")


def test_thresholds_are_met(folder: Path) -> None:
    files = ("--json", "out/report.json", "--junit", "out/junit.xml")
    done = evaluate(
        folder, *OPTIONS, "--fail-under", "recall@1=0.6", "--fail-under", "mrr=0.5", *files, "--suggest"
    )
    assert done.returncode == 0, done.stderr
    assert "5 tools on 3 servers" in done.stdout
    overall = next(line for line in done.stdout.splitlines() if "all queries" in line)
    assert [cell.split()[0] for cell in overall.split("│")[2:4]] == ["3", "66.7"]
    assert "ms per query" in done.stdout
    assert "Not in the top 1: 1 query" in done.stdout
    wanted = next(line for line in done.stdout.splitlines() if "kitchen/boil" in line)
    assert "no shared word" in wanted
    assert "post/send_mail | mirror/send_mail  the same tool twice" in done.stdout
    assert "✓ recall@1 is 0.6667" in done.stdout
    report = json.loads((folder / "out/report.json").read_text(encoding="utf-8"))
    assert report["config"]["k"] == 1
    assert report["queries"][1]["found"][0]["tool"] == "post/read_mail"
    assert [bar["holds"] for bar in report["bars"]] == [True, True]
    cases = list(Xml.parse(folder / "out/junit.xml").getroot().iter("testcase"))
    assert len(cases) == len(QUERIES) + 2
    assert sum(case.find("failure") is not None for case in cases) == 1


def test_threshold_is_missed(folder: Path) -> None:
    done = evaluate(folder, *OPTIONS, "--fail-under", "recall@1=0.9", "--misses", "0")
    assert done.returncode == 1
    assert "below the threshold: recall@1 is 0.6667" in done.stderr
    assert "0.23 below the threshold of 0.9" in done.stderr
    assert "kitchen/boil" not in done.stdout


def test_suggestions_need_no_queries(folder: Path) -> None:
    done = evaluate(folder, "--catalog", "tools.jsonl", "--suggest", "--json", "report.json")
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert [found["kind"] for found in report["confusable"]] == ["same"]


def test_catalogue_file_caches_the_vectors(folder: Path) -> None:
    tools = [Tool(**tool) for tool in TOOLS]
    with CatalogFile(folder / "tools.db") as shelf:
        shelf.put(tools, "test")
    done = evaluate(folder, "--shelf", "tools.db", *OPTIONS[2:])
    assert done.returncode == 0, done.stderr
    assert "5 tools on 3 servers" in done.stdout
    digests = [text_digest(tool_text(tool)) for tool in tools]
    with CatalogFile(folder / "tools.db") as shelf:
        assert len(shelf.vectors(default_embedder().name, digests)) == len(tools)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((*OPTIONS, "--fail-under", "precision@1=0.9"), "recall@K"),
        ((*OPTIONS, "--method", "magic"), "'magic'"),
        (("--catalog", "tools.jsonl"), "--queries is needed"),
        (("--queries", "queries.jsonl"), "--catalog FILE, or as --shelf PATH"),
        (("--shelf", "gone.db", "--queries", "queries.jsonl"), "no catalogue at 'gone.db'"),
    ],
)
def test_invalid_arguments_are_one_error_line(folder: Path, words: tuple[str, ...], reason: str) -> None:
    done = evaluate(folder, *words)
    assert done.returncode == 2
    assert reason in done.stderr


def test_every_invalid_query_is_reported(folder: Path) -> None:
    write(folder / "queries.jsonl", {"query": "a", "tool": "rost"}, {"query": "b"}, QUERIES[0])
    done = evaluate(folder, *OPTIONS)
    assert done.returncode == 2
    assert "queries.jsonl: 2 invalid lines" in done.stderr
    assert re.search("line 1: .*'rost'.*'kitchen/roast'", done.stderr)
    assert "line 2: " in done.stderr


def test_thresholds_for_false_refusals_are_printed_and_gate(folder: Path) -> None:
    options = ("--catalog", "tools.jsonl", "--queries", "queries.jsonl", "--json", "report.json")
    done = evaluate(folder, *options)
    assert done.returncode == 0, done.stderr
    five, ten = re.findall(r"At most (5|10)% false refusals: --min-fit (\S+) refuses 0.0", done.stdout)
    assert (five[0], ten[0]) == ("5", "10")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert [entry["value"] for entry in report["min_fit"]] == [float(five[1]), float(ten[1])]
    passed = evaluate(folder, *options, "--min-fit", five[1], "--fail-under", "acceptance=1")
    assert passed.returncode == 0, passed.stderr
    failed = evaluate(folder, *options, "--min-fit", "1", "--fail-under", "acceptance=0.95")
    assert failed.returncode == 1
    assert "acceptance is 0.0000" in failed.stderr


def test_min_fit_must_be_a_probability(folder: Path) -> None:
    done = evaluate(folder, "--catalog", "tools.jsonl", "--queries", "queries.jsonl", "--min-fit", "45")
    assert done.returncode == 2
    assert "Invalid value for '--min-fit'" in done.stderr

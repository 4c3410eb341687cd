"""`contextune generate`, with a server that plays the model."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.lab.generate.author import Author
from typer.testing import CliRunner, Result

from contextune._internal.assets import asset
from contextune.cli import app, output
from contextune.datasets import read_personas
from contextune.errors import ContextuneError
from contextune.tools.toolbox import read_toolbox


@pytest.fixture
def author() -> Iterator[Author]:
    with Author() as server:
        yield server


@pytest.fixture(autouse=True)
def configured(author: Author, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTUNE_LLM_MODEL", "author")
    monkeypatch.setenv("OPENAI_BASE_URL", author.url)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long paths must not break lines."""
    monkeypatch.setattr(output.out, "_width", 250)


def run(*words: str | int | Path, rc: int = 0) -> Result:
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == rc, (result.output, result.exception)
    return result


def test_personas_from_nothing_to_a_benchmark(author: Author, tmp_path: Path) -> None:
    made = run("generate", "personas", "--n", 2, "--out", tmp_path, "--price", 2, 10).stdout
    answers = len(author.asked)
    cost = answers * (100 * 2 + 20 * 10) / 1_000_000
    tokens = f"{answers * 100:,} tokens read and {answers * 20:,} written"
    assert f"This run: {answers} answers, {tokens}: {cost:.2f}." in made
    assert "2 personas, no faults." in made
    assert re.search(r"APIs without a query\s+│ \d+ of 59", made)
    people = list(read_personas(tmp_path))
    assert sum(len(persona.queries) for persona in people) == 13
    measured = run("bench", "context", "--personas", tmp_path, "--method", "bm25").stdout
    assert "BM25T" in measured
    assert "13" in measured
    again = run("generate", "personas", "--n", 2, "--out", tmp_path).stdout
    assert "This run: 0 answers" in again
    assert f"All runs: {answers} answers" in again
    assert run("generate", "check", tmp_path).stdout.endswith("2 personas, no faults.\n")


def test_queries_are_added_to_existing_personas(author: Author, tmp_path: Path) -> None:
    run("generate", "personas", "--n", 1, "--out", tmp_path, "--no-queries")
    assert next(read_personas(tmp_path)).queries == ()
    run("generate", "queries", tmp_path, "--average", 2)
    assert len(next(read_personas(tmp_path)).queries) == 2


def test_toolbox_is_written(author: Author, tmp_path: Path) -> None:
    file = tmp_path / "toolbox.yaml"
    printed = run("generate", "toolbox", "--out", file, "--app", "Photos=3", "--app", "Maps=2").stdout
    assert "5 APIs of 2 applications" in printed
    assert len(read_toolbox(file)) == 5


def test_options_are_sent_to_the_server(author: Author, tmp_path: Path) -> None:
    options = ("--option", "max_tokens=null", "--option", "max_completion_tokens=9000")
    run("generate", "toolbox", "--out", tmp_path / "t.yaml", "--app", "Photos=1", *options)
    assert "max_tokens" not in author.asked[0]
    assert author.asked[0]["max_completion_tokens"] == 9000


def test_failures_are_printed(author: Author, tmp_path: Path) -> None:
    author.spoil = lambda part, _answer, _count: {"items": []} if part == "items" else None
    result = run("generate", "personas", "--n", 1, "--out", tmp_path, "--tries", 1, rc=1)
    assert "p0001/Calendar: " in result.stderr
    assert "run the same command again to generate what is missing" in result.stderr


def test_server_error_ends_the_run_and_prints_its_cost(author: Author, tmp_path: Path) -> None:
    author.spoil = lambda part, _answer, _count: (400, {}) if part == "items" else None
    result = run("generate", "personas", "--n", 1, "--out", tmp_path, rc=1)
    assert isinstance(result.exception, ContextuneError)
    assert "run the same command again" in str(result.exception)
    assert "This run: 1 answer," in result.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("toolbox", "--out", "t.yaml", "--app", "Photos"), "write it as Photos=6"),
        (("toolbox", "--out", "t.yaml", "--app", "Photos=0"), "write it as Photos=6"),
        (("toolbox", "--out", "t.yaml", "--option", "x"), "write it as name=JSON"),
        (("toolbox", "--out", "t.yaml", "--option", "x=y"), "write it as name=JSON"),
        (("queries", "nowhere"), "nowhere: "),
        (("check", "nowhere.json", "--toolbox", "gone.yaml"), "gone.yaml: "),
        (("personas", "--out", "p", "--price", "-1", "0"), "price"),
    ],
)
def test_invalid_arguments_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("generate", *words, rc=1)
    assert why in str(result.exception)


def test_missing_model_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONTEXTUNE_LLM_MODEL")
    result = run("generate", "personas", "--out", tmp_path, rc=1)
    assert "CONTEXTUNE_LLM_MODEL" in str(result.exception)


def test_faults_are_printed_with_their_lines(tmp_path: Path) -> None:
    for name in ("a01", "b05"):
        shutil.copy(asset(f"personas/{name}.json"), tmp_path)
    data: dict[str, Any] = json.loads((tmp_path / "b05.json").read_text(encoding="utf-8"))
    data["queries"][1]["api"] = "fly"
    (tmp_path / "b05.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
    rows = (tmp_path / "b05.json").read_text(encoding="utf-8").splitlines()
    line = next(number for number, row in enumerate(rows, 1) if '"api": "fly"' in row)
    result = run("generate", "check", tmp_path, "--figures", rc=1)
    assert f"{tmp_path / 'b05.json'}:{line}: queries[1].api: 'fly' is not in the toolbox" in result.stdout
    assert "in 1 of 2 files" in result.stderr
    assert "items per persona" in result.stdout

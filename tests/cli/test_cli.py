"""The installed program, driven as a person would."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from contextune._internal.assets import asset

PROGRAM = Path(sys.executable).with_name("contextune")
GOLD = ("kind", "relevant", "cot", "api", "args", "tools")


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env={"COLUMNS": "160"})


def persona(name: str) -> dict[str, Any]:
    return json.loads(asset(f"personas/{name}.json").read_text(encoding="utf-8"))


def write(folder: Path, *personas: dict[str, Any]) -> Path:
    folder.mkdir()
    for data in personas:
        (folder / f"{data['id']}.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def answers(folder: Path, out: Path, *options: str) -> dict[str, dict[str, dict[str, Any]]]:
    done = run("answer", folder, "--out", out, *options)
    assert done.returncode == 0, done.stderr
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in out.iterdir()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    path = folder / "store.db"
    done = run(
        "load", "personas", write(folder / "personas", persona("a01"), persona("b05")), "--store", path
    )
    assert done.returncode == 0, done.stderr
    assert "2 personas with 67 items" in done.stdout
    return path


def search(store: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run("search", *words, "--store", store)


def test_search_prints_the_best_items(store: Path) -> None:
    words = (
        "Read me what the army sent us.",
        "--user",
        "b05",
        "--time",
        "2023-07-19T08:05",
        "--place",
        "commute",
    )
    done = search(store, *words, "-k", "3")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "Mail" in line]
    assert "1" in lines[0]
    assert "close in meaning" in lines[0]


def test_ask_prints_items_tools_and_the_call(store: Path) -> None:
    moment = ("--user", "b05", "--time", "2023-07-19T08:05", "--place", "commute")
    done = run("ask", "Read me what the army sent us.", *moment, "--store", store)
    assert done.returncode == 0, done.stderr
    assert "tools: read_email" in done.stdout
    (plan,) = [line for line in done.stdout.splitlines() if line.startswith("plan: ")]
    assert plan.startswith('plan: read_email(email_subject="Kestrel Coy')
    assert "email_subject: subject of “Kestrel Coy" in done.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("  ", "--user", "a01"), "no text"),
        (("Hello", "--user", "nobody"), "no user 'nobody'"),
        (("Hello", "--user", "a01", "--time", "17:40"), "2024-05-16T17:40"),
        (("Hello", "--user", "a01", "--time", "2024-05-16"), "not a date with a time"),
        (("Hello", "--user", "a01", "--place", "95,200"), "no coordinate"),
        (("Hello", "--user", "a01", "--place", "moon"), "no place 'moon'"),
        (("Hello", "--user", "a01", "--method", "magic"), "no method 'magic'"),
        (("Hello", "--user", "a01", "-k", "0"), "at least one"),
    ],
)
def test_bad_input_is_one_clear_line(store: Path, words: tuple[str, ...], reason: str) -> None:
    before = store.read_bytes()
    done = search(store, *words)
    assert done.returncode == 2
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert store.read_bytes() == before


def test_a_folder_with_a_broken_persona_loads_nothing(store: Path, tmp_path: Path) -> None:
    broken = {**persona("a02"), "places": {"home": [91, 0]}}
    folder = write(tmp_path / "personas", persona("a03"), broken)
    done = run("load", "personas", folder, "--store", tmp_path / "new.db")
    assert done.returncode == 2
    assert "a02.json" in done.stderr
    assert "places.home" in done.stderr
    assert not (tmp_path / "new.db").exists()


def test_a_store_of_a_newer_version_is_refused(store: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.db"
    newer.write_bytes(store.read_bytes())
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = search(newer, "Hello", "--user", "a01")
    assert done.returncode == 2
    assert "newer Contextune" in done.stderr


def test_forget_asks_and_erases(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(store.read_bytes())
    asked = subprocess.run(
        [PROGRAM, "forget", "a01", "--store", copy], input="n\n", capture_output=True, text=True
    )
    assert asked.returncode == 1
    assert search(copy, "Hello", "--user", "a01").returncode == 0
    assert run("forget", "a01", "--store", copy, "--yes").returncode == 0
    assert "Marea con Suso" in store.read_text(errors="ignore")
    assert "Marea con Suso" not in copy.read_text(errors="ignore")


def test_answers_rank_every_item_and_see_no_gold(tmp_path: Path) -> None:
    whole = [persona("a01"), persona("b05")]
    stripped = [
        {**data, "queries": [{k: v for k, v in q.items() if k not in GOLD} for q in data["queries"]]}
        for data in whole
    ]
    first = answers(write(tmp_path / "whole", *whole), tmp_path / "one")
    second = answers(write(tmp_path / "stripped", *stripped), tmp_path / "two")
    assert first == second
    for data in whole:
        replies = first[data["id"]]
        assert list(replies) == [query["id"] for query in data["queries"]]
        for reply in replies.values():
            assert sorted(reply["ranking"]) == sorted(item["id"] for item in data["items"])
            assert set(reply) == {"ranking", "tools", "plan"}


def test_answers_put_what_is_not_there_yet_last(tmp_path: Path) -> None:
    data = persona("a01")
    query = data["queries"][0]
    late: dict[str, Any] = {
        "id": "late",
        "app": "Google",
        "query": query["query"],
        "date": "2099-01-01T00:00",
        "use": [],
    }
    data["items"].append(late)
    replies = answers(write(tmp_path / "personas", data), tmp_path / "out")["a01"]
    assert all(reply["ranking"][-1] == "late" for reply in replies.values())


def test_answers_differ_by_method(tmp_path: Path) -> None:
    folder = write(tmp_path / "personas", persona("a01"))
    by_words = answers(folder, tmp_path / "one", "--method", "bm25")
    assert by_words != answers(folder, tmp_path / "two")


def test_a_malformed_file_does_not_stop_the_others(tmp_path: Path) -> None:
    folder = write(tmp_path / "personas", persona("a01"), {"id": "a02"})
    done = run("answer", folder, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "a02.json" in done.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a01.json"]


def test_bench_writes_the_table(tmp_path: Path) -> None:
    folder = write(tmp_path / "personas", persona("a01"), persona("b05"))
    done = run("bench", "context", "--personas", folder, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "BM25T" in done.stdout
    assert "(81.3)" in done.stdout  # the paper's figure stands beside
    results = cast("dict[str, Any]", json.loads((tmp_path / "out" / "results.json").read_text()))
    assert results
    assert (tmp_path / "out" / "qrels.trec").read_text().count("\n") == sum(
        len(query["relevant"]) for name in ("a01", "b05") for query in persona(name)["queries"]
    )


def test_the_demo_finds_what_was_meant() -> None:
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith("“") for line in done.stdout.splitlines()) == 5
    assert "✓" in done.stdout


def test_the_version() -> None:
    assert run("--version").stdout.strip() == "0.1.0"

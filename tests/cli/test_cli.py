"""Search, ask, load, forget, answer, bench and demo, on two of the bundled personas."""

import json
import re
import sqlite3
import subprocess
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from tests.program import PROGRAM, Completed, run

import contextune
from contextune.cli import demo
from contextune.datasets import bundled_persona_file, demo_personas
from contextune.store import SQLiteStore
from contextune.types import Item, User
from contextune_lab.train.splits import is_test

GOLD = ("kind", "relevant", "cot", "api", "args", "tools")
MOMENT = ("--user", "b05", "--time", "2023-07-19T08:05", "--place", "commute")


def persona(name: str, queries: int | None = None) -> dict[str, Any]:
    """A bundled persona, with only its first `queries`."""
    data = json.loads(bundled_persona_file(name).read_text(encoding="utf-8"))
    return {**data, "queries": data["queries"][:queries]}


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
    personas = write(folder / "personas", persona("a01"), persona("b05"))
    done = run("load", "personas", personas, "--store", path)
    assert done.returncode == 0, done.stderr
    assert "2 personas with 67 items" in done.stdout
    return path


def search(store: Path, *words: str) -> Completed:
    return run("search", *words, "--store", store)


def test_installed_program_prints_version_and_errors(tmp_path: Path) -> None:
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True)
    assert version.stdout == f"{contextune.__version__}\n"
    words = [PROGRAM, "search", "Hello", "--store", str(tmp_path / "store.db")]
    failed = subprocess.run(words, capture_output=True, text=True)
    assert failed.returncode == 2
    assert failed.stderr.startswith(f"error: no such store: {tmp_path / 'store.db'} (create it with")
    assert failed.stderr.count("\n") == 1


def test_search_prints_the_best_items(store: Path) -> None:
    done = search(store, "Read me what the army sent us.", *MOMENT, "-k", "3")
    assert done.returncode == 0, done.stderr
    assert re.match(r"1  Mail .*similar in meaning", done.stdout)
    assert "\n3  " in done.stdout


def test_ask_leads_with_the_answer_and_the_call_and_is_compact(store: Path) -> None:
    done = run("ask", "Read me what the army sent us.", *MOMENT, "--store", store)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    call = next(place for place, line in enumerate(lines) if line.startswith("read_email("))
    assert lines[call].startswith('read_email(email_subject="Kestrel Coy')
    assert re.search(
        r"\((make this call|confirm first), (only )?\d+% sure\)", "".join(lines[call - 1 : call + 1])
    )
    assert any(line.startswith("from the email “Kestrel Coy") for line in lines[:call])
    assert [line.split()[0] for line in lines[call + 2 : -1] if line[:2].strip()] == ["1", "2", "3"]
    assert lines[-1] == "--why shows 5 more items, all reasons and the sources of the call"


def test_ask_prints_sources_reasons_and_tools_with_why(store: Path) -> None:
    done = run("ask", "Read me what the army sent us.", *MOMENT, "--why", "--store", store, width=300)
    assert '\nread_email(email_subject="Kestrel Coy' in done.stdout
    assert "  email_subject: subject of “Kestrel Coy" in done.stdout
    assert "tools: read_email" in done.stdout
    assert done.stdout.count(" score ") == 8
    assert re.search(r"any tool fits: \d+% · context \d+ ms", done.stdout)


def test_times_are_shown_in_the_zone_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with SQLiteStore(path) as store:
        store.put_user(User("me", zone=ZoneInfo("America/Los_Angeles")))
        store.put_items("me", [Item.event(name="Glaze night", start="2024-05-16T14:00+01:00")])
    done = run("search", "Glaze night", "--time", "2024-05-15T09:00", "--method", "bm25", "--store", path)
    assert "Thu 16 May 06:00 PDT" in done.stdout
    assert "14:00" not in done.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("  ", "--user", "a01"), "text"),
        (("Hello", "--user", "nobody"), "'nobody'"),
        (("Hello", "--user", "a01", "--time", "17:40"), "2024-05-16T17:40"),
        (("Hello", "--user", "a01", "--time", "2024-05-16"), "2024-05-16"),
        (("Hello", "--user", "a01", "--place", "95,200"), "95"),
        (("Hello", "--user", "a01", "--place", "moon"), "'moon'"),
        (("Hello", "--user", "a01", "--method", "magic"), "'magic'"),
        (("Hello", "--user", "a01", "-k", "0"), "k"),
    ],
)
def test_invalid_request_is_one_error_line(store: Path, words: tuple[str, ...], reason: str) -> None:
    before = store.read_bytes()
    done = search(store, *words)
    assert done.returncode == 2
    assert re.fullmatch(f"error: .*{re.escape(reason)}.*\n", done.stderr)
    assert store.read_bytes() == before


def test_folder_with_an_invalid_persona_loads_nothing(tmp_path: Path) -> None:
    invalid = {**persona("a02"), "places": {"home": [91, 0]}}
    folder = write(tmp_path / "personas", persona("a03"), invalid)
    done = run("load", "personas", folder, "--store", tmp_path / "new.db")
    assert done.returncode == 2
    assert "a02.json" in done.stderr
    assert "places.home" in done.stderr
    assert not (tmp_path / "new.db").exists()


def test_store_of_a_newer_version_is_refused(store: Path, tmp_path: Path) -> None:
    newer = tmp_path / "newer.db"
    newer.write_bytes(store.read_bytes())
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = search(newer, "Hello", "--user", "a01")
    assert done.returncode == 2
    assert "newer" in done.stderr


def test_forget_asks_and_erases(store: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(store.read_bytes())
    assert run("forget", "a01", "--store", copy, stdin="n\n").returncode == 1
    assert search(copy, "Hello", "--user", "a01").returncode == 0
    assert run("forget", "a01", "--store", copy, "--yes").returncode == 0
    assert "Marea con Suso" in store.read_text(errors="ignore")
    assert "Marea con Suso" not in copy.read_text(errors="ignore")


def test_answers_rank_every_item_and_ignore_gold_fields(tmp_path: Path) -> None:
    personas = [persona("a01", 2), persona("b05", 2)]
    without_gold = [
        {**data, "queries": [{k: v for k, v in q.items() if k not in GOLD} for q in data["queries"]]}
        for data in personas
    ]
    first = answers(write(tmp_path / "gold", *personas), tmp_path / "one")
    second = answers(write(tmp_path / "no-gold", *without_gold), tmp_path / "two")
    assert first == second
    for data in personas:
        replies = first[data["id"]]
        assert list(replies) == [query["id"] for query in data["queries"]]
        for reply in replies.values():
            assert sorted(reply["ranking"]) == sorted(item["id"] for item in data["items"])
            assert set(reply) == {"ranking", "tools", "plan"}


def test_answers_rank_future_items_last(tmp_path: Path) -> None:
    data = persona("a01", 2)
    future: dict[str, Any] = {
        "id": "future",
        "app": "Google",
        "query": data["queries"][0]["query"],
        "date": "2099-01-01T00:00",
        "use": [],
    }
    data["items"].append(future)
    replies = answers(write(tmp_path / "personas", data), tmp_path / "out")["a01"]
    assert all(reply["ranking"][-1] == "future" for reply in replies.values())


def test_answers_differ_by_method(tmp_path: Path) -> None:
    folder = write(tmp_path / "personas", persona("a01", 2))
    assert answers(folder, tmp_path / "one", "--method", "bm25") != answers(folder, tmp_path / "two")


def test_malformed_persona_does_not_stop_the_others(tmp_path: Path) -> None:
    folder = write(tmp_path / "personas", persona("a01", 1), {"id": "a02"})
    done = run("answer", folder, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "a02.json" in done.stderr
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["a01.json"]


def test_bench_context_prints_and_writes_the_table(tmp_path: Path) -> None:
    folder = write(tmp_path / "personas", persona("a01"), persona("b05"))
    done = run("bench", "context", "--personas", folder, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "BM25T" in done.stdout
    assert "(81.3)" in done.stdout  # the paper's figure beside ours
    results = cast("dict[str, Any]", json.loads((tmp_path / "out" / "results.json").read_text()))
    assert results
    assert (tmp_path / "out" / "qrels.trec").read_text().count("\n") == sum(
        len(query["relevant"]) for name in ("a01", "b05") for query in persona(name)["queries"]
    )


def test_demo_shows_installed_personas_of_the_test_part() -> None:
    installed = {persona.id: persona for persona in demo_personas()}
    for name, query_id in demo.REQUESTS:
        assert is_test(name)
        assert query_id in {query.id for query in installed[name].queries}


def test_demo_finds_relevant_items() -> None:
    done = run("demo")
    assert done.returncode == 0, done.stderr
    assert sum(line.startswith("“") for line in done.stdout.splitlines()) == 5
    assert "✓" in done.stdout

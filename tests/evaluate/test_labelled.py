"""`eval context` and `eval plan`: a user's own labelled requests."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.program import run

from contextune import Item, SQLiteStore, Tuner, User
from contextune.errors import InvalidDataError
from contextune.evaluate.labelled import evaluate_context, evaluate_plans
from contextune.evaluate.requests import read_requests
from contextune.tools import Catalog, bundled_toolbox

TIME = "2026-11-12T17:35"
QUOTE = {"app": "Mail", "title": "Kiln quote", "time": "2026-11-11T09:00"}
LINES: tuple[Mapping[str, Any], ...] = (
    {"id": "a", "text": "what did the kiln quote say", "time": TIME, "kind": "question", "needs": [QUOTE]},
    {
        "id": "b",
        "text": "ash glaze recipe",
        "time": TIME,
        "needs": [{"app": "Notes", "title": "Glaze recipe"}],
    },
    {
        "id": "c",
        "text": "Play Barco Negro by Mariza",
        "time": TIME,
        "expected": {"tool": "Music/play_song", "args": {"song_name": "Barco Negro"}},
        "free": ["artist"],
    },
    {"id": "d", "text": "descale the espresso machine", "time": TIME, "expected": {"tool": None}},
)
ITEMS = (
    Item("mail", "Mail", {"subject": "Kiln quote", "content": "900 euros.", "date": "2026-11-11T09:00"}),
    Item("note", "Notes", {"title": "Glaze recipe", "content": "Ash.", "modified": "2026-11-10T09:00"}),
    Item("song", "Music", {"song_name": "Barco Negro", "artist": "Mariza", "played_time": "2026-11-09"}),
)


def write(file: Path, *lines: Mapping[str, Any]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with SQLiteStore(tmp_path / "me.db") as store:
        store.put_user(User("ines"))
        store.put_items("ines", ITEMS)
    write(tmp_path / "requests.jsonl", *LINES)
    return tmp_path


def test_figures_are_those_of_the_answers(home: Path) -> None:
    requests = read_requests(home / "requests.jsonl")
    assert [request.time for request in requests[:1]] == [datetime.fromisoformat(TIME)]
    with SQLiteStore(home / "me.db") as store:
        tools = bundled_toolbox()
        tuner, user = Tuner(store, tools=tools), store.user("ines")
        found = evaluate_context(tuner, user, requests)
        plans = evaluate_plans(tuner, user, Catalog(tools), requests)
    assert [result.request.id for result in found.results] == ["a", "b"]
    assert [result.recall(1) for result in found.results] == [
        float(result.found[0] == item) for result, item in zip(found.results, ("mail", "note"), strict=True)
    ]
    assert found.recall(3).mean == 1
    assert [result.request.id for result in plans.results] == ["c", "d"]
    place = plans.results[0].tool_at
    assert place in (1, 2)
    assert [result.outcome for result in plans.served] == list(plans.outcomes())
    assert plans.metrics()["tool@1"].mean == float(place == 1)
    assert plans.metrics()["tool@5"].mean == 1
    assert plans.thresholds()[0].min_fit <= (plans.results[0].fits or 0)


def test_commands_print_figures_and_gate(home: Path) -> None:
    options = ("--queries", "requests.jsonl", "--user", "ines", "--store", "me.db")
    done = run("eval", "context", *options, "--fail-under", "recall@3=1", "--json", "out.json", cwd=home)
    assert done.returncode == 0, done.stderr
    assert "Recall of the needed items, 2 requests" in done.stdout
    assert "recall@3 is 1.0000" in done.stdout
    written = json.loads((home / "out.json").read_text(encoding="utf-8"))
    assert [request["id"] for request in written["requests"]] == ["a", "b"]
    done = run("eval", "plan", *options, "--min-fit", "1", "--fail-under", "acceptance=0.5", cwd=home)
    assert done.returncode == 1, done.stderr
    assert "1 request that a tool serves" in done.stdout
    assert "At most 5% false refusals: --min-fit" in done.stdout
    assert "acceptance is 0.0000" in done.stderr


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"time": TIME, "needs": []}, "has no 'text'"),
        ({"text": "a", "time": "noon", "needs": []}, "is no date and time: 'noon'"),
        ({"text": "a", "time": TIME}, 'neither "needs"'),
        ({"text": "a", "time": TIME, "needs": [{"title": "b"}]}, "lacks 'app'"),
        ({"text": "a", "time": TIME, "expected": "send"}, "must be an object"),
        ({"text": "a", "time": TIME, "needs": {}, "history": "b"}, "must be a list"),
    ],
)
def test_invalid_requests_are_listed(tmp_path: Path, line: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InvalidDataError, match=f"line 2: .*{message}"):
        read_requests(write(tmp_path / "requests.jsonl", LINES[0], line))


def test_labels_must_be_in_the_store_and_the_catalogue(home: Path) -> None:
    lost = {**LINES[0], "needs": [{**QUOTE, "title": "Kiln"}]}
    wrong = {**LINES[2], "expected": {"tool": "play_song"}}
    requests = read_requests(write(home / "wrong.jsonl", lost, wrong))
    with SQLiteStore(home / "me.db") as store:
        tuner = Tuner(store)
        with pytest.raises(
            InvalidDataError, match="a: the store has no item 'Kiln' of Mail at 2026-11-11T09"
        ):
            evaluate_context(tuner, store.user("ines"), requests)
        with pytest.raises(InvalidDataError, match="c: the catalogue has no tool 'play_song'"):
            evaluate_plans(tuner, store.user("ines"), Catalog(bundled_toolbox()), requests)
        with pytest.raises(InvalidDataError, match="no request needs an item"):
            evaluate_context(tuner, store.user("ines"), requests[1:])
        with pytest.raises(InvalidDataError, match="no request says what is expected"):
            evaluate_plans(tuner, store.user("ines"), Catalog(bundled_toolbox()), requests[:1])

"""The benchmark of history: reads its data, refuses what is none, and measures what it says."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.paths import SHARED_DATA

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.lab.bench.quality.conversation_history import (
    ALONE,
    AVERAGED,
    GOLD,
    LEANING,
    STANDING,
    history_tables,
    ikat_task,
    mudoco_task,
    topic_changed,
)

SHARED = SHARED_DATA

TALK = [["user", "Did Lola ring?"], ["assistant", "Yes, Lola rang once."]]
OTHER = [["user", "Is Rome far?"], ["assistant", "Rome is two hours away."]]
ITEMS = [
    {"id": "a0", "user": "a", "text": "Lola is my sister"},
    {"id": "a1", "user": "a", "text": "I call taxis back home"},
    {"id": "b0", "user": "b", "text": "I like trains"},
    {"id": "b1", "user": "b", "text": "Rome is where I live"},
]
Row = Mapping[str, Any]


def question(name: str, query: str, rewrite: str, talk: object, relevant: Sequence[str], split: str) -> Row:
    return {"id": f"q{name}", "user": name, "query": query, "rewrite": rewrite, "history": talk} | {
        "relevant": relevant,
        "split": split,
    }


def rewrite(name: str, query: str, full: str, talk: object, split: str = "test") -> Row:
    return {"id": name, "query": query, "rewrite": full, "history": talk} | {
        "rewrite_required": full != query,
        "split": split,
    }


QUESTIONS = [
    question("a", "What about her?", "What about Lola?", TALK, ["a0"], "test23"),
    question("b", "I like trains best", "I like trains best", OTHER, ["b0"], "test24"),
    question("a", "Hm?", "Hm?", [], [], "test23"),
    question("a", "Hm?", "Hm?", [], ["a0"], "train"),
]
REWRITES = [
    rewrite("d1-turn0", "Play jazz", "Play jazz", []),
    rewrite("d1-turn2", "play  Jazz", "play  Jazz", []),
    rewrite("d2-turn2", "Ring her", "Ring Lola", TALK),
    rewrite("d3-turn2", "Ring Kim", "Ring Kim", []),
    rewrite("d9-turn0", "Play jazz", "Play jazz", [], split="dev"),
]


def lines(rows: Sequence[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("ikat", "mudoco"):
        (tmp_path / name).mkdir()
    (tmp_path / "ikat" / "items.jsonl").write_text(lines(ITEMS))
    (tmp_path / "ikat" / "ctx_queries.jsonl").write_text(lines(QUESTIONS))
    (tmp_path / "mudoco" / "rewrites.jsonl").write_text(lines(REWRITES))
    return tmp_path


def test_ikat_keeps_test_questions_that_hang_on_something(folder: Path) -> None:
    task = ikat_task(folder)
    assert [(talk.id, talk.group, talk.kind, talk.relevant) for talk in task.talks] == [
        ("qa", "a", LEANING, {"a0"}),
        ("qb", "b", STANDING, {"b0"}),
    ]
    assert task.talks[0].request.history == (
        ("user", "Did Lola ring?"),
        ("assistant", "Yes, Lola rang once."),
    )
    assert task.things["b"] == {"b0": "I like trains", "b1": "Rome is where I live"}


def test_a_changed_topic_is_somebody_elses_talk(folder: Path) -> None:
    [talk] = topic_changed(ikat_task(folder)).talks
    assert talk.id == "qb"
    assert talk.request.history[0].text == "Did Lola ring?"


def test_mudoco_takes_like_rewrites_for_one(folder: Path) -> None:
    task = mudoco_task(folder)
    assert [(talk.id, talk.group, talk.kind, talk.relevant) for talk in task.talks] == [
        ("d1-turn0", "d1", STANDING, {"d1-turn0"}),
        ("d1-turn2", "d1", STANDING, {"d1-turn0"}),
        ("d2-turn2", "d2", LEANING, {"d2-turn2"}),
        ("d3-turn2", "d3", STANDING, {"d3-turn2"}),
    ]
    assert list(task.things.values()) == [
        {"d1-turn0": "Play jazz", "d2-turn2": "Ring Lola", "d3-turn2": "Ring Kim"}
    ]


def test_the_tables(folder: Path, word_embedder: Embedder) -> None:
    heard: list[tuple[int, int]] = []
    tables = history_tables(
        folder, embedder=word_embedder, progress=lambda done, of: heard.append((done, of))
    )
    assert heard[-1][0] == heard[-1][1] > 0
    assert list(tables) == ["iKAT", "iKAT, topic changed", "MuDoCo"]
    for table in tables.values():
        assert (table.rows[0], table.rows[-2:], table.baseline) == (ALONE, (AVERAGED, GOLD), ALONE)
    mudoco = tables["MuDoCo"]
    assert mudoco.cell(GOLD, "recall@1").interval.mean == 1
    assert mudoco.cell(AVERAGED, "recall@1", LEANING).interval.mean == 1
    assert mudoco.cell(AVERAGED, "recall@1", STANDING).n == 3
    assert tables["iKAT"].runs[AVERAGED]["qa"] == ["a0", "a1"]
    changed = tables["iKAT, topic changed"]
    assert changed.runs[AVERAGED] == changed.runs[ALONE]


@pytest.mark.parametrize("name", ["ikat/items.jsonl", "ikat/ctx_queries.jsonl", "mudoco/rewrites.jsonl"])
def test_a_missing_file_says_what_is_needed(folder: Path, name: str, word_embedder: Embedder) -> None:
    (folder / name).unlink()
    with pytest.raises(InvalidDataError, match=rf"{name}: cannot be read.*give a folder that holds ikat"):
        history_tables(folder, embedder=word_embedder)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "is not JSON"),
        ('{"id": "x"}', "query: Field required"),
        ('{"id": "x", "query": "", "history": [["user"]]}', r"history\.0"),
    ],
)
def test_a_bad_line_is_named(folder: Path, line: str, fault: str) -> None:
    (folder / "mudoco" / "rewrites.jsonl").write_text(f"{line}\n")
    with pytest.raises(InvalidDataError, match=f"rewrites.jsonl:1: {fault}"):
        mudoco_task(folder)


def test_an_item_that_is_not_there(folder: Path) -> None:
    (folder / "ikat" / "items.jsonl").write_text(lines(ITEMS[1:]))
    with pytest.raises(InvalidDataError, match="'qa' names an item that is not its user's"):
        ikat_task(folder)


@pytest.mark.skipif(not (SHARED / "ikat").is_dir(), reason="the public data is not beside the checkout")
def test_the_public_data_can_be_read() -> None:
    ikat, mudoco = ikat_task(SHARED), mudoco_task(SHARED)
    assert len(ikat.talks) > 200
    assert len(topic_changed(ikat).talks) > 20
    assert len(mudoco.talks) == 1988

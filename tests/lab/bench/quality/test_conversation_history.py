"""Conversation history benchmark: data reading, errors and tables."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.paths import SHARED_DATA

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune_lab.bench.quality.conversation_history import (
    ALONE,
    AVERAGED,
    NEEDS_HISTORY,
    REWRITTEN,
    STANDALONE,
    history_tables,
    ikat_task,
    mudoco_task,
    topic_changed,
)

SHARED = SHARED_DATA

CONVERSATION = [["user", "Did Lola ring?"], ["assistant", "Yes, Lola rang once."]]
OTHER_CONVERSATION = [["user", "Is Rome far?"], ["assistant", "Rome is two hours away."]]
ITEMS = [
    {"id": "a0", "user": "a", "text": "Lola is my sister"},
    {"id": "a1", "user": "a", "text": "I call taxis back home"},
    {"id": "b0", "user": "b", "text": "I like trains"},
    {"id": "b1", "user": "b", "text": "Rome is where I live"},
]
Row = Mapping[str, Any]


def question(
    name: str, query: str, rewrite: str, history: object, relevant: Sequence[str], split: str
) -> Row:
    return {"id": f"q{name}", "user": name, "query": query, "rewrite": rewrite, "history": history} | {
        "relevant": relevant,
        "split": split,
    }


def rewrite(name: str, query: str, full: str, history: object, split: str = "test") -> Row:
    return {"id": name, "query": query, "rewrite": full, "history": history} | {
        "rewrite_required": full != query,
        "split": split,
    }


QUESTIONS = [
    question("a", "What about her?", "What about Lola?", CONVERSATION, ["a0"], "test23"),
    question("b", "I like trains best", "I like trains best", OTHER_CONVERSATION, ["b0"], "test24"),
    question("a", "Hm?", "Hm?", [], [], "test23"),
    question("a", "Hm?", "Hm?", [], ["a0"], "train"),
]
REWRITES = [
    rewrite("d1-turn0", "Play jazz", "Play jazz", []),
    rewrite("d1-turn2", "play  Jazz", "play  Jazz", []),
    rewrite("d2-turn2", "Ring her", "Ring Lola", CONVERSATION),
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


def test_ikat_keeps_test_questions_with_relevant_statements(folder: Path) -> None:
    task = ikat_task(folder)
    assert [(query.id, query.group, query.kind, query.relevant) for query in task.queries] == [
        ("qa", "a", NEEDS_HISTORY, {"a0"}),
        ("qb", "b", STANDALONE, {"b0"}),
    ]
    assert task.queries[0].request.history == (
        ("user", "Did Lola ring?"),
        ("assistant", "Yes, Lola rang once."),
    )
    assert task.candidates["b"] == {"b0": "I like trains", "b1": "Rome is where I live"}


def test_topic_change_uses_another_users_conversation(folder: Path) -> None:
    [query] = topic_changed(ikat_task(folder)).queries
    assert query.id == "qb"
    assert query.request.history[0].text == "Did Lola ring?"


def test_mudoco_merges_equal_rewrites(folder: Path) -> None:
    task = mudoco_task(folder)
    assert [(query.id, query.group, query.kind, query.relevant) for query in task.queries] == [
        ("d1-turn0", "d1", STANDALONE, {"d1-turn0"}),
        ("d1-turn2", "d1", STANDALONE, {"d1-turn0"}),
        ("d2-turn2", "d2", NEEDS_HISTORY, {"d2-turn2"}),
        ("d3-turn2", "d3", STANDALONE, {"d3-turn2"}),
    ]
    assert list(task.candidates.values()) == [
        {"d1-turn0": "Play jazz", "d2-turn2": "Ring Lola", "d3-turn2": "Ring Kim"}
    ]


def test_history_tables_compare_all_variants(folder: Path, word_embedder: Embedder) -> None:
    progress_calls: list[tuple[int, int]] = []
    tables = history_tables(
        folder, word_embedder, progress=lambda done, total: progress_calls.append((done, total))
    )
    assert progress_calls[-1][0] == progress_calls[-1][1] > 0
    assert list(tables) == ["iKAT", "iKAT, topic changed", "MuDoCo"]
    for table in tables.values():
        assert (table.rows[0], table.rows[-2:], table.baseline) == (ALONE, (AVERAGED, REWRITTEN), ALONE)
    mudoco = tables["MuDoCo"]
    assert mudoco.cell(REWRITTEN, "recall@1").interval.mean == 1
    assert mudoco.cell(AVERAGED, "recall@1", NEEDS_HISTORY).interval.mean == 1
    assert mudoco.cell(AVERAGED, "recall@1", STANDALONE).n == 3
    assert tables["iKAT"].runs[AVERAGED]["qa"] == ["a0", "a1"]
    changed = tables["iKAT, topic changed"]
    assert changed.runs[AVERAGED] == changed.runs[ALONE]


@pytest.mark.parametrize("name", ["ikat/items.jsonl", "ikat/ctx_queries.jsonl", "mudoco/rewrites.jsonl"])
def test_missing_file_names_the_required_files(folder: Path, name: str, word_embedder: Embedder) -> None:
    (folder / name).unlink()
    with pytest.raises(InvalidDataError, match=rf"{name}: cannot be read.*pass a folder with ikat"):
        history_tables(folder, word_embedder)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not valid UTF-8 JSON"),
        ('{"id": "x"}', "query: Field required"),
        ('{"id": "x", "query": "", "history": [["user"]]}', r"history\.0"),
    ],
)
def test_malformed_line_is_reported(folder: Path, line: str, fault: str) -> None:
    (folder / "mudoco" / "rewrites.jsonl").write_text(f"{line}\n")
    with pytest.raises(InvalidDataError, match=f"rewrites.jsonl:1: {fault}"):
        mudoco_task(folder)


def test_item_of_another_user_is_rejected(folder: Path) -> None:
    (folder / "ikat" / "items.jsonl").write_text(lines(ITEMS[1:]))
    with pytest.raises(InvalidDataError, match="'qa' names an item of another user"):
        ikat_task(folder)


@pytest.mark.skipif(not (SHARED / "ikat").is_dir(), reason="the public data is not beside the checkout")
def test_public_data_is_readable() -> None:
    ikat, mudoco = ikat_task(SHARED), mudoco_task(SHARED)
    assert len(ikat.queries) > 200
    assert len(topic_changed(ikat).queries) > 20
    assert len(mudoco.queries) == 1988

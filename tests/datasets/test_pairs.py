"""Training pairs: the bundled file parses, and errors name the line, the field and the reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from contextune.datasets import PairItem, bundled_pairs, read_pairs
from contextune.errors import InvalidDataError

PAIR: dict[str, Any] = {
    "id": "p1-0000",
    "query": "That one again",
    "kind": "recency",
    "cot": "",
    "items": [{"app": "Music", "text": "Music — Barco Negro"}],
    "distractor": {"app": "Music", "text": "Music — Gente"},
    "api": "play_song",
    "tool_query": "plays a song",
    "args": {"song_name": "Barco Negro"},
}


def test_bundled_pairs_have_unique_ids_and_batches() -> None:
    pairs = bundled_pairs()
    assert len(pairs) == 2820
    assert len({pair.id for pair in pairs}) == 2820
    assert pairs[0].id == "p1-0000"
    assert pairs[0].batch == "p1"
    assert all(pair.batch and pair.batch != pair.id for pair in pairs)


def test_read_pairs_keeps_every_field(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(f"{json.dumps(PAIR)}\n{json.dumps({**PAIR, 'id': 'p1-0001'})}", encoding="utf-8")
    first, second = read_pairs(file)
    assert first.model_dump(mode="json") == PAIR
    assert first.items == (PairItem(app="Music", text="Music — Barco Negro"),)
    assert second.id == "p1-0001"
    assert hash(first.distractor)


def line(**changes: object) -> bytes:
    return json.dumps({**PAIR, **changes}).encode()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        pytest.param(b"{", "not valid JSON", id="not JSON"),
        pytest.param(b"", "not valid JSON", id="an empty line"),
        pytest.param('{"id": "zoë"}'.encode("latin-1"), "not valid JSON in UTF-8", id="not UTF-8"),
        pytest.param(b"[]", "the line: ", id="a list"),
        pytest.param(b'{"id": "x"}', "query: Field required", id="fields missing"),
        pytest.param(line(query=""), "query: ", id="empty query"),
        pytest.param(line(items=[]), "items: ", id="no items"),
        pytest.param(line(items=[{"app": "Music"}]), "items.0.text: Field required", id="item without text"),
        pytest.param(line(distractor=None), "distractor: ", id="no distractor"),
        pytest.param(line(args=[]), "args: ", id="args as a list"),
        pytest.param(line(id=5), "id: ", id="id as a number"),
        pytest.param(line(note="x"), "note: Extra inputs", id="unknown field"),
    ],
)
def test_invalid_line_is_named(bad: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(b"\n".join([line(), line(), bad, line()]))
    with pytest.raises(InvalidDataError) as error:
        list(read_pairs(file))
    assert str(error.value).startswith(f"{file}:3: {reason}")


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataError, match=r"pairs\.jsonl: cannot read the file: No such file"):
        list(read_pairs(tmp_path / "pairs.jsonl"))

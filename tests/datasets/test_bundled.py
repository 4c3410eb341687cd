"""The bundled data is complete, consistent and equal to its source."""

import gzip
import json
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.paths import SHARED_DATA

from contextune._internal import assets
from contextune._internal.assets import asset, lab_asset
from contextune.datasets import (
    PairItem,
    Persona,
    bundled_pairs,
    bundled_persona_file,
    bundled_persona_files,
    bundled_personas,
    demo_personas,
    plain_requests,
    read_pairs,
    training_pairs,
    training_personas,
)
from contextune.errors import InvalidDataError, MissingLabDataError
from contextune.types import COMMUTE, NAMELESS
from contextune.types.app_schema import APPS

PERSONAS = bundled_personas()

each_persona = pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.id)


def test_counts() -> None:
    assert len(PERSONAS) == 109
    assert len({persona.id for persona in PERSONAS}) == 109
    assert sum(len(persona.queries) for persona in PERSONAS) == 770
    assert set(Counter(item.app for persona in PERSONAS for item in persona.items)) == set(APPS)


@each_persona
def test_items_have_title_text_and_times(persona: Persona) -> None:
    for item in persona.items:
        assert item.title
        assert item.title in item.text
        assert item.text.startswith(item.schema.noun)
        assert item.place is None or item.place in {*persona.user.places, COMMUTE}
        assert set(item.times) <= {"made", "start", "end", "due"}
        assert item.times
        assert all(time.tzinfo is None for time in item.times.values())
        assert (item.made is None) == (item.app == "Calendar")
        assert all(isinstance(person, str) and person for person in item.people)
        if item.app == "Calendar":
            assert item.times["start"] <= item.times["end"]


@each_persona
def test_queries_have_consistent_labels(persona: Persona) -> None:
    assert persona.queries
    by_id = {item.id: item for item in persona.items}
    for query in persona.queries:
        request = persona.request(query)
        assert (request.user, request.text, request.time) == (persona.id, query.text, query.time)
        assert query.place in {*persona.user.places, *NAMELESS}
        assert query.gold.relevant
        assert set(query.gold.relevant.values()) <= {1, 2}
        assert query.gold.tools
        assert query.gold.tools[0] == query.gold.api
        for name in query.gold.relevant:
            made = by_id[name].made
            assert made is None or made <= query.time, f"{query.id} needs {name}, which does not exist yet"


@each_persona
def test_queries_span_at_most_15_days(persona: Persona) -> None:
    times = [query.time for query in persona.queries]
    assert max(times) - min(times) <= timedelta(days=15)


def test_demo_personas_are_part_of_the_benchmark() -> None:
    names = ["a01", "a05", "a08", "a11", "b02", "b05", "b06", "c04", "d01", "e02"]
    assert [persona.id for persona in demo_personas()] == names
    assert all(persona in PERSONAS for persona in demo_personas())
    assert [persona.id for persona in PERSONAS] == sorted(persona.id for persona in PERSONAS)
    assert bundled_persona_file("a01").parent != bundled_persona_file("a02").parent


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (bundled_personas, "the benchmark personas"),
        (training_personas, "the training personas"),
        (bundled_pairs, "the training pairs"),
        (training_pairs, "the training pairs"),
        (plain_requests, "the plain requests"),
        (lambda: bundled_persona_file("a02"), "the persona 'a02'"),
    ],
)
def test_without_the_lab_distribution_only_the_demo_personas_are_there(
    read: Callable[[], object], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the base wheel installs: no package `contextune_lab`."""
    monkeypatch.setattr(assets, "find_spec", lambda _package: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(MissingLabDataError) as error:
        read()
    assert (
        str(error.value) == f"{what} needs the benchmark data: pip install contextune-lab "
        "(in a checkout: pip install -e packages/lab)"
    )
    assert len(demo_personas()) == 10
    assert bundled_persona_file("a01").is_file()


def test_lab_asset_without_a_description_names_the_file() -> None:
    with pytest.raises(MissingLabDataError, match=r"^nothing\.npz needs the benchmark data: "):
        lab_asset("nothing.npz")


needs_shared_data = pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the original data is not beside it")


@needs_shared_data
def test_bundled_files_equal_the_shared_data() -> None:
    assert asset("toolbox.yaml").read_bytes() == (SHARED_DATA / "toolbox.yaml").read_bytes()
    pairs = gzip.decompress(lab_asset("pairs.jsonl.gz").read_bytes())
    assert pairs == (SHARED_DATA / "pairs/pairs.jsonl").read_bytes()


@needs_shared_data
def test_bundled_personas_equal_the_shared_data() -> None:
    bundled = {file.name: file.read_bytes() for file in bundled_persona_files()}
    assert bundled == {file.name: file.read_bytes() for file in (SHARED_DATA / "personas").glob("*.json")}


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

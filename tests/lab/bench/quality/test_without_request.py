"""The ranking without the request: no signal may read a word of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.train.tiny_tools import few_folds

from contextune.context.build_scene import RequestVectors
from contextune.context.signals import RequestClasses, Scene, compute_features
from contextune.datasets import Query, bundled_persona_file, read_persona
from contextune.embed import Embedder
from contextune.rank import RankerSettings
from contextune_lab.bench.quality.without_request import (
    RANDOM,
    WITHOUT_REQUEST,
    blank_request,
    without_request_rows,
)
from contextune_lab.train.embedder.data import embed_persona, situation_text
from contextune_lab.train.rankers.context import train as recipe
from contextune_lab.train.rankers.context.examples import PersonaScenes, from_folds

PERSONA = read_persona(bundled_persona_file("a01"))


def scene_of(query: Query, embedder: Embedder) -> Scene:
    rows, contents = embed_persona(PERSONA, embedder)
    scenes = PersonaScenes.build(PERSONA, rows, contents=contents)
    vectors = RequestVectors(*embedder.embed([query.text, situation_text(query)]))
    likely = {"Mail": 0.9, "Music": float(len(query.text) % 7) / 10}
    classes = RequestClasses({"habit": len(query.text) / 100}, likely, likely)
    return scenes.example(query, vectors, classes, 0).scene


@pytest.mark.parametrize("number", range(len(PERSONA.queries)))
def test_no_signal_of_a_blank_request_reads_its_words(number: int, word_embedder: Embedder) -> None:
    query = PERSONA.queries[number]
    contact = next(contact for contact in PERSONA.user.contacts if contact.relation)
    telling = (
        f"Did {contact.name}, my {contact.relation}, say no to {PERSONA.items[0].title} at home "
        "and at the lonxa last Tuesday at 5 pm, or play it tomorrow morning?"
    )
    said, other = (scene_of(replace(query, text=text), word_embedder) for text in (query.text, telling))
    assert not np.array_equal(compute_features(said), compute_features(other), equal_nan=True)
    np.testing.assert_array_equal(
        compute_features(blank_request(said)), compute_features(blank_request(other))
    )


def test_time_place_and_habits_stay(word_embedder: Embedder) -> None:
    scene = scene_of(PERSONA.queries[0], word_embedder)
    blank = blank_request(scene)
    assert (blank.now, blank.place, blank.uses, blank.items) == (
        scene.now,
        scene.place,
        scene.uses,
        scene.items,
    )
    later = replace(PERSONA.queries[0], time=PERSONA.queries[-1].time, place=PERSONA.queries[-1].place)
    moved = blank_request(scene_of(later, word_embedder))
    assert not np.array_equal(compute_features(blank)[:5], compute_features(moved)[:5], equal_nan=True)


def test_rows_rank_every_measured_request(
    tmp_path: Path, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe, "FIRST_PASS", RankerSettings(rounds=3, seeds=1, smallest_leaf=5))
    folds = few_folds(tmp_path / "folds.npz", word_embedder, 2)
    data = recipe.FeaturedExamples.build(from_folds(folds))
    rows = without_request_rows(data)
    assert list(rows) == [RANDOM, WITHOUT_REQUEST]
    ids = {example.name: example.ids for example in data.examples if example.measured}
    for run in rows.values():
        assert run.keys() == ids.keys()
        assert all(sorted(run[name]) == sorted(ids[name]) for name in ids)
    assert without_request_rows(data) == rows
    assert len({tuple(ranking) for ranking in rows[RANDOM].values()}) == len(ids)

"""The feature registry: complete, documented, and independent of later items and uses."""

import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.context.signals.conftest import NOW, MakeScene, call, event, note, song
from tests.paths import ROOT

from contextune.context.build_scene import RequestVectors, scene_from_vectors
from contextune.context.enriched.text import enriched_text
from contextune.context.index import UserIndex
from contextune.context.signals import (
    FAMILIES,
    FAMILY_BY_FEATURE,
    FEATURE_NAMES,
    RequestClasses,
    UseColumns,
    compute_features,
)
from contextune.datasets import bundled_personas, usage_events
from contextune.embed import default_embedder
from contextune.types import Item, Request, UsageEvent

ITEMS = [
    call("p1", "2024-05-16T17:20"),
    call("p2", "2024-05-15T20:12", "outgoing"),
    song("s1", "Fado loucura"),
    event("c1", "Glaze night", "2024-05-16T19:00", "2024-05-16T21:00", place="studio"),
    event("c2", "Dentist", "2024-05-20T09:00", "2024-05-20T09:30"),
    note("n1", "Cone 6 recipes", place="studio"),
]


def test_every_family_computes_its_features(make_scene: MakeScene) -> None:
    scene = make_scene("What did my brother want?", ITEMS)
    for name, family in FAMILIES.items():
        columns = family.compute(scene, scene.similarities.situated)
        assert set(columns) == set(family.features), name
        assert all(len(column) == len(ITEMS) for column in columns.values()), name


def test_every_feature_has_a_unique_name_and_a_description() -> None:
    assert (
        len(set(FEATURE_NAMES))
        == len(FEATURE_NAMES)
        == sum(len(family.features) for family in FAMILIES.values())
    )
    for family, entry in FAMILIES.items():
        for name, description in entry.features.items():
            assert FAMILY_BY_FEATURE[name] == family
            assert len(description) > 10, name


def test_docs_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "signals.md").read_text(encoding="utf-8")
    printed = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE))
    expected = {name: text for family in FAMILIES.values() for name, text in family.features.items()}
    assert printed == expected, "regenerate it: python -m contextune_lab.docs.signals_page > docs/signals.md"


def test_no_feature_is_infinite(make_scene: MakeScene) -> None:
    assert not np.isinf(compute_features(make_scene("What did my brother want?", ITEMS))).any()
    assert not np.isinf(
        compute_features(make_scene("?", [Item("x", "Recipes", {"name": "soup"})], place=None))
    ).any()


@pytest.mark.parametrize("number", [0, 40, 80])
def test_later_items_and_uses_do_not_change_features(number: int) -> None:
    persona = bundled_personas()[number]
    embedder = default_embedder()
    query = persona.queries[0]
    now = query.time
    later = [
        Item(f"later-{n}", item.app, {**item.fields, **_moved(item, now + timedelta(hours=n + 1))})
        for n, item in enumerate(persona.items)
        if item.made is not None
    ]
    again = [
        UsageEvent(item.id, now + timedelta(minutes=10 * n), query.place)
        for n, item in enumerate([*persona.items, *later])
    ]

    def matrix(items: list[Item], used: list[UsageEvent]) -> tuple[list[str], np.ndarray]:
        index = UserIndex(persona.user, items, embedder.embed)
        texts = [
            enriched_text(item, persona.user, [u for u in used if u.item == item.id and u.time < now])
            for item in index.items
        ]
        scene = scene_from_vectors(
            Request(query.text, persona.id, now, query.place),
            index,
            UseColumns.build(index.item_columns, used),
            vectors=embedder.embed(texts),
            contents=embedder.embed(texts),
            request_vectors=RequestVectors.build(persona.request(query), persona.user, embedder),
            request_classes=RequestClasses({}, {}, {}),
            depth=10,
        )
        return [item.id for item in scene.items], compute_features(scene)

    ids, before = matrix(list(persona.items), usage_events(persona))
    ids_after, after = matrix([*persona.items, *later], [*usage_events(persona), *again])
    assert ids == ids_after
    # a product of larger matrices may differ in the last bit
    np.testing.assert_allclose(before, after, atol=1e-5)


def _moved(item: Item, time: datetime) -> dict[str, str]:
    return {str(item.schema.made): time.isoformat()}


def test_request_without_place_has_unknown_place(make_scene: MakeScene) -> None:
    matrix = compute_features(make_scene("Who rang?", ITEMS, place=None))
    assert matrix[:, FEATURE_NAMES.index("place.known")].tolist() == [0] * len(ITEMS)


def test_features_are_relative_to_request_time(make_scene: MakeScene) -> None:
    early = compute_features(make_scene("Who rang?", ITEMS, now=NOW))
    late = compute_features(make_scene("Who rang?", ITEMS, now=NOW + timedelta(days=1)))
    column = FEATURE_NAMES.index("time.to start")
    assert np.nanmax(late[:, column]) < np.nanmax(early[:, column])

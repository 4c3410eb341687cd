"""The table of features: complete, explained, and blind to the future."""

import re
from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.context.signals.conftest import NOW, MakeScene, call, event, note, song
from tests.paths import ROOT

from contextune.context.build_scene import RequestVectors, scene_of
from contextune.context.enriched_text import enriched_text
from contextune.context.index import UserIndex
from contextune.context.signals import FAMILIES, FAMILY_OF, NAMES, RequestClasses, UseColumns, features
from contextune.datasets import bundled_personas, uses
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


def test_every_family_measures_what_it_names(scene: MakeScene) -> None:
    made = scene("What did my brother want?", ITEMS)
    for name, family in FAMILIES.items():
        columns = family.measure(made, made.likeness.situated)
        assert set(columns) == set(family.features), name
        assert all(len(column) == len(ITEMS) for column in columns.values()), name


def test_every_feature_is_explained_and_named_once() -> None:
    assert len(set(NAMES)) == len(NAMES) == sum(len(family.features) for family in FAMILIES.values())
    for family, entry in FAMILIES.items():
        for name, explanation in entry.features.items():
            assert FAMILY_OF[name] == family
            assert len(explanation) > 10, name


def test_the_docs_print_the_table() -> None:
    page = (ROOT / "docs" / "signals.md").read_text(encoding="utf-8")
    printed = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE))
    wanted = {name: text for family in FAMILIES.values() for name, text in family.features.items()}
    assert printed == wanted, "write it anew: python -m contextune.lab.docs.signals_page > docs/signals.md"


def test_no_feature_is_infinite(scene: MakeScene) -> None:
    assert not np.isinf(features(scene("What did my brother want?", ITEMS))).any()
    assert not np.isinf(features(scene("?", [Item("x", "Recipes", {"name": "soup"})], place=None))).any()


@pytest.mark.parametrize("number", [0, 40, 80])
def test_nothing_later_changes_a_feature(number: int) -> None:
    """Later items and later uses, of old items and of new ones, leave every feature as it was."""
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
        portraits = [
            enriched_text(item, persona.user, [u for u in used if u.item == item.id and u.time < now])
            for item in index.items
        ]
        made = scene_of(
            Request(query.text, persona.id, now, query.place),
            index,
            UseColumns.of(index.facts, used),
            vectors=embedder.embed(portraits),
            asked=RequestVectors.of(persona.request(query), persona.user, embedder),
            reading=RequestClasses({}, {}, {}),
            depth=10,
        )
        return [item.id for item in made.items], features(made)

    ids, before = matrix(list(persona.items), uses(persona))
    ids_after, after = matrix([*persona.items, *later], [*uses(persona), *again])
    assert ids == ids_after
    # a product of larger matrices may differ in the last bit
    np.testing.assert_allclose(before, after, atol=1e-5)


def _moved(item: Item, time: datetime) -> dict[str, str]:
    return {str(item.schema.made): time.isoformat()}


def test_a_request_without_a_place(scene: MakeScene) -> None:
    matrix = features(scene("Who rang?", ITEMS, place=None))
    assert matrix[:, NAMES.index("place.known")].tolist() == [0] * len(ITEMS)


def test_the_time_of_the_request_is_what_counts(scene: MakeScene) -> None:
    early = features(scene("Who rang?", ITEMS, now=NOW))
    late = features(scene("Who rang?", ITEMS, now=NOW + timedelta(days=1)))
    column = NAMES.index("time.to start")
    assert np.nanmax(late[:, column]) < np.nanmax(early[:, column])

"""What makes large stores quick changes nothing: it equals what one would work out item by item."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.counting_embedder import Counting

from contextune.context import ContextRetriever
from contextune.context.build_scene import RequestVectors, scene_of
from contextune.context.enriched_items import EnrichedItems
from contextune.context.enriched_text import Relations, enriched_text
from contextune.context.index import UserIndexCache, UserState
from contextune.context.signals import ItemColumns, RequestClasses, Scene
from contextune.context.signals.links import measure
from contextune.context.signals.registry import initial_strength
from contextune.datasets import bundled_personas
from contextune.embed import Embedder
from contextune.lab.bench.speed.large_users import LargeUsers, requests_of
from contextune.search import similarities
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, Request, UsageEvent, User, local_time

PERSONAS = bundled_personas()[:8]
NOON = datetime(2024, 5, 16, 12)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SQLiteStore, User]]:
    embedder = WordEmbedder()
    path: Path = tmp_path_factory.mktemp("crowd") / "store.db"
    with SQLiteStore(path) as store:
        yield store, LargeUsers.of(PERSONAS, embedder).settle(store, 1200, embedder.name)


def scenes(crowd: tuple[SQLiteStore, User], embedder: Embedder) -> Iterator[tuple[Request, UserState, Scene]]:
    store, user = crowd
    known = UserIndexCache(store, embedder).of(user.id)
    for request in requests_of(PERSONAS, 20, user):
        yield (
            request,
            known,
            scene_of(
                request,
                known.index,
                known.gallery.columns(known.index.facts),
                vectors=known.gallery.vectors(local_time(request.time, user.zone)),
                asked=RequestVectors.of(request, user, embedder),
                reading=RequestClasses({}, {}, {}),
                depth=10,
            ),
        )


def test_likeness_is_that_to_each_item(crowd: tuple[SQLiteStore, User], word_embedder: Embedder) -> None:
    for request, known, scene in scenes(crowd, word_embedder):
        vectors = known.gallery.vectors(request.time)[scene.rows]
        asked = RequestVectors.of(request, known.index.user, word_embedder)
        assert 200 < len(scene.rows) < len(known.index.items)
        for found, query in (
            (scene.likeness.situated, asked.meant),
            (scene.likeness.bare, asked.bare),
            (scene.likeness.around, asked.around),
        ):
            assert found.tolist() == similarities(query, vectors).tolist()


def test_uses_are_counted_of_the_candidates(crowd: tuple[SQLiteStore, User], word_embedder: Embedder) -> None:
    store, user = crowd
    uses = store.uses(user.id)
    for request, _, scene in scenes(crowd, word_embedder):
        before = [use for use in uses if use.time < request.time]
        wanted = [sum(use.item == item.id for use in before) for item in scene.items[::25]]
        assert scene.count()[::25].tolist() == wanted
        assert scene.count(scene.own.hour == 8)[::25].tolist() == [
            sum(use.item == item.id and use.time.hour == 8 for use in before) for item in scene.items[::25]
        ]


def test_ties_are_those_of_each_two_candidates(
    crowd: tuple[SQLiteStore, User], word_embedder: Embedder
) -> None:
    for _, known, scene in scenes(crowd, word_embedder):
        strength = initial_strength(scene)
        columns, top = measure(scene, strength), int(np.argmax(strength))
        people, others = known.index.facts.people, range(0, len(scene.rows), 7)
        contacts = [
            {*people.involved[row].tolist(), *people.mentioned[row].tolist()} - {-1} for row in scene.rows
        ]
        shared = [scene.rare_sets[n] & scene.rare_sets[top] for n in others]
        rare = [sum(scene.rare_words[word] for word in words) for words in shared]
        alike = [float(scene.vectors[n] @ scene.vectors[top]) for n in others]
        own = np.array([n != top for n in others])
        assert columns["links.person to top"][others].tolist() == [
            bool(contacts[n] & contacts[top]) and n != top for n in others
        ]
        np.testing.assert_allclose(columns["links.words to top"][others], rare * own, atol=1e-9)
        np.testing.assert_allclose(columns["links.meaning to top"][others], alike * own, atol=1e-5)


def test_nobody_has_nobody_in_common() -> None:
    facts = ItemColumns(User("ines"), [Item("1", "Notes", {"title": "kiln"})], [["kiln"]])
    assert not facts.people.shared(np.array([0]), np.array([0])).any()


def test_relations_are_those_of_the_address_book_in_its_order() -> None:
    user = User(
        "ines",
        contacts=(
            Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
            Contact("Ana", "Home@example.com"),
            Contact("Lia Reis", "home@example.com", None, "aunt"),
            Contact("Rui Duarte", None, None, "plumber"),
        ),
    )
    assert Relations(user).of(["HOME@example.com", "rui duarte", "nobody"]) == [
        "Rui: brother",
        "Lia: aunt",
        "Rui: plumber",
    ]
    assert Relations(user).of(["Ana"]) == []


def test_looking_back_some_portraits_are_as_all_are(word_embedder: Embedder) -> None:
    user = User("ines")
    items = [Item(str(number), "Notes", {"title": f"kiln {number}"}) for number in range(6)]
    uses = [UsageEvent(str(number % 4), NOON - timedelta(hours=12 - number)) for number in range(12)]
    counting = Counting(word_embedder)
    gallery = EnrichedItems(
        user,
        items,
        uses,
        lambda texts: dict(zip(texts, word_embedder.embed(list(texts.values())), strict=True)),
        counting.embed,
    )
    for hours in (0, 1, 3, 6, 20):
        now = NOON - timedelta(hours=hours)
        wanted = word_embedder.embed(
            [
                enriched_text(item, user, [use for use in uses if use.item == item.id and use.time < now])
                for item in items
            ]
        )
        assert np.array_equal(gallery.vectors(now), wanted)
        counting.texts.clear()
        assert np.array_equal(gallery.vectors(now, [5, 2]), wanted[[5, 2]])
        assert len(counting.texts) <= 1


def test_what_is_around_a_request_is_looked_up_for_what_it_hangs_on(
    crowd: tuple[SQLiteStore, User], word_embedder: Embedder
) -> None:
    store, user = crowd
    counting = Counting(word_embedder)
    retriever = ContextRetriever(store, counting)
    request = requests_of(PERSONAS, 1, user)[0]
    found = [hit.item.id for hit in retriever.rank(request, 5)]
    counting.texts.clear()
    around = retriever.around(request, found)
    assert not counting.texts
    stored = store.portraits(user.id, word_embedder.name, found)
    assert np.array_equal(around.vectors, np.stack([stored[name][1] for name in found]))

"""Optimisations for large stores give the same results as computing item by item."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import WordEmbedder
from tests.counting_embedder import CountingEmbedder

from contextune.context import ContextRetriever
from contextune.context.build_scene import RequestVectors, scene_from_vectors
from contextune.context.enriched.items import EnrichedItems
from contextune.context.enriched.text import Relations
from contextune.context.index import UserState
from contextune.context.index_cache import UserIndexCache
from contextune.context.signals import ItemColumns, RequestClasses, Scene, links
from contextune.context.signals.registry import initial_strength
from contextune.datasets import bundled_personas
from contextune.embed import Embedder
from contextune.search import similarities
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, Request, UsageEvent, User, local_time
from contextune_lab.bench.speed.large_users import LargeUsers, requests_for

PERSONAS = bundled_personas()[:8]
NOON = datetime(2024, 5, 16, 12)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SQLiteStore, User]]:
    embedder = WordEmbedder()
    path: Path = tmp_path_factory.mktemp("crowd") / "store.db"
    with SQLiteStore(path) as store:
        yield store, LargeUsers.from_personas(PERSONAS, embedder).store_user(store, 1200, embedder.name)


def scenes(crowd: tuple[SQLiteStore, User], embedder: Embedder) -> Iterator[tuple[Request, UserState, Scene]]:
    store, user = crowd
    state = UserIndexCache(store, embedder).get(user.id)
    for request in requests_for(PERSONAS, 20, user):
        yield (
            request,
            state,
            scene_from_vectors(
                request,
                state.index,
                state.enriched.columns(state.index.item_columns),
                vectors=state.enriched.vectors(local_time(request.time, user.zone)),
                contents=state.enriched.contents,
                request_vectors=RequestVectors.build(request, user, embedder),
                request_classes=RequestClasses({}, {}, {}),
                depth=10,
            ),
        )


def test_similarities_equal_per_item_similarity(
    crowd: tuple[SQLiteStore, User], word_embedder: Embedder
) -> None:
    for request, state, scene in scenes(crowd, word_embedder):
        vectors = state.enriched.vectors(request.time)[scene.rows]
        request_vectors = RequestVectors.build(request, state.index.user, word_embedder)
        assert 200 < len(scene.rows) < len(state.index.items)
        for actual, query in (
            (scene.similarities.situated, request_vectors.situated),
            (scene.similarities.text, request_vectors.text),
            (scene.similarities.moment, request_vectors.moment),
        ):
            assert actual.tolist() == similarities(query, vectors).tolist()


def test_uses_are_counted_per_candidate(crowd: tuple[SQLiteStore, User], word_embedder: Embedder) -> None:
    store, user = crowd
    uses = store.uses(user.id)
    for request, _, scene in scenes(crowd, word_embedder):
        before = [use for use in uses if use.time < request.time]
        expected = [sum(use.item == item.id for use in before) for item in scene.items[::25]]
        assert scene.count_uses()[::25].tolist() == expected
        assert scene.count_uses(scene.candidate_uses.hour == 8)[::25].tolist() == [
            sum(use.item == item.id and use.time.hour == 8 for use in before) for item in scene.items[::25]
        ]


def test_links_equal_pairwise_links(crowd: tuple[SQLiteStore, User], word_embedder: Embedder) -> None:
    for _, state, scene in scenes(crowd, word_embedder):
        strength = initial_strength(scene)
        columns, top = links.compute(scene, strength), int(np.argmax(strength))
        people, others = state.index.item_columns.people, range(0, len(scene.rows), 7)
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


def test_items_without_people_share_no_contact() -> None:
    item_columns = ItemColumns(User("ines"), [Item("1", "Notes", {"title": "kiln"})], [["kiln"]])
    assert not item_columns.people.share_contact(np.array([0]), np.array([0])).any()


def test_relations_follow_address_book_order() -> None:
    user = User(
        "ines",
        contacts=(
            Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
            Contact("Ana", "Home@example.com"),
            Contact("Lia Reis", "home@example.com", None, "aunt"),
            Contact("Rui Duarte", None, None, "plumber"),
        ),
    )
    assert Relations(user).describe(["HOME@example.com", "rui duarte", "nobody"]) == [
        "Rui: brother",
        "Lia: aunt",
        "Rui: plumber",
    ]
    assert Relations(user).describe(["Ana"]) == []


def test_past_vectors_are_those_of_the_uses_so_far_and_embed_nothing(word_embedder: Embedder) -> None:
    user = User("ines")
    items = [Item(str(number), "Notes", {"title": f"kiln {number}"}) for number in range(6)]
    uses = [UsageEvent(str(number % 4), NOON - timedelta(hours=12 - number)) for number in range(12)]
    counting = CountingEmbedder(word_embedder)

    def build(known: list[UsageEvent]) -> EnrichedItems:
        return EnrichedItems(
            user,
            items,
            known,
            lambda texts: dict(zip(texts, counting.embed(list(texts.values())), strict=True)),
            counting.embed,
        )

    enriched = build(uses)
    enriched.vectors(NOON)
    for hours in (0, 1, 3, 6, 20):
        now = NOON - timedelta(hours=hours)
        expected = build([use for use in uses if use.time < now]).vectors(NOON)
        counting.texts.clear()
        assert np.allclose(enriched.vectors(now), expected, atol=1e-6)
        assert np.array_equal(enriched.vectors(now, [5, 2]), enriched.vectors(now)[[5, 2]])
        assert not counting.texts
    assert not np.allclose(enriched.vectors(NOON), enriched.vectors(NOON - timedelta(hours=20)))


def test_tool_search_inputs_embed_nothing_again(
    crowd: tuple[SQLiteStore, User], word_embedder: Embedder
) -> None:
    store, user = crowd
    counting = CountingEmbedder(word_embedder)
    retriever = ContextRetriever(store, counting)
    request = requests_for(PERSONAS, 1, user)[0]
    ids = [hit.item.id for hit in retriever.rank(request, 5)]
    counting.texts.clear()
    inputs = retriever.tool_search_inputs(request, ids)
    assert not counting.texts
    assert inputs.vectors.shape == (len(ids), word_embedder.embed(["x"]).shape[1])
    assert np.allclose(np.linalg.norm(inputs.vectors, axis=1), 1, atol=1e-4)

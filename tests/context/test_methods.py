"""What every way to rank keeps to, over one bundled persona and over items small enough to check by hand."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest

from contextune._internal.assets import asset
from contextune.context import DEFAULT_METHOD, METHODS, ContextRetriever
from contextune.datasets import Persona, load_persona, read_persona
from contextune.embed import Embedder
from contextune.errors import InvalidRequestError
from contextune.search import LexicalIndex, tokenize
from contextune.store import SQLiteStore
from contextune.types import Item, ItemHit, Request, Turn, User

NOON = datetime(2024, 5, 16, 12)

each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def persona(store: SQLiteStore) -> Persona:
    persona = read_persona(asset("personas") / "a01.json")
    load_persona(store, persona)
    return persona


def note(name: str, text: str, app: str = "Notes") -> Item:
    return Item(name, app, {"title": text})


def put(store: SQLiteStore, *items: Item) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", items)


def ids(hits: Sequence[ItemHit]) -> list[str]:
    return [hit.item.id for hit in hits]


def test_default_method_exists() -> None:
    assert DEFAULT_METHOD in METHODS


@each_method
def test_every_visible_item_is_ranked_once(
    method: str, store: SQLiteStore, persona: Persona, word_embedder: Embedder
) -> None:
    retriever = ContextRetriever(store, word_embedder, method=method)
    for query in persona.queries:
        hits = retriever.rank(persona.request(query))
        seen = [item.id for item in persona.items if item.made is None or item.made <= query.time]
        assert Counter(ids(hits)) == Counter(seen)
        assert all(first.score >= second.score for first, second in pairwise(hits))


@each_method
def test_top_k_is_prefix_of_full_ranking(
    method: str, store: SQLiteStore, persona: Persona, word_embedder: Embedder
) -> None:
    retriever = ContextRetriever(store, word_embedder, method=method)
    request = persona.request(persona.queries[0])
    everything = retriever.rank(request)
    for k in (1, 2, 7, len(everything), len(everything) + 50):
        assert retriever.rank(request, k) == everything[:k]


@each_method
def test_hits_contain_stored_items(method: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    items = [note("1", "celadon glaze"), note("2", "rowing club")]
    put(store, *items)
    hits = ContextRetriever(store, word_embedder, method=method).rank(Request("glaze", "ines", NOON))
    assert [hit.item for hit in hits] == items
    assert hits[0].score > hits[1].score


@each_method
def test_spelling_variants_match(method: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    put(store, note("1", "rowing"), note("2", "the STRASSE"), note("3", "pottery"))
    hits = ContextRetriever(store, word_embedder, method=method).rank(Request("Straße?", "ines", NOON))
    assert ids(hits)[0] == "2"


def test_bm25_keeps_order_within_each_application(
    store: SQLiteStore, persona: Persona, word_embedder: Embedder
) -> None:
    retriever = ContextRetriever(store, word_embedder, method="bm25")
    for query in persona.queries:
        apps: defaultdict[str, list[Item]] = defaultdict(list)
        for item in sorted(persona.items, key=lambda item: item.id):
            if item.made is None or item.made <= query.time:
                apps[item.app].append(item)
        joined = retriever.rank(persona.request(query))
        for app, items in apps.items():
            scores = LexicalIndex([tokenize(item.text) for item in items]).scores(tokenize(query.text))
            alone = [items[int(place)].id for place in np.argsort(-scores, kind="stable")]
            assert [hit.item.id for hit in joined if hit.item.app == app] == alone


def test_bm25_interleaves_applications(store: SQLiteStore, word_embedder: Embedder) -> None:
    put(
        store,
        note("a1", "kiln", "Notes"),
        note("a2", "nothing", "Notes"),
        note("b1", "kiln firing slots", "Reminders"),
        note("b2", "kiln", "Reminders"),
        note("b3", "nothing", "Reminders"),
        note("c1", "nothing", "Journal"),
    )
    hits = ContextRetriever(store, word_embedder, method="bm25").rank(
        Request("kiln firing slots", "ines", NOON)
    )
    # the application with the better match leads; items that match nothing come after all others
    assert ids(hits) == ["b1", "a1", "b2", "c1", "a2", "b3"]
    assert hits[0].score == hits[1].score > hits[2].score > 0
    assert [hit.score for hit in hits[3:]] == [0, 0, 0]


def test_semantic_compares_across_applications(store: SQLiteStore, word_embedder: Embedder) -> None:
    put(
        store,
        Item("m1", "Music", {"song_name": "rain rain"}),
        note("n1", "kiln slots"),
        note("n2", "kiln"),
    )
    retriever = ContextRetriever(store, word_embedder, method="semantic")
    hits = retriever.rank(Request("kiln slots", "ines", NOON))
    assert ids(hits) == ["n1", "n2", "m1"]
    texts = ["kiln slots", *(hit.item.text for hit in hits)]
    query, *rows = word_embedder.embed(texts)
    assert [hit.score for hit in hits] == pytest.approx([float(row @ query) for row in rows], abs=1e-6)


def test_reasons_name_shared_words(store: SQLiteStore, word_embedder: Embedder) -> None:
    put(store, note("1", "Marta's kiln slots"), note("2", "rowing"))
    request = Request("Slots for the KILN of Marta? Kiln!", "ines", NOON)
    best, other = ContextRetriever(store, word_embedder, method="bm25").rank(request)
    assert best.reasons == ("shares the words: slots, kiln, marta",)
    assert other.reasons == ()

    best, other = ContextRetriever(store, word_embedder, method="semantic").rank(request)
    assert best.reasons == (f"semantic similarity {best.score:.2f}",)
    assert other.reasons == (f"semantic similarity {other.score:.2f}",)

    best, other = ContextRetriever(store, word_embedder, method="hybrid").rank(request)
    assert [reason.rpartition(" ")[0] for reason in best.reasons] == [
        "shares the words: slots, kiln,",
        "semantic similarity",
    ]
    assert len(other.reasons) == 1


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("learned", "reading")])
def test_ties_are_broken_by_id(method: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    items = [note(f"{number:02}", "same words") for number in range(30)]
    put(store, *reversed(items))
    retriever = ContextRetriever(store, word_embedder, method=method)
    for text in ("same words", "other"):
        assert ids(retriever.rank(Request(text, "ines", NOON))) == [item.id for item in items]
        assert ids(retriever.rank(Request(text, "ines", NOON), 7)) == [item.id for item in items[:7]]


def test_hybrid_rewards_agreement(store: SQLiteStore, word_embedder: Embedder) -> None:
    put(
        store,
        note("1", "rowing"),
        note("2", "kiln slots"),
        note("3", "kiln and much else in many more words"),
    )
    hits = ContextRetriever(store, word_embedder, method="hybrid").rank(Request("kiln slots", "ines", NOON))
    assert ids(hits) == ["2", "3", "1"]
    assert hits[0].score == pytest.approx(3 / 61)


def test_hybrid_ranks_items_without_shared_words_by_meaning(
    store: SQLiteStore, word_embedder: Embedder
) -> None:
    put(store, *(note(f"{number:02}", "rowing") for number in range(30)))
    request = Request("kiln", "ines", NOON)
    hybrid, semantic = (
        ContextRetriever(store, word_embedder, method=method).rank(request)
        for method in ("hybrid", "semantic")
    )
    assert ids(hybrid) == ids(semantic)
    # no match: every item has the first rank in both lexical lists
    assert hybrid[0].score == pytest.approx(3 / 61)
    assert hybrid[1].score == pytest.approx(2 / 61 + 1 / 62)


def test_hybrid_sums_reciprocal_ranks(store: SQLiteStore, persona: Persona, word_embedder: Embedder) -> None:
    rankings = {
        method: ContextRetriever(store, word_embedder, method=method)
        for method in ("bm25", "semantic", "hybrid")
    }
    for query in persona.queries:
        request = persona.request(query)
        hits = {method: retriever.rank(request) for method, retriever in rankings.items()}
        items = sorted((hit.item for hit in hits["hybrid"]), key=lambda item: (item.app, item.id))
        scores = LexicalIndex([tokenize(item.text) for item in items]).scores(tokenize(query.text))
        lists = [
            [hit.item.id for hit in hits["bm25"] if hit.score > 0],
            [items[int(place)].id for place in np.argsort(-scores, kind="stable") if scores[place] > 0],
            ids(hits["semantic"]),
        ]
        for hit in hits["hybrid"]:
            # an item that shares no word has the rank after the last match
            ranks = [1 + (part.index(hit.item.id) if hit.item.id in part else len(part)) for part in lists]
            assert hit.score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))


@pytest.mark.parametrize("method", ["bm25", "semantic", "hybrid", "situated"])
def test_preceding_turns_complete_the_request(
    method: str, store: SQLiteStore, word_embedder: Embedder
) -> None:
    put(store, note("1", "rowing club"), note("2", "call with Lola"), note("3", "back pain"))
    retriever = ContextRetriever(store, word_embedder, method=method)
    turns = (Turn("user", "Are there missed calls from Lola?"),)
    alone = Request("What about her?", "ines", NOON)
    score = {hit.item.id: hit.score for hit in retriever.rank(replace(alone, history=turns))}
    assert max(score, key=score.__getitem__) == "2"
    before = {hit.item.id: hit.score for hit in retriever.rank(alone)}
    assert score["2"] - score["1"] > before["2"] - before["1"]


def test_unknown_method_is_rejected(store: SQLiteStore, word_embedder: Embedder) -> None:
    with pytest.raises(
        InvalidRequestError, match="unknown method 'magic': choose one of bm25, semantic, hybrid"
    ):
        ContextRetriever(store, word_embedder, method="magic")

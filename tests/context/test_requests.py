"""Requests that cannot be answered, and those that can though little is state."""

from datetime import datetime

import pytest

from contextune.context import METHODS, ContextRetriever
from contextune.embed import Embedder
from contextune.errors import InvalidRequestError, UnknownUserError
from contextune.store import SQLiteStore
from contextune.types import Coordinates, Item, Request, User

NOON = datetime(2024, 5, 16, 12)

each_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def retriever(store: SQLiteStore, word_embedder: Embedder) -> ContextRetriever:
    store.put_user(User("ines", places={"home": (41.15, -8.63), "studio": (41.14, -8.61)}))
    store.put_items("ines", [Item("1", "Notes", {"title": "kiln"})])
    return ContextRetriever(store, word_embedder)


def test_unknown_user_is_rejected(retriever: ContextRetriever) -> None:
    with pytest.raises(UnknownUserError, match="'rui'"):
        retriever.rank(Request("kiln", "rui", NOON))
    with pytest.raises(UnknownUserError, match="'rui'"):
        retriever.prepare("rui")


def test_unknown_place_error_lists_known_places(retriever: ContextRetriever) -> None:
    with pytest.raises(
        InvalidRequestError, match="'ines' has no place 'moon': use one of anywhere, commute, home, studio"
    ):
        retriever.rank(Request("kiln", "ines", NOON, place="moon"))


@pytest.mark.parametrize("place", [None, "home", "studio", "commute", "anywhere", (0.0, 0.0), (-90.0, 180.0)])
def test_known_places_are_accepted(retriever: ContextRetriever, place: str | Coordinates | None) -> None:
    assert len(retriever.rank(Request("kiln", "ines", NOON, place=place))) == 1


def test_place_with_an_address_counts_by_name_and_not_by_distance(
    store: SQLiteStore, retriever: ContextRetriever
) -> None:
    store.put_user(User("ines", places={"studio": "4 Mill Lane, Leeds", "home": (41.15, -8.63)}))
    items = [
        Item.note(id=f"n{place}", title="kiln", modified=NOON, place=place) for place in ("studio", "home")
    ]
    store.put_items("ines", items)
    at_studio = retriever.rank(Request("kiln", "ines", NOON, place="studio"))
    assert at_studio[0].item.place == "studio"
    assert retriever.rank(Request("kiln", "ines", NOON, place=(41.15, -8.63)))[0].item.place == "home"
    assert len(retriever.rank(Request("kiln", "ines", NOON, place=(53.8, -1.55)))) > 1


def test_place_added_later_is_accepted(store: SQLiteStore, retriever: ContextRetriever) -> None:
    request = Request("kiln", "ines", NOON, place="moon")
    with pytest.raises(InvalidRequestError):
        retriever.rank(request)
    store.put_user(User("ines", places={"moon": (0.0, 0.0)}))
    assert len(retriever.rank(request)) == 1


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_is_rejected(retriever: ContextRetriever, k: int) -> None:
    with pytest.raises(InvalidRequestError, match=f"k={k}: ask for at least one"):
        retriever.rank(Request("kiln", "ines", NOON), k)


@each_method
@pytest.mark.parametrize("k", [None, 1, 10])
def test_user_without_items_gets_no_hits(
    method: str, k: int | None, store: SQLiteStore, word_embedder: Embedder
) -> None:
    store.put_user(User("rui"))
    retriever = ContextRetriever(store, word_embedder, method=method)
    retriever.prepare("rui")
    assert retriever.rank(Request("kiln", "rui", NOON), k) == []


@each_method
def test_no_hits_before_any_item_exists(method: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("rui"))
    store.put_items("rui", [Item("m1", "Mail", {"subject": "kiln", "date": "2024-05-17"})])
    retriever = ContextRetriever(store, word_embedder, method=method)
    assert retriever.rank(Request("kiln", "rui", NOON)) == []
    assert len(retriever.rank(Request("kiln", "rui", datetime(2024, 5, 17)))) == 1


@each_method
@pytest.mark.parametrize("text", ["?!", "🎉", "zzz", "x" * 10_000, "kiln " * 3_000, "\x00", "مرحبا"])
def test_unusual_text_is_ranked(method: str, text: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("rui"))
    store.put_items("rui", [Item("1", "Notes", {"title": "kiln"}), Item("2", "Recipes", {})])
    hits = ContextRetriever(store, word_embedder, method=method).rank(Request(text, "rui", NOON))
    assert {hit.item.id for hit in hits} == {"1", "2"}

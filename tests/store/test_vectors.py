"""Vectors are stored by text digest, and deleted with the text."""

import numpy as np
import pytest

from contextune.store import SQLiteStore, Vector, text_digest
from contextune.types import Item, User


def vector(seed: int) -> Vector:
    return np.random.default_rng(seed).standard_normal(384).astype(np.float32)


def note(name: str, title: str) -> Item:
    return Item(name, "Notes", {"title": title, "modified": "2024-05-16T19:00"})


TEA, MILK = note("tea", "buy tea"), note("milk", "buy milk")
DIGESTS = [text_digest(TEA.text), text_digest(MILK.text)]


@pytest.fixture
def ana(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ana"))
    store.put_items("ana", [TEA, MILK])
    for seed, model in enumerate(("small", "large")):
        store.put_vectors("ana", model, {digest: vector(seed) for digest in DIGESTS})
    return store


def stored(store: SQLiteStore, model: str) -> list[bool]:
    vectors = store.vectors("ana", model, DIGESTS)
    return [digest in vectors for digest in DIGESTS]


def test_digests_are_stable() -> None:
    assert text_digest("Notes — chá").hex() == "de566ead1adc214aa87841a6b0ff162f"
    assert len(text_digest("")) == 16
    assert text_digest("caf\udce9") != text_digest("café")


def test_vectors_round_trip_exactly(ana: SQLiteStore) -> None:
    vectors = ana.vectors("ana", "large", [*DIGESTS, b"none"])
    assert set(vectors) == set(DIGESTS)
    for row in vectors.values():
        assert row.dtype == np.float32
        assert row.tobytes() == vector(1).tobytes()


def test_vector_is_replaced(ana: SQLiteStore) -> None:
    ana.put_vectors("ana", "large", {DIGESTS[0]: vector(9)})
    assert np.array_equal(ana.vectors("ana", "large", DIGESTS)[DIGESTS[0]], vector(9))
    assert np.array_equal(ana.vectors("ana", "small", DIGESTS)[DIGESTS[0]], vector(0))


def test_many_vectors(ana: SQLiteStore) -> None:
    many = {text_digest(str(n)): vector(n) for n in range(1200)}
    ana.put_vectors("ana", "small", many)
    vectors = ana.vectors("ana", "small", list(many))
    assert all(np.array_equal(vectors[digest], row) for digest, row in many.items())
    assert len(vectors) == len(many)


def test_deleted_item_loses_its_vectors_of_all_models(ana: SQLiteStore) -> None:
    ana.delete_items("ana", ["tea"])
    assert stored(ana, "small") == stored(ana, "large") == [False, True]


def test_changed_text_loses_its_vectors(ana: SQLiteStore) -> None:
    ana.put_items("ana", [note("tea", "buy coffee")])
    assert stored(ana, "small") == stored(ana, "large") == [False, True]


def test_unchanged_text_keeps_its_vectors(ana: SQLiteStore) -> None:
    ana.put_items("ana", [Item("tea", "Notes", {**TEA.fields, "modified": "2024-05-17T08:00"})])
    assert ana.items("ana", ["tea"])[0].fields["modified"] == "2024-05-17T08:00"
    assert stored(ana, "small") == stored(ana, "large") == [True, True]

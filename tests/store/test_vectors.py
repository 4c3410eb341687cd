"""Vectors are kept by what they are of, and go when the words go."""

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


def kept(store: SQLiteStore, model: str) -> list[bool]:
    found = store.vectors("ana", model, DIGESTS)
    return [digest in found for digest in DIGESTS]


def test_digests_are_stable() -> None:
    assert text_digest("Notes — chá").hex() == "de566ead1adc214aa87841a6b0ff162f"
    assert len(text_digest("")) == 16
    assert text_digest("caf\udce9") != text_digest("café")


def test_they_come_back_bit_by_bit(ana: SQLiteStore) -> None:
    found = ana.vectors("ana", "large", [*DIGESTS, b"none"])
    assert set(found) == set(DIGESTS)
    for one in found.values():
        assert one.dtype == np.float32
        assert one.tobytes() == vector(1).tobytes()


def test_a_vector_is_replaced(ana: SQLiteStore) -> None:
    ana.put_vectors("ana", "large", {DIGESTS[0]: vector(9)})
    assert np.array_equal(ana.vectors("ana", "large", DIGESTS)[DIGESTS[0]], vector(9))
    assert np.array_equal(ana.vectors("ana", "small", DIGESTS)[DIGESTS[0]], vector(0))


def test_many(ana: SQLiteStore) -> None:
    many = {text_digest(str(n)): vector(n) for n in range(1200)}
    ana.put_vectors("ana", "small", many)
    found = ana.vectors("ana", "small", list(many))
    assert all(np.array_equal(found[digest], one) for digest, one in many.items())
    assert len(found) == len(many)


def test_they_go_with_a_deleted_item_under_every_model(ana: SQLiteStore) -> None:
    ana.delete_items("ana", ["tea"])
    assert kept(ana, "small") == kept(ana, "large") == [False, True]


def test_they_go_with_a_text_that_is_replaced(ana: SQLiteStore) -> None:
    ana.put_items("ana", [note("tea", "buy coffee")])
    assert kept(ana, "small") == kept(ana, "large") == [False, True]


def test_they_stay_where_the_text_stays(ana: SQLiteStore) -> None:
    ana.put_items("ana", [Item("tea", "Notes", {**TEA.fields, "modified": "2024-05-17T08:00"})])
    assert ana.items("ana", ["tea"])[0].fields["modified"] == "2024-05-17T08:00"
    assert kept(ana, "small") == kept(ana, "large") == [True, True]

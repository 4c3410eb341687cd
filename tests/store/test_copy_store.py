"""A copy of a store has the same data in the other kind of store, and goes on after a failure."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from contextune.errors import StoreError
from contextune.store import ServiceStore, SQLiteStore, open_store, text_digest
from contextune.store.copy_store import copy_store, digest_user
from contextune.types import Contact, Feedback, Item, Request, UsageEvent, User

NOON = datetime(2024, 5, 16, 12)


@pytest.fixture
def source(tmp_path: Path) -> Iterator[ServiceStore]:
    with SQLiteStore(tmp_path / "source.db") as store:
        for user in ("ana", "rui"):
            store.put_user(User(user, {"name": user}, {"home": (1.0, 2.0)}, (Contact("Zaunkönig"),)))
            items = [Item(str(number), "Notes", {"title": f"{user} {number}"}) for number in range(7)]
            store.put_items(user, items)
            uses = [
                UsageEvent("1", NOON),
                UsageEvent("2", NOON.replace(tzinfo=UTC), ""),
                UsageEvent("2", NOON, "x"),
            ]
            store.put_uses(user, uses)
            store.put_feedback(user, Feedback(Request("kiln?", user, NOON), ("1",), (), "send"))
            store.put_feedback(user, Feedback(Request("boat?", user, NOON), (), ("2",), None))
            row = np.arange(3, dtype=np.float32)
            store.put_vectors(user, "m", {text_digest(item.text): row for item in items})
            store.put_enriched_vectors(user, "n", {"1": (b"digest", row)})
        yield store


def test_copy_has_the_same_data(source: ServiceStore, any_store: ServiceStore) -> None:
    result = copy_store(source, any_store)
    assert (result.users, result.skipped) == (2, 0)
    assert result.rows == {
        "users": 2,
        "items": 14,
        "uses": 6,
        "feedback": 4,
        "vectors": 14,
        "enriched vectors": 2,
    }
    for user in ("ana", "rui"):
        assert any_store.items(user) == source.items(user)
        assert any_store.uses(user) == source.uses(user)
        assert any_store.feedback(user) == source.feedback(user)
        assert digest_user(any_store, user) == digest_user(source, user)
    assert copy_store(source, any_store).skipped == 2


def test_copy_goes_on_after_a_failure(
    source: ServiceStore, any_store: ServiceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> NoReturn:
        raise StoreError("the target is gone")

    with monkeypatch.context() as patch:
        patch.setattr(any_store, "put_enriched_vectors", fail)
        with pytest.raises(StoreError, match="the target is gone"):
            copy_store(source, any_store)
    assert any_store.users() == ["ana"]
    copy_store(source, any_store)
    assert [digest_user(any_store, user) for user in source.users()] == [
        digest_user(source, user) for user in source.users()
    ]


def test_copy_over_other_data_is_reported(source: ServiceStore, any_store: ServiceStore) -> None:
    any_store.put_user(User("ana"))
    any_store.put_items("ana", [Item("other", "Notes", {"title": "x"})])
    with pytest.raises(StoreError, match=r"user 'ana' differs from the original \(8 instead of 7 items"):
        copy_store(source, any_store)


def test_copy_back_from_postgres_is_the_original(
    source: ServiceStore, postgres_url: str, tmp_path: Path
) -> None:
    with open_store(postgres_url) as between, open_store(tmp_path / "back.db") as back:
        copy_store(source, between)
        copy_store(between, back)
        assert digest_user(back, "ana") == digest_user(source, "ana")

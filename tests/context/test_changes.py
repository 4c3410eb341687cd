"""Changed data is used by the next request; unchanged data is not computed again."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from unittest.mock import Mock

import pytest

from contextune.context import METHODS, ContextRetriever, index_cache
from contextune.context.index_cache import UserIndexCache
from contextune.embed import Embedder, Matrix
from contextune.errors import UnknownUserError
from contextune.store import SQLiteStore
from contextune.types import Item, Request, UsageEvent, User

NOON = datetime(2024, 5, 16, 12)
REQUEST = Request("kiln slots", "ines", NOON)

each_method = pytest.mark.parametrize("method", METHODS)


class Counting:
    """An embedder that counts the texts it embeds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.embedded: Counter[str] = Counter()

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.embedded.update(texts)
        return self._embedder.embed(texts)


def note(name: str, text: str) -> Item:
    return Item(name, "Notes", {"title": text})


def ids(retriever: ContextRetriever, request: Request = REQUEST) -> list[str]:
    return [hit.item.id for hit in retriever.rank(request)]


@pytest.fixture
def filled(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ines"))
    store.put_items("ines", [note("1", "kiln slots"), note("2", "kiln"), note("3", "rowing")])
    return store


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("learned", "reading")])
def test_ranking_follows_writes_of_another_connection(
    method: str, filled: SQLiteStore, word_embedder: Embedder
) -> None:
    retriever = ContextRetriever(filled, word_embedder, method=method)
    assert ids(retriever) == ["1", "2", "3"]
    with SQLiteStore(filled.path) as other:
        other.put_items("ines", [note("0", "kiln slots are free"), note("1", "nothing here")])
        assert ids(retriever) == ["0", "2", "1", "3"]
        other.delete_items("ines", ["0", "3"])
    assert ids(retriever) == ["2", "1"]


@each_method
def test_incremental_update_equals_rebuild(method: str, filled: SQLiteStore, word_embedder: Embedder) -> None:
    retriever = ContextRetriever(filled, word_embedder, method=method)
    changes = [
        lambda: filled.put_items("ines", [note("0", "talc"), Item("9", "Journal", {"title": "kiln"})]),
        lambda: filled.put_items("ines", [note("2", "the kiln has slots"), note("3", "rowing")]),
        lambda: filled.delete_items("ines", ["1", "9"]),
        lambda: filled.delete_items("ines", ["0", "2", "3"]),
        lambda: filled.put_items("ines", [note("5", "kiln")]),
    ]
    for change in changes:
        retriever.rank(REQUEST)
        change()
        assert retriever.rank(REQUEST) == ContextRetriever(filled, word_embedder, method=method).rank(REQUEST)


def test_forgotten_user_is_unknown_at_once(filled: SQLiteStore, word_embedder: Embedder) -> None:
    retriever = ContextRetriever(filled, word_embedder)
    assert ids(retriever)
    filled.forget("ines")
    with pytest.raises(UnknownUserError, match="'ines'"):
        retriever.rank(REQUEST)
    filled.put_user(User("ines"))
    filled.put_items("ines", [note("7", "another life")])
    assert ids(retriever) == ["7"]


@each_method
def test_users_do_not_see_items_of_others(method: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    for user in ("ines", "rui"):
        store.put_user(User(user))
        store.put_items(user, [note("1", f"kiln slots of {user}"), note(f"of {user}", "kiln slots")])
    retriever = ContextRetriever(store, word_embedder, method=method)
    for user in ("ines", "rui", "ines"):
        hits = retriever.rank(Request("kiln slots of ines and rui", user, NOON))
        assert {hit.item.title for hit in hits} == {f"kiln slots of {user}", "kiln slots"}
        assert {hit.item.id for hit in hits} == {"1", f"of {user}"}


@each_method
def test_scores_do_not_depend_on_other_users(
    method: str, filled: SQLiteStore, word_embedder: Embedder
) -> None:
    before = ContextRetriever(filled, word_embedder, method=method).rank(REQUEST)
    filled.put_user(User("rui"))
    filled.put_items("rui", [note(str(number), "kiln slots") for number in range(9)])
    assert ContextRetriever(filled, word_embedder, method=method).rank(REQUEST) == before


def test_learned_ranking_sees_writes_of_another_connection(
    filled: SQLiteStore, word_embedder: Embedder
) -> None:
    retriever = ContextRetriever(filled, word_embedder)
    assert sorted(ids(retriever)) == ["1", "2", "3"]
    with SQLiteStore(filled.path) as other:
        other.put_items("ines", [note("0", "kiln slots are free")])
        other.delete_items("ines", ["3"])
        assert sorted(ids(retriever)) == ["0", "1", "2"]


def test_texts_are_embedded_once(filled: SQLiteStore, word_embedder: Embedder) -> None:
    counting = Counting(word_embedder)
    first = ContextRetriever(filled, counting, method="semantic")
    for _ in range(3):
        first.rank(REQUEST)
    texts = {item.text for item in filled.items("ines")}
    assert counting.embedded == dict.fromkeys([*texts, "kiln slots"], 1)

    filled.put_uses("ines", [UsageEvent("1", NOON)])
    filled.put_user(User("ines", {"age": 35}))
    filled.put_items("ines", [note("1", "kiln slots"), note("4", "talc")])
    first.rank(REQUEST)
    assert counting.embedded == dict.fromkeys([*texts, "kiln slots", note("4", "talc").text], 1)

    # another tuner, another process, another day: only the request is new to it
    counting.embedded.clear()
    with SQLiteStore(filled.path) as other:
        ContextRetriever(other, counting, method="semantic").rank(REQUEST)
    assert counting.embedded == {"kiln slots": 1}


def test_only_new_contents_and_habits_are_embedded(filled: SQLiteStore, word_embedder: Embedder) -> None:
    counting = Counting(word_embedder)
    retriever = ContextRetriever(filled, counting)
    for _ in range(3):
        retriever.rank(REQUEST)
    assert sum(counting.embedded.values()) == 5  # three items, the request, and its moment
    counting.embedded.clear()

    def embedded_after(*uses: UsageEvent) -> list[str]:
        filled.put_uses("ines", uses)
        retriever.rank(REQUEST)
        embedded = list(counting.embedded)
        counting.embedded.clear()
        return embedded

    morning = NOON.replace(hour=8)
    assert embedded_after(UsageEvent("1", morning, "home")) == ["opened once, morning, home"]
    assert embedded_after(UsageEvent("2", morning, "home")) == []  # the same habit of another item
    twice, thrice, often = (morning - timedelta(days=7 * weeks) for weeks in (1, 2, 3))
    assert len(embedded_after(UsageEvent("1", twice, "home"))) == 1
    assert embedded_after(UsageEvent("1", thrice, "home")) == []  # "a few times" holds for two and for three
    assert len(embedded_after(UsageEvent("1", often, "home"))) == 1

    with SQLiteStore(filled.path) as other:  # in another process all of it is there
        ContextRetriever(other, counting).rank(REQUEST)
    assert sum(counting.embedded.values()) == 2


def test_enriched_vectors_are_deleted_with_their_item(filled: SQLiteStore, word_embedder: Embedder) -> None:
    ContextRetriever(filled, word_embedder).prepare("ines")
    assert set(filled.enriched_vectors("ines", word_embedder.name)) == {"1", "2", "3"}
    filled.delete_items("ines", ["1"])
    filled.put_items("ines", [note("2", "other words")])
    assert set(filled.enriched_vectors("ines", word_embedder.name)) == {"3"}


def test_bm25_does_not_embed(filled: SQLiteStore, word_embedder: Embedder) -> None:
    counting = Counting(word_embedder)
    ContextRetriever(filled, counting, method="bm25").rank(REQUEST)
    assert not counting.embedded


def test_equal_texts_are_embedded_once(store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", [note(str(number), "kiln") for number in range(5)])
    counting = Counting(word_embedder)
    ContextRetriever(store, counting).rank(REQUEST)
    assert counting.embedded[note("1", "kiln").text] == 1


def test_each_embedder_has_its_own_vectors(filled: SQLiteStore, word_embedder: Embedder) -> None:
    ContextRetriever(filled, word_embedder).prepare("ines")
    counting = Counting(word_embedder)
    counting.name = "another model"
    ContextRetriever(filled, counting).rank(REQUEST)
    assert {item.text for item in filled.items("ines")} <= counting.embedded.keys()


def test_index_is_cached_until_items_change(filled: SQLiteStore, word_embedder: Embedder) -> None:
    indexes = UserIndexCache(filled, word_embedder)
    state = indexes.get("ines")
    assert indexes.get("ines") is state
    ContextRetriever(filled, word_embedder).prepare("ines")  # storing vectors is not a change
    assert indexes.get("ines") is state
    filled.put_uses("ines", [UsageEvent("1", NOON)])
    assert indexes.get("ines").index is state.index
    assert indexes.get("ines").enriched is not state.enriched
    filled.put_items("ines", [note("4", "talc")])
    assert [item.id for item in indexes.get("ines").index.items] == ["1", "2", "3", "4"]
    assert [item.id for item in state.index.items] == ["1", "2", "3"]  # the old state stays valid


def test_only_changes_are_read_from_the_store(
    filled: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    retriever = ContextRetriever(filled, word_embedder)
    retriever.rank(REQUEST)
    with SQLiteStore(filled.path) as other:
        expected = ContextRetriever(other, word_embedder)
        for name in ("items", "uses"):
            monkeypatch.setattr(filled, name, pytest.fail)
        other.put_uses("ines", [UsageEvent("2", NOON - timedelta(hours=1))])
        assert retriever.rank(REQUEST) == expected.rank(REQUEST)
        other.put_items("ines", [note("0", "kiln slots are free"), note("1", "talc")])
        assert retriever.rank(REQUEST) == expected.rank(REQUEST)
        other.delete_items("ines", ["2"])
        assert retriever.rank(REQUEST) == expected.rank(REQUEST)


def test_use_that_was_read_already_is_not_counted_twice(
    filled: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes, revision = UserIndexCache(filled, word_embedder), filled.revision("ines")
    filled.put_uses("ines", [UsageEvent("1", NOON)])
    filled.put_items("ines", [note("4", "talc")])
    with monkeypatch.context() as patch:  # the revision is read before these writes, the data after them
        patch.setattr(SQLiteStore, "revision", Mock(return_value=revision))
        assert len(indexes.get("ines").enriched.uses) == 1
    state = indexes.get("ines")
    assert state.revision == filled.revision("ines")
    assert state.enriched.uses == [UsageEvent("1", NOON)]
    assert [item.id for item in state.index.items] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("max_items", [0, 60, 100])
def test_cache_keeps_recently_used_users(
    max_items: int, store: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_cache, "MAX_ITEMS", max_items)
    users = [f"user {number:03}" for number in range(70)]
    for user in users:
        store.put_user(User(user))
        store.put_items(user, [note(user, "kiln")])
    indexes = UserIndexCache(store, word_embedder)
    regular, guest = indexes.get(users[0]), indexes.get(users[1])
    for user in users[2:]:
        assert [item.id for item in indexes.get(user).index.items] == [user]
        assert indexes.get(users[0]) is regular
    again = indexes.get(users[1])
    assert (again is guest) == (max_items >= len(users))
    assert again.index.items == guest.index.items


def test_progress_reports_embedded_items(filled: SQLiteStore, word_embedder: Embedder) -> None:
    calls: list[tuple[int, int]] = []
    retriever = ContextRetriever(
        filled, word_embedder, progress=lambda done, total: calls.append((done, total))
    )
    retriever.prepare("ines")
    assert calls[-1] == (3, 3)
    assert calls == sorted(calls)
    calls.clear()
    retriever.rank(REQUEST)
    assert calls == []
    filled.put_items("ines", [note("4", "talc")])
    retriever.rank(REQUEST)
    assert calls == [(1, 1)]

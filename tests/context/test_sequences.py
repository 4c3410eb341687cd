"""Random sequences of changes: incremental updates give the same results as a rebuild."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.samples import ALL, sample

from contextune.context import ContextRetriever
from contextune.context.enriched.uses_diff import UsesDiff
from contextune.context.index import UserState
from contextune.context.index_cache import UserIndexCache
from contextune.context.snapshot import keeper
from contextune.datasets import bundled_personas, load_persona
from contextune.embed import Embedder
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, Request, UsageEvent, User

PERSONA = bundled_personas()[3]
MORE = [item for persona in bundled_personas()[4:7] for item in persona.items]
NOON = max(query.time for query in PERSONA.queries)
PLACES = (None, "home", "gym", "the boat", *PERSONA.user.places)
NOTES = ("kiln slots", "Re: kiln slots", "boat varnish", "", "call Rui back")


class ChangingUser:
    """A user whose data changes at random, the same way each time."""

    def __init__(self, store: SQLiteStore, seed: int) -> None:
        self.store, self.random = store, random.Random(seed)
        self.user = PERSONA.user
        load_persona(store, PERSONA)
        self.changes: Sequence[Callable[[], object]] = (
            self.add,
            self.add,
            self.change,
            self.delete,
            self.use,
            self.use,
            self.add_use_and_item,
            self.replace,
            self.add_contact,
            self.reset,
        )

    def apply_random_change(self) -> str:
        change = self.random.choices(self.changes, [4, 4, 4, 4, 6, 6, 3, 2, 1, 0.5])[0]
        change()
        return change.__name__

    def random_item(self) -> Item:
        return self.random.choice(self.store.items(self.user.id))

    def add(self) -> None:
        chosen = self.random.sample(MORE, self.random.randint(1, 3))
        self.store.put_items(self.user.id, [Item(f"new {i.app} {i.id}", i.app, i.fields) for i in chosen])

    def change(self) -> None:
        item = self.random_item()
        fields = {**item.fields, item.schema.title: self.random.choice(NOTES)}
        fields["place"] = self.random.choice(PLACES)
        self.store.put_items(self.user.id, [Item(item.id, item.app, fields)])

    def delete(self) -> None:
        items = self.store.items(self.user.id)
        self.store.delete_items(
            self.user.id, [i.id for i in self.random.sample(items, min(2, len(items) - 9))]
        )

    def replace(self) -> None:
        item = self.random_item()
        self.store.delete_items(self.user.id, [item.id])
        self.store.put_items(self.user.id, [item])
        self.use()

    def use(self) -> None:
        item, zoned = self.random_item(), self.random.random() < 0.2
        for _ in range(self.random.randint(1, 4)):
            # whole hours, so that some are at one moment
            time = NOON - timedelta(hours=self.random.randint(-30, 300))
            time = time.replace(tzinfo=UTC) if zoned else time
            self.store.put_uses(self.user.id, [UsageEvent(item.id, time, self.random.choice(PLACES))])

    def add_use_and_item(self) -> None:
        self.use()
        self.add()

    def add_contact(self) -> None:
        name = self.random.choice(("Rui Duarte", "Marta Reis"))
        contact = Contact(name, f"{name[:3]}@example.com", None, self.random.choice(("brother", "vet")))
        user = self.user
        self.user = User(user.id, user.profile, user.places, (*user.contacts, contact), user.zone)
        self.store.put_user(self.user)

    def reset(self) -> None:
        self.store.forget(self.user.id)
        load_persona(self.store, PERSONA)
        self.user = PERSONA.user


@pytest.mark.parametrize("seed", sample(range(3), 3))
def test_random_changes_give_same_ranking_as_rebuild(
    seed: int, store: SQLiteStore, word_embedder: Embedder
) -> None:
    changing_user = ChangingUser(store, seed)
    kept = {method: ContextRetriever(store, word_embedder, method=method) for method in ("learned", "hybrid")}
    queries = PERSONA.queries
    for step in range(25 if ALL else 11):
        change_name = changing_user.apply_random_change()
        if step % 3 == 1:
            continue  # some changes are seen together
        early = PERSONA.request(queries[step % len(queries)])
        late = Request(early.text, early.user, NOON + timedelta(days=30), early.place)
        for method, retriever in kept.items():
            rebuilt = ContextRetriever(store, word_embedder, method=method)
            for request in (early, late)[: 1 + (step % 2)]:
                actual, expected = retriever.rank(request), rebuilt.rank(request)
                assert [hit.item.id for hit in actual] == [hit.item.id for hit in expected], change_name
                assert actual == expected, change_name
                assert [hit.reasons for hit in actual[:9]] == [hit.reasons for hit in expected[:9]], (
                    change_name
                )
                best = [hit.item.id for hit in actual[:5]]
                around, fresh = (
                    retriever.tool_search_inputs(request, best),
                    rebuilt.tool_search_inputs(request, best),
                )
                assert np.array_equal(around.vectors, fresh.vectors)


@pytest.mark.parametrize("seed", sample(range(6, 9), 3))
def test_random_changes_give_same_columns_as_rebuild(
    seed: int, store: SQLiteStore, word_embedder: Embedder
) -> None:
    changing_user, indexes = ChangingUser(store, seed), UserIndexCache(store, word_embedder)
    for step in range(40):
        change_name = changing_user.apply_random_change()
        if step % 4 == 1:
            continue
        actual, expected = (
            each.get(changing_user.user.id) for each in (indexes, UserIndexCache(store, word_embedder))
        )
        assert actual.index.items == expected.index.items, change_name
        assert actual.index.tokens == expected.index.tokens, change_name
        assert_equal(columns(actual), columns(expected), change_name)


@pytest.mark.parametrize("seed", [9])
def test_random_changes_give_same_results_from_a_snapshot(
    seed: int, store: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "_MIN_PAUSE_S", 0)
    monkeypatch.setattr(keeper, "_PAUSE_FACTOR", 0)
    store.snapshots.min_items = 0
    changing_user, queries, opened = ChangingUser(store, seed), PERSONA.queries, 0
    with SQLiteStore(store.path, snapshots=False) as plain:
        for step in range(15 if ALL else 9):
            change_name = changing_user.apply_random_change() if step else "start"
            if step % 3 == 1:
                continue  # some changes are seen together
            opened += store.snapshots.load(PERSONA.user.id, word_embedder.name) is not None
            request = PERSONA.request(queries[step % len(queries)])
            actual, expected = (
                ContextRetriever(each, word_embedder).rank(request) for each in (store, plain)
            )
            assert actual == expected, change_name
            assert [hit.reasons for hit in actual[:9]] == [hit.reasons for hit in expected[:9]], change_name
            if step % 4 == 2:
                states = (UserIndexCache(each, word_embedder).get(PERSONA.user.id) for each in (store, plain))
                actual_state, expected_state = states
                assert actual_state.index.items == expected_state.index.items, change_name
                assert actual_state.index.tokens == expected_state.index.tokens, change_name
                assert_equal(columns(actual_state), columns(expected_state), change_name)
            store.snapshots.wait()
    assert opened >= 2


def columns(state: UserState) -> dict[str, Any]:
    """Everything the features read."""
    index, item_columns = state.index, state.index.item_columns
    people, uses = item_columns.people, state.enriched.columns(item_columns)
    later = NOON + timedelta(days=30)
    return {
        "visible": index.visible(NOON - timedelta(days=3)),
        "texts": index.texts,
        "lexical": index.lexical_scores(["kiln", "slots", "boat"], index.visible(NOON)),
        **{f"times {role}": times for role, times in item_columns.times.items()},
        **{f"state {name}": states for name, states in item_columns.states.items()},
        **{
            name: getattr(item_columns, name)
            for name in ("word_count", "thread_id", "main_time", "app", "place", "duration_s")
        },
        **{name: getattr(item_columns, name) for name in ("title_words", "apps", "places", "coordinates")},
        "row_by_id": item_columns.row_by_id == {item.id: number for number, item in enumerate(index.items)},
        "count": people.count,
        "involved": [[contact for contact in row if contact >= 0] for row in people.involved.tolist()],
        "mentioned": [[contact for contact in row if contact >= 0] for row in people.mentioned.tolist()],
        "vectors": state.enriched.vectors(later),
        "text digests": state.enriched.enriched and state.enriched.enriched.digests,
        **{f"use {name}": getattr(uses, name) for name in ("item", "time", "hour", "weekday", "place")},
    }


def assert_equal(actual: dict[str, Any], expected: dict[str, Any], change_name: str) -> None:
    for name, column in expected.items():
        if isinstance(column, np.ndarray):
            array = cast("NDArray[Any]", column)
            same = np.array_equal(actual[name], array, equal_nan=array.dtype.kind == "f")
        else:
            same = actual[name] == column
        assert same, f"{name}, after {change_name}"


def use(item: str, hour: int) -> UsageEvent:
    return UsageEvent(item, datetime(2024, 5, 16, hour))


@pytest.mark.parametrize(
    ("before", "now", "kept", "new", "items"),
    [
        ("", "", "", "", ""),
        ("", "ab", "", "11", "ab"),
        ("ab", "", "00", "", "ab"),
        ("abc", "abc", "111", "000", ""),
        ("abc", "abcd", "111", "0001", "d"),
        ("abc", "dabc", "111", "1000", "d"),
        ("abcd", "acd", "1011", "000", "b"),
        ("abcd", "axcyd", "1011", "01010", "bxy"),
        ("ab", "cd", "00", "11", "abcd"),
    ],
)
def test_uses_diff(before: str, now: str, kept: str, new: str, items: str) -> None:
    since = UsesDiff.compare([use(name, 1) for name in before], [use(name, 1) for name in now])
    assert ["01"[flag] for flag in since.kept.tolist()] == list(kept)
    assert ["01"[flag] for flag in since.new.tolist()] == list(new)
    assert since.items == set(items)


def test_uses_diff_finds_one_event_among_thousands() -> None:
    before = [UsageEvent(str(n % 7), datetime(2024, 1, 1) + timedelta(hours=n)) for n in range(5000)]
    for place in (0, 1, 1023, 1024, 1025, 2048, 4999, 5000):
        now = [*before[:place], use("new", 1), *before[place:]]
        since = UsesDiff.compare(before, now)
        assert since.kept.all()
        assert np.flatnonzero(since.new).tolist() == [place]
        assert since.items == {"new"}
        back = UsesDiff.compare(now, before)
        assert np.flatnonzero(~back.kept).tolist() == [place]
        assert not back.new.any()

"""Whatever changes, in whatever order: what is brought up to date answers as what is made anew."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from contextune.context import ContextRetriever
from contextune.context.enriched_items import UsesDiff
from contextune.context.index import UserIndexCache, UserState
from contextune.datasets import bundled_personas, load_persona
from contextune.embed import Embedder
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, Request, UsageEvent, User

PERSONA = bundled_personas()[3]
MORE = [item for persona in bundled_personas()[4:7] for item in persona.items]
NOON = max(query.time for query in PERSONA.queries)
PLACES = (None, "home", "gym", "the boat", *PERSONA.user.places)
NOTES = ("kiln slots", "Re: kiln slots", "boat varnish", "", "call Rui back")


class Life:
    """A user whose data changes at random, the same way each time."""

    def __init__(self, store: SQLiteStore, seed: int) -> None:
        self.store, self.chance = store, random.Random(seed)
        self.user = PERSONA.user
        load_persona(store, PERSONA)
        self.changes: Sequence[Callable[[], object]] = (
            self.add,
            self.add,
            self.change,
            self.delete,
            self.use,
            self.use,
            self.use_and_add,
            self.replace,
            self.know_more,
            self.come_back,
        )

    def go_on(self) -> str:
        change = self.chance.choices(self.changes, [4, 4, 4, 4, 6, 6, 3, 2, 1, 0.5])[0]
        change()
        return change.__name__

    def one(self) -> Item:
        return self.chance.choice(self.store.items(self.user.id))

    def add(self) -> None:
        chosen = self.chance.sample(MORE, self.chance.randint(1, 3))
        self.store.put_items(self.user.id, [Item(f"new {i.app} {i.id}", i.app, i.fields) for i in chosen])

    def change(self) -> None:
        item = self.one()
        fields = {**item.fields, item.schema.title: self.chance.choice(NOTES)}
        fields["place"] = self.chance.choice(PLACES)
        self.store.put_items(self.user.id, [Item(item.id, item.app, fields)])

    def delete(self) -> None:
        items = self.store.items(self.user.id)
        self.store.delete_items(
            self.user.id, [i.id for i in self.chance.sample(items, min(2, len(items) - 9))]
        )

    def replace(self) -> None:
        item = self.one()
        self.store.delete_items(self.user.id, [item.id])
        self.store.put_items(self.user.id, [item])
        self.use()

    def use(self) -> None:
        item, zoned = self.one(), self.chance.random() < 0.2
        for _ in range(self.chance.randint(1, 4)):
            # whole hours, so that some are at one moment
            time = NOON - timedelta(hours=self.chance.randint(-30, 300))
            time = time.replace(tzinfo=UTC) if zoned else time
            self.store.put_uses(self.user.id, [UsageEvent(item.id, time, self.chance.choice(PLACES))])

    def use_and_add(self) -> None:
        self.use()
        self.add()

    def know_more(self) -> None:
        name = self.chance.choice(("Rui Duarte", "Marta Reis"))
        contact = Contact(name, f"{name[:3]}@example.com", None, self.chance.choice(("brother", "vet")))
        known = self.user
        self.user = User(known.id, known.profile, known.places, (*known.contacts, contact), known.zone)
        self.store.put_user(self.user)

    def come_back(self) -> None:
        self.store.forget(self.user.id)
        load_persona(self.store, PERSONA)
        self.user = PERSONA.user


@pytest.mark.parametrize("seed", range(6))
def test_any_changes(seed: int, store: SQLiteStore, word_embedder: Embedder) -> None:
    life = Life(store, seed)
    kept = {method: ContextRetriever(store, word_embedder, method=method) for method in ("learned", "hybrid")}
    queries = PERSONA.queries
    for step in range(25):
        done = life.go_on()
        if step % 3 == 1:
            continue  # some changes are seen together
        asked = PERSONA.request(queries[step % len(queries)])
        late = Request(asked.text, asked.user, NOON + timedelta(days=30), asked.place)
        for method, retriever in kept.items():
            anew = ContextRetriever(store, word_embedder, method=method)
            for request in (asked, late)[: 1 + (step % 2)]:
                found, wanted = retriever.rank(request), anew.rank(request)
                assert [hit.item.id for hit in found] == [hit.item.id for hit in wanted], done
                assert found == wanted, done
                assert [hit.reasons for hit in found[:9]] == [hit.reasons for hit in wanted[:9]], done
                best = [hit.item.id for hit in found[:5]]
                around, fresh = retriever.around(request, best), anew.around(request, best)
                assert np.array_equal(around.vectors, fresh.vectors)


@pytest.mark.parametrize("seed", range(6, 12))
def test_any_changes_column_by_column(seed: int, store: SQLiteStore, word_embedder: Embedder) -> None:
    life, indexes = Life(store, seed), UserIndexCache(store, word_embedder)
    for step in range(40):
        done = life.go_on()
        if step % 4 == 1:
            continue
        found, wanted = (each.of(life.user.id) for each in (indexes, UserIndexCache(store, word_embedder)))
        assert found.index.items == wanted.index.items, done
        assert found.index.tokens == wanted.index.tokens, done
        assert_equal(columns(found), columns(wanted), done)


def columns(known: UserState) -> dict[str, Any]:
    """All that signals read."""
    index, facts = known.index, known.index.facts
    people, uses = facts.people, known.gallery.columns(facts)
    later = NOON + timedelta(days=30)
    return {
        "visible": index.visible(NOON - timedelta(days=3)),
        "texts": index.texts,
        "lexical": index.lexical_scores(["kiln", "slots", "boat"], index.visible(NOON)),
        **{f"times {role}": times for role, times in facts.times.items()},
        **{f"state {name}": states for name, states in facts.states.items()},
        **{name: getattr(facts, name) for name in ("lengths", "thread", "time", "app", "place", "lasted")},
        **{name: getattr(facts, name) for name in ("title_words", "apps", "places", "coordinates")},
        "position": facts.position == {item.id: number for number, item in enumerate(index.items)},
        "count": people.count,
        "involved": [[one for one in row if one >= 0] for row in people.involved.tolist()],
        "mentioned": [[one for one in row if one >= 0] for row in people.mentioned.tolist()],
        "vectors": known.gallery.vectors(later),
        "portraits": known.gallery.made and known.gallery.made.texts,
        **{f"use {name}": getattr(uses, name) for name in ("item", "time", "hour", "weekday", "place")},
    }


def assert_equal(found: dict[str, Any], wanted: dict[str, Any], done: str) -> None:
    for name, column in wanted.items():
        if isinstance(column, np.ndarray):
            array = cast("NDArray[Any]", column)
            same = np.array_equal(found[name], array, equal_nan=array.dtype.kind == "f")
        else:
            same = found[name] == column
        assert same, f"{name}, after {done}"


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
def test_what_became_of_uses(before: str, now: str, kept: str, new: str, items: str) -> None:
    since = UsesDiff.of([use(name, 1) for name in before], [use(name, 1) for name in now])
    assert ["01"[flag] for flag in since.kept.tolist()] == list(kept)
    assert ["01"[flag] for flag in since.new.tolist()] == list(new)
    assert since.items == set(items)


def test_one_use_more_among_thousands() -> None:
    before = [UsageEvent(str(n % 7), datetime(2024, 1, 1) + timedelta(hours=n)) for n in range(5000)]
    for place in (0, 1, 1023, 1024, 1025, 2048, 4999, 5000):
        now = [*before[:place], use("new", 1), *before[place:]]
        since = UsesDiff.of(before, now)
        assert since.kept.all()
        assert np.flatnonzero(since.new).tolist() == [place]
        assert since.items == {"new"}
        back = UsesDiff.of(now, before)
        assert np.flatnonzero(~back.kept).tolist() == [place]
        assert not back.new.any()

"""No request sees its own future, and what lies there does not even shift a score."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextune.context import METHODS, ContextRetriever
from contextune.embed import Embedder, default_embedder
from contextune.store import SQLiteStore
from contextune.types import Item, ItemHit, Request, User

NOW = datetime(2024, 5, 16, 12)
BEFORE, LATER = "2024-05-16T11:59", "2024-05-16T12:01"

each_method = pytest.mark.parametrize("method", METHODS)


def ids(hits: Sequence[ItemHit]) -> set[str]:
    return {hit.item.id for hit in hits}


def items_at(time: str) -> list[Item]:
    """One item of every kind, of this time."""
    fields: dict[str, dict[str, Any]] = {
        "Mail": {"subject": "kiln", "date": time},
        "Notes": {"title": "kiln", "modified": time},
        "Music": {"song_name": "kiln", "played_time": time},
        "PhoneCall": {"contact": "Kiln", "date": time},
        "Google": {"query": "kiln", "date": time},
        "Reminders": {"title": "kiln", "created": time, "due": "2024-06-01T09:00"},
        "Calendar": {"event_name": "kiln", "start_time": time, "end_time": time},
        "Journal": {"title": "kiln", "created": time},
        "Books": {"title": "kiln"},
    }
    return [Item(f"{app} {time}", app, held) for app, held in fields.items()]


@each_method
def test_items_created_later_are_not_visible(
    method: str, store: SQLiteStore, word_embedder: Embedder
) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", [*items_at(BEFORE), *items_at(NOW.isoformat()), *items_at(LATER)])
    seen = ids(ContextRetriever(store, word_embedder, method=method).rank(Request("kiln", "ines", NOW)))
    always = {f"Calendar {LATER}", f"Books {LATER}"}
    assert seen == {item.id for item in [*items_at(BEFORE), *items_at(NOW.isoformat())]} | always


@each_method
def test_future_events_are_visible(method: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    event = Item("c1", "Calendar", {"event_name": "Glaze night", "start_time": "2031-01-01T10:00"})
    reminder = Item("r1", "Reminders", {"title": "Buy talc", "created": BEFORE, "due": "2031-01-01T10:00"})
    store.put_items("ines", [event, reminder])
    hits = ContextRetriever(store, word_embedder, method=method).rank(Request("talc", "ines", NOW))
    assert ids(hits) == {"c1", "r1"}


WORDS = st.lists(st.sampled_from(["kiln", "slots", "talc", "rowing", "Marta"]), min_size=1, max_size=5)
ITEMS = st.dictionaries(
    st.text("abc", min_size=1, max_size=3),
    st.tuples(st.sampled_from(["Notes", "Journal", "Diary"]), WORDS.map(" ".join)),
    max_size=8,
)


@each_method
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(early=ITEMS, late=ITEMS, text=WORDS.map(" ".join))
def test_later_items_do_not_affect_scores(
    method: str,
    word_embedder: Embedder,
    early: dict[str, tuple[str, str]],
    late: dict[str, tuple[str, str]],
    text: str,
) -> None:
    def item(name: str, app: str, words: str, time: str) -> Item:
        return Item(name, app, {"title": words, "modified": time})

    with TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "store.db") as store:
        store.put_user(User("ines"))
        retriever = ContextRetriever(store, word_embedder, method=method)
        request = Request(text, "ines", NOW)
        store.put_items("ines", [item(name, app, words, BEFORE) for name, (app, words) in early.items()])
        before = retriever.rank(request)
        assert len(before) == len(early)
        new = [item(name, app, words, LATER) for name, (app, words) in late.items() if name not in early]
        store.put_items("ines", new)
        assert _shown(retriever.rank(request)) == _shown(before)
        assert _shown(ContextRetriever(store, word_embedder, method=method).rank(request)) == _shown(before)
        assert len(retriever.rank(Request(text, "ines", NOW + timedelta(days=1)))) == len(early) + len(new)


def _shown(hits: Sequence[ItemHit]) -> list[tuple[str, Any]]:
    return [(hit.item.id, pytest.approx(hit.score, abs=1e-6)) for hit in hits]


@each_method
def test_later_items_do_not_affect_scores_with_bundled_embedder(method: str, store: SQLiteStore) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", items_at(BEFORE))
    request = Request("When is the oven free?", "ines", NOW)
    before = ContextRetriever(store, default_embedder(), method=method).rank(request)
    store.put_items("ines", [item for item in items_at(LATER) if item.made])
    assert _shown(ContextRetriever(store, default_embedder(), method=method).rank(request)) == _shown(before)


@pytest.mark.parametrize(
    ("time", "seen"),
    [
        # the mail came at noon on the user's wall clock in Tokyo, which is 03:00 UTC
        (datetime(2024, 5, 16, 2, 59, tzinfo=UTC), False),
        (datetime(2024, 5, 16, 3, 0, tzinfo=UTC), True),
        (datetime(2024, 5, 15, 23, 0, tzinfo=timezone(timedelta(hours=-4))), True),
        (datetime(2024, 5, 15, 22, 59, tzinfo=timezone(timedelta(hours=-4))), False),
        (datetime(2024, 5, 16, 11, 59), False),
        (datetime(2024, 5, 16, 12, 0), True),
    ],
)
def test_zoned_request_is_compared_in_the_users_zone(
    time: datetime, seen: bool, store: SQLiteStore, word_embedder: Embedder
) -> None:
    store.put_user(User("kenji", zone=ZoneInfo("Asia/Tokyo")))
    store.put_items(
        "kenji",
        [
            Item("wall", "Mail", {"subject": "kiln", "date": "2024-05-16T12:00"}),
            Item("instant", "Mail", {"subject": "kiln", "date": "2024-05-16T03:00+00:00"}),
        ],
    )
    hits = ContextRetriever(store, word_embedder).rank(Request("kiln", "kenji", time))
    assert ids(hits) == ({"wall", "instant"} if seen else set())


def test_changed_time_zone_applies_to_stored_items(store: SQLiteStore, word_embedder: Embedder) -> None:
    retriever = ContextRetriever(store, word_embedder)
    request = Request("kiln", "kenji", datetime(2024, 5, 16, 3, 0, tzinfo=UTC))
    store.put_user(User("kenji", zone=ZoneInfo("Asia/Tokyo")))
    store.put_items("kenji", [Item("m1", "Mail", {"subject": "kiln", "date": "2024-05-16T12:00"})])
    assert ids(retriever.rank(request)) == {"m1"}
    store.put_user(User("kenji", zone=ZoneInfo("Europe/Lisbon")))
    assert ids(retriever.rank(request)) == set()


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_extreme_times_are_supported(zone: str, store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines", zone=ZoneInfo(zone)))
    store.put_items(
        "ines",
        [
            Item("first", "Mail", {"subject": "kiln", "date": "0001-01-01T00:00:00+00:00"}),
            Item("last", "Mail", {"subject": "kiln", "date": "9999-12-31T23:59:59+00:00"}),
        ],
    )
    assert ids(ContextRetriever(store, word_embedder).rank(Request("kiln", "ines", NOW))) == {"first"}

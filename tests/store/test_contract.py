"""Both stores keep the same contract: the same calls have the same results, also with several writers."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.postgres_server import new_database

from contextune.errors import InvalidDataError, LimitError, UnknownUserError
from contextune.store import Quota, ServiceStore, SQLiteStore, open_store, text_digest
from contextune.types import Contact, Feedback, Item, Request, UsageEvent, User

NOON = datetime(2024, 5, 16, 12)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
NAME = st.sampled_from(["1", "2", "ä", "Zaunkönig", "z"]) | TEXT.filter(bool)
USER = st.sampled_from(["ana", "rui"])
FIELDS = st.dictionaries(
    TEXT.filter(bool).map(lambda name: f"x {name}"),
    TEXT | st.integers(-9, 9) | st.booleans() | st.none() | st.lists(st.text(max_size=3), max_size=2),
    max_size=3,
)
ITEM = st.builds(Item, NAME, st.sampled_from(["Notes", "Mail", "Ελ"]), FIELDS)
TIME = st.integers(-50, 50).map(lambda hours: NOON + timedelta(hours=hours))
USE = st.builds(
    UsageEvent, NAME, TIME | TIME.map(lambda time: time.replace(tzinfo=UTC)), st.none() | st.just("") | TEXT
)


def profile(name: str, fields: dict[str, object], contact: str) -> User:
    return User(name, fields, {"home": (1.5, 2.0)}, (Contact(contact),))


def feedback(text: str) -> Feedback:
    return Feedback(Request(text if text.strip() else "?", "ana", NOON), ("1",), (), None)


PROFILE = st.builds(profile, USER, FIELDS, TEXT.filter(bool))
VECTOR = st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=4).map(lambda x: np.array(x, np.float32))
DIGESTS = [text_digest(str(number)) for number in range(3)]
CALL = st.one_of(
    st.tuples(st.just("put_user"), PROFILE),
    st.tuples(st.just("put_items"), USER, st.lists(ITEM, max_size=4)),
    st.tuples(st.just("put_items"), USER, st.lists(ITEM, max_size=4)),
    st.tuples(st.just("put_uses"), USER, st.lists(USE, max_size=3)),
    st.tuples(st.just("delete_items"), USER, st.lists(NAME, max_size=3)),
    st.tuples(st.just("put_vectors"), USER, st.just("m"), st.dictionaries(st.sampled_from(DIGESTS), VECTOR)),
    st.tuples(
        st.just("put_enriched_vectors"),
        USER,
        st.just("m"),
        st.dictionaries(NAME, st.tuples(st.sampled_from(DIGESTS), VECTOR), max_size=2),
    ),
    st.tuples(
        st.just("put_feedback"),
        USER,
        st.builds(feedback, TEXT),
    ),
    st.tuples(st.just("forget"), USER),
)


def outcome(store: ServiceStore, call: tuple[object, ...]) -> object:
    """What a call returns, or the kind of error."""
    name, *arguments = call
    try:
        return getattr(store, str(name))(*arguments)
    except (InvalidDataError, UnknownUserError) as error:
        return type(error)


def contents(store: ServiceStore, user: str) -> object:
    """All that a store returns about a user."""
    try:
        return (
            store.user(user),
            store.items(user),
            store.items(user, ["z", "1", "none"]),
            store.items_page(user, app="Notes", start=1, limit=2),
            store.uses(user),
            store.uses(user, item="1"),
            store.uses_page(user, limit=3),
            store.sizes(user),
            {digest: row.tolist() for digest, row in store.vectors(user, "m", DIGESTS).items()},
            {item: (d, row.tolist()) for item, (d, row) in store.enriched_vectors(user, "m").items()},
            store.feedback(user),
        )
    except UnknownUserError:
        return None


@pytest.fixture(scope="module")
def both(
    postgres_server: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ServiceStore, ServiceStore]]:
    path: Path = tmp_path_factory.mktemp("contract") / "store.db"
    with new_database(postgres_server) as url, SQLiteStore(path) as first, open_store(url) as second:
        yield first, second


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(calls=st.lists(CALL, max_size=12))
def test_random_calls_have_the_same_results_in_both_stores(
    both: tuple[ServiceStore, ServiceStore], calls: list[tuple[object, ...]]
) -> None:
    for store in both:
        for user in store.users():
            store.forget(user)
        store.put_user(User("ana"))
    since = [store.revision("ana") for store in both]
    for call in calls:
        first, second = (outcome(store, call) for store in both)
        assert first == second, call
    for user in ("ana", "rui"):
        assert contents(both[0], user) == contents(both[1], user)
    with contextlib.suppress(UnknownUserError):
        first, second = (store.changes("ana", revision) for store, revision in zip(both, since, strict=True))
        assert (first is None) == (second is None)
        if first and second:
            assert (first.user, first.deleted) == (second.user, second.deleted)
            assert sorted(first.items, key=lambda item: item.id) == sorted(second.items, key=lambda i: i.id)
            assert set(first.uses) == set(second.uses)


def note(name: str, title: str = "") -> Item:
    return Item(name, "Notes", {"title": title})


def test_concurrent_writers_lose_nothing(store_url: str) -> None:
    with open_store(store_url) as store:
        store.put_user(User("ana"))

    def write(writer: int) -> None:
        with open_store(store_url) as store:
            for number in range(10):
                store.put_items("ana", [note(f"{writer} {number}"), note("shared", f"{writer} {number}")])
                store.put_uses("ana", [UsageEvent("shared", NOON + timedelta(minutes=10 * writer + number))])
                if number % 3 == 2:
                    store.delete_items("ana", [f"{writer} {number - 1}"])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    with open_store(store_url) as store:
        assert len(store.items("ana")) == 4 * (10 - 3) + 1
        assert len(store.uses("ana")) == 40
        sizes = store.sizes("ana")
        assert (sizes.items, sizes.uses) == (29, 40)
        assert sizes.item_bytes == sum(
            len(f'{item.id}Notes{{"title":"{item.title}"}}') for item in store.items("ana")
        )


def test_reader_of_changes_sees_every_concurrent_write(store_url: str) -> None:
    with open_store(store_url) as store:
        store.put_user(User("ana"))
        revision = store.revision("ana")
        with ThreadPoolExecutor(3) as threads:
            jobs = [
                threads.submit(store.put_items, "ana", [note(f"{writer} {number}")])
                for number in range(12)
                for writer in range(3)
            ]
            seen: set[str] = set()
            while True:
                is_over = all(job.done() for job in jobs)
                changes = store.changes("ana", revision)
                assert changes
                seen |= {item.id for item in changes.items}
                revision = changes.revision
                if is_over:
                    break
        assert seen == {item.id for item in store.items("ana")}
        assert len(seen) == 36


def test_failing_iterable_writes_nothing(any_store: ServiceStore) -> None:
    def items() -> Iterator[Item]:
        yield note("1")
        raise OSError("the source failed")

    any_store.put_user(User("ana"))
    revision = any_store.revision("ana")
    with pytest.raises(OSError, match="failed"):
        any_store.put_items("ana", items())
    with pytest.raises(InvalidDataError, match="unknown item 'none' of user 'ana'"):
        any_store.put_uses("ana", [UsageEvent("none", NOON)])
    assert any_store.items("ana") == []
    assert any_store.revision("ana") == revision


def test_quota_is_kept(store_url: str) -> None:
    with open_store(store_url, quota=Quota(items=2, uses=1, total_bytes=120, item_bytes=80)) as store:
        store.put_user(User("ana"))
        store.put_items("ana", [note("1"), note("2")])
        for write in (
            lambda: store.put_items("ana", [note("3")]),
            lambda: store.put_items("ana", [note("1", "x" * 81)]),
            lambda: store.put_items("ana", [note("1", "x" * 50), note("2", "x" * 50)]),
            lambda: store.put_uses("ana", [UsageEvent("1", NOON), UsageEvent("2", NOON)]),
        ):
            with pytest.raises(LimitError):
                write()
        assert store.items("ana") == [note("1"), note("2")]
        assert store.uses("ana") == []


def test_vectors_are_deleted_with_a_changed_text(any_store: ServiceStore) -> None:
    any_store.put_user(User("ana"))
    any_store.put_items("ana", [note("1", "one"), note("2", "two")])
    digests, row = (
        [text_digest(note(n, t).text) for n, t in (("1", "one"), ("2", "two"))],
        np.ones(3, np.float32),
    )
    any_store.put_vectors("ana", "m", dict.fromkeys(digests, row))
    any_store.put_enriched_vectors("ana", "m", {"1": (b"d", row), "2": (b"d", row), "none": (b"d", row)})
    any_store.put_items("ana", [note("1", "eins"), note("2", "two")])
    assert set(any_store.vectors("ana", "m", digests)) == {digests[1]}
    assert set(any_store.enriched_vectors("ana", "m")) == {"2"}
    any_store.delete_items("ana", ["2"])
    assert any_store.vectors("ana", "m", digests) == {}


def test_many_items_are_written_and_read(any_store: ServiceStore) -> None:
    any_store.put_user(User("ana"))
    items = [note(f"{number:05}", "kiln") for number in range(4500)]
    assert any_store.put_items("ana", [*items, items[0]]) == 4501
    assert any_store.items("ana") == items
    assert any_store.delete_items("ana", [item.id for item in items[10:]]) == 4490
    assert any_store.items("ana") == items[:10]

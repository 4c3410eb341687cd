"""Quotas per user, in entries and bytes, and bounded pages."""

from datetime import datetime
from pathlib import Path

import pytest

from contextune.errors import LimitError
from contextune.store import Quota, SQLiteStore
from contextune.types import Feedback, Item, Request, UsageEvent, User


def notes(*names: object, title: str = "Kiln") -> list[Item]:
    return [Item(str(name), "Notes", {"title": title}) for name in names]


def names(store: SQLiteStore, user: str = "ines") -> list[str]:
    return [item.id for item in store.items(user)]


@pytest.fixture
def ines(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ines"))
    return store


def test_exceeding_the_quota_writes_nothing(ines: SQLiteStore) -> None:
    assert ines.put_items("ines", notes(1, 2), limit=3) == 2
    before = ines.revision("ines")
    with pytest.raises(LimitError, match=r"at most 3 items.*delete some"):
        ines.put_items("ines", [*notes(1, title="changed"), *notes(3, 4)], limit=3)
    assert (ines.items("ines"), ines.revision("ines")) == (notes(1, 2), before)
    assert ines.put_items("ines", notes(3), limit=3) == 1


def test_replaced_items_do_not_count_twice(ines: SQLiteStore) -> None:
    for number in range(20):
        assert ines.put_items("ines", notes(1, 2, 3, title=str(number)), limit=3) == 3
    with pytest.raises(LimitError):
        ines.put_items("ines", notes(4), limit=3)
    assert ines.delete_items("ines", ["1"]) == 1
    assert ines.put_items("ines", notes(4), limit=3) == 1
    assert names(ines) == ["2", "3", "4"]


def test_user_over_the_quota_can_still_replace_items(ines: SQLiteStore) -> None:
    ines.put_items("ines", notes(*range(5)))
    assert ines.put_items("ines", notes(1, title="Oven"), limit=3) == 1
    with pytest.raises(LimitError):
        ines.put_items("ines", notes("new"), limit=3)
    assert names(ines) == ["0", "1", "2", "3", "4"]


def test_writes_of_other_processes_count(ines: SQLiteStore) -> None:
    ines.put_items("ines", notes(1), limit=3)
    with SQLiteStore(Path(ines.path)) as other:
        other.put_items("ines", notes(2, 3))
    with pytest.raises(LimitError):
        ines.put_items("ines", notes(4), limit=3)


def test_each_user_has_their_own_quota(ines: SQLiteStore) -> None:
    ines.put_user(User("rui"))
    ines.put_items("ines", notes(1, 2), limit=2)
    assert ines.put_items("rui", notes(1, 2), limit=2) == 2
    ines.forget("ines")
    ines.put_user(User("ines"))
    assert ines.put_items("ines", notes(1, 2), limit=2) == 2  # a returning user starts at zero


def test_quota_of_uses(ines: SQLiteStore) -> None:
    ines.put_items("ines", notes(1))
    days = [UsageEvent("1", datetime(2024, 5, day)) for day in range(1, 5)]
    assert ines.put_uses("ines", days[:2], limit=3) == 2
    assert ines.put_uses("ines", days[:3], limit=3) == 1  # two of them are known
    with pytest.raises(LimitError, match="at most 3 uses"):
        ines.put_uses("ines", days[3:], limit=3)
    assert len(ines.uses("ines")) == 3


def request(text: str) -> Request:
    return Request(text, "ines", datetime(2024, 5, 16, 17, 40))


def open_store(path: Path, quota: Quota) -> SQLiteStore:
    store = SQLiteStore(path, quota=quota)
    store.put_user(User("ines"))
    return store


def test_item_larger_than_the_quota_is_refused(path: Path) -> None:
    with open_store(path, Quota(item_bytes=100)) as store:
        with pytest.raises(LimitError, match="at most 100 bytes per item; shorten it"):
            store.put_items("ines", [*notes(1), *notes(2, title="ß" * 50)])
        assert store.items("ines") == []
        assert store.put_items("ines", notes(1, title="s" * 50)) == 1


def test_bytes_of_items_uses_and_feedback_count_together(path: Path) -> None:
    with open_store(path, Quota(total_bytes=1000)) as store:
        store.put_items("ines", notes(1, title="x" * 500))
        with pytest.raises(LimitError, match="at most 1,000 bytes per user"):
            store.put_items("ines", notes(2, title="x" * 500))
        uses = [UsageEvent("1", datetime(2024, 5, day)) for day in range(1, 31)]
        with pytest.raises(LimitError, match="at most 1,000 bytes"):
            store.put_uses("ines", uses)
        with pytest.raises(LimitError, match="at most 1,000 bytes"):
            store.put_feedback("ines", Feedback(request("x" * 500), ("1",)))
        assert (store.sizes("ines").items, store.sizes("ines").uses, store.feedback("ines")) == (1, 0, [])
        store.put_items("ines", notes(1, title="shorter"))
        store.put_feedback("ines", Feedback(request("x" * 500), ("1",)))


def test_feedback_has_a_quota_of_its_own(path: Path) -> None:
    with open_store(path, Quota(feedback_bytes=1000)) as store:
        store.put_items("ines", notes(1, title="x" * 5000))
        store.put_feedback("ines", Feedback(request("x" * 500), ("1",)))
        with pytest.raises(LimitError, match="at most 1,000 bytes of feedback"):
            store.put_feedback("ines", Feedback(request("x" * 500), ("1",)))
        assert 0 < store.sizes("ines").feedback_bytes <= 1000
        assert len(store.feedback("ines")) == store.sizes("ines").feedback == 1


def test_sizes_follow_every_change(path: Path) -> None:
    with open_store(path, Quota()) as store:
        empty = store.sizes("ines")
        store.put_items("ines", notes(1, 2))
        assert store.sizes("ines").item_bytes == 2 * len('1Notes{"title":"Kiln"}')
        store.put_items("ines", notes(1, title="Öfen"))
        assert store.sizes("ines").item_bytes == 2 * len('1Notes{"title":"Kiln"}') + 1
        store.put_uses("ines", [UsageEvent("1", datetime(2024, 5, 1), "home")] * 2)
        assert store.sizes("ines").uses == 1
        store.delete_items("ines", ["1", "2"])  # and the use of the first
        assert store.sizes("ines") == empty


def test_page_of_items_is_bounded(path: Path) -> None:
    with open_store(path, Quota()) as store:
        store.put_items("ines", notes(*"abcdef", title="x" * 100))
        store.put_items("ines", [Item("e2", "Mail", {"subject": "Kiln"})])
        page = store.items_page("ines", start=1, limit=3)
        assert ([item.id for item in page.entries], page.total, page.next) == (["b", "c", "d"], 7, 4)
        page = store.items_page("ines", start=1, limit=5, max_bytes=250)
        assert ([item.id for item in page.entries], page.next) == (["b", "c"], 3)
        assert len(store.items_page("ines", max_bytes=1).entries) == 1  # so that a reader gets on
        page = store.items_page("ines", app="Mail")
        assert ([item.id for item in page.entries], page.total, page.next) == (["e2"], 1, None)
        assert store.items_page("ines", start=9).entries == []


def test_page_reads_no_other_item(path: Path) -> None:
    with open_store(path, Quota()) as store:
        store.put_items("ines", notes(*range(20), title="x" * 100_000))
    with SQLiteStore(path) as store, store._connections.use() as connection:  # pyright: ignore[reportPrivateUsage]
        steps = 0

        def count() -> None:
            nonlocal steps
            steps += 1

        connection.set_progress_handler(count, 1)
        store.items_page("ines", limit=1)
        one_page, steps = steps, 0
        store.items("ines")
        assert steps > one_page
        assert one_page < 150  # instructions of SQLite's virtual machine


def test_pages_of_uses_are_sorted_by_time(path: Path) -> None:
    with open_store(path, Quota()) as store:
        store.put_items("ines", notes(1, 2))
        uses = [UsageEvent(str(day % 2 + 1), datetime(2024, 5, day)) for day in range(1, 10)]
        store.put_uses("ines", reversed(uses))
        page = store.uses_page("ines", start=2, limit=4)
        assert (page.entries, page.total, page.next) == (uses[2:6], 9, 6)
        assert store.uses_page("ines", start=8).next is None

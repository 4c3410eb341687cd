"""Quotas of items and uses per user."""

from datetime import datetime
from pathlib import Path

import pytest

from contextune.errors import LimitError
from contextune.store import SQLiteStore
from contextune.types import Item, UsageEvent, User


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

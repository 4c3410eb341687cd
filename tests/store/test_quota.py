"""How much one user may keep: the count is right whoever writes, however often."""

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


def test_all_or_nothing(ines: SQLiteStore) -> None:
    assert ines.put_items("ines", notes(1, 2), most=3) == 2
    before = ines.revision("ines")
    with pytest.raises(LimitError, match=r"more than 3 items.*delete some first"):
        ines.put_items("ines", [*notes(1, title="changed"), *notes(3, 4)], most=3)
    assert (ines.items("ines"), ines.revision("ines")) == (notes(1, 2), before)
    assert ines.put_items("ines", notes(3), most=3) == 1


def test_what_is_replaced_takes_no_room(ines: SQLiteStore) -> None:
    for number in range(20):
        assert ines.put_items("ines", notes(1, 2, 3, title=str(number)), most=3) == 3
    with pytest.raises(LimitError):
        ines.put_items("ines", notes(4), most=3)
    assert ines.delete_items("ines", ["1"]) == 1
    assert ines.put_items("ines", notes(4), most=3) == 1
    assert names(ines) == ["2", "3", "4"]


def test_who_has_more_than_is_allowed_by_now(ines: SQLiteStore) -> None:
    ines.put_items("ines", notes(*range(5)))
    assert ines.put_items("ines", notes(1, title="Oven"), most=3) == 1
    with pytest.raises(LimitError):
        ines.put_items("ines", notes("new"), most=3)
    assert names(ines) == ["0", "1", "2", "3", "4"]


def test_what_others_wrote_is_counted(ines: SQLiteStore) -> None:
    ines.put_items("ines", notes(1), most=3)
    with SQLiteStore(Path(ines.path)) as other:
        other.put_items("ines", notes(2, 3))
    with pytest.raises(LimitError):
        ines.put_items("ines", notes(4), most=3)


def test_users_have_room_of_their_own(ines: SQLiteStore) -> None:
    ines.put_user(User("rui"))
    ines.put_items("ines", notes(1, 2), most=2)
    assert ines.put_items("rui", notes(1, 2), most=2) == 2
    ines.forget("ines")
    ines.put_user(User("ines"))
    assert ines.put_items("ines", notes(1, 2), most=2) == 2  # whoever comes back begins anew


def test_uses(ines: SQLiteStore) -> None:
    ines.put_items("ines", notes(1))
    days = [UsageEvent("1", datetime(2024, 5, day)) for day in range(1, 5)]
    assert ines.put_uses("ines", days[:2], most=3) == 2
    assert ines.put_uses("ines", days[:3], most=3) == 1  # two of them are told again
    with pytest.raises(LimitError, match="more than 3 uses"):
        ines.put_uses("ines", days[3:], most=3)
    assert len(ines.uses("ines")) == 3

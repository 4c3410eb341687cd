"""No call reaches the data of another user."""

from datetime import datetime

import numpy as np
import pytest

from contextune.errors import InvalidDataError
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, UsageEvent, User

TIME = datetime(2024, 5, 16, 19, 0)
DIGEST = b"same digest"


@pytest.fixture
def both(store: SQLiteStore) -> SQLiteStore:
    """Two users whose data have the same ids."""
    for number, user in enumerate(("ana", "rui")):
        store.put_user(User(user, {"name": user}, {"home": (number, number)}, (Contact(f"{user}'s friend"),)))
        store.put_items(user, [Item("1", "Notes", {"title": user}), Item(f"of {user}", "Notes", {})])
        store.put_uses(user, [UsageEvent("1", TIME, f"{user}'s home"), UsageEvent(f"of {user}", TIME)])
        store.put_vectors(user, "m", {DIGEST: np.full(3, number, dtype=np.float32)})
    return store


def test_reads_return_only_the_users_data(both: SQLiteStore) -> None:
    assert both.user("rui").profile == {"name": "rui"}
    assert [item.id for item in both.items("rui")] == ["1", "of rui"]
    assert both.items("rui", ["of ana", "1"]) == [Item("1", "Notes", {"title": "rui"})]
    assert {use.place for use in both.uses("rui")} == {"rui's home", None}
    assert both.uses("rui", item="of ana") == []
    assert both.vectors("rui", "m", [DIGEST])[DIGEST].tolist() == [1, 1, 1]
    assert both.vectors("rui", "other", [DIGEST]) == {}


def test_writes_do_not_change_other_users(both: SQLiteStore) -> None:
    revision = both.revision("ana")
    before = both.items("ana"), both.uses("ana"), both.user("ana")
    both.put_user(User("rui"))
    both.put_items("rui", [Item("1", "Notes", {"title": "changed"})])
    both.delete_items("rui", ["1", "of ana", "of rui"])
    with pytest.raises(InvalidDataError, match="unknown item 'of ana' of user 'rui'"):
        both.put_uses("rui", [UsageEvent("of ana", TIME)])
    both.put_vectors("rui", "m", {DIGEST: np.full(3, 7, dtype=np.float32)})
    assert (both.items("ana"), both.uses("ana"), both.user("ana")) == before
    assert both.vectors("ana", "m", [DIGEST])[DIGEST].tolist() == [0, 0, 0]
    assert both.revision("ana") == revision


def test_forget_does_not_change_other_users(both: SQLiteStore) -> None:
    before = both.items("ana"), both.uses("ana"), both.user("ana"), both.revision("ana")
    both.forget("rui")
    assert (
        both.items("ana"),
        both.uses("ana"),
        both.user("ana"),
        both.revision("ana"),
    ) == before
    assert both.vectors("ana", "m", [DIGEST])[DIGEST].tolist() == [0, 0, 0]
    assert both.users() == ["ana"]
    both.put_user(User("eva"))  # a new user gets nothing of a forgotten one
    assert both.items("eva") == []
    assert both.uses("eva") == []
    assert both.vectors("eva", "m", [DIGEST]) == {}

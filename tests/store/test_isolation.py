"""No call reaches beyond the user it names."""

from datetime import datetime

import numpy as np
import pytest

from contextune.errors import InvalidDataError
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, UsageEvent, User

TIME = datetime(2024, 5, 16, 19, 0)
DIGEST = b"same digest"


@pytest.fixture
def two(store: SQLiteStore) -> SQLiteStore:
    """Two users whose data have the same names for everything."""
    for number, user in enumerate(("ana", "rui")):
        store.put_user(User(user, {"name": user}, {"home": (number, number)}, (Contact(f"{user}'s friend"),)))
        store.put_items(user, [Item("1", "Notes", {"title": user}), Item(f"of {user}", "Notes", {})])
        store.put_uses(user, [UsageEvent("1", TIME, f"{user}'s home"), UsageEvent(f"of {user}", TIME)])
        store.put_vectors(user, "m", {DIGEST: np.full(3, number, dtype=np.float32)})
    return store


def test_reading(two: SQLiteStore) -> None:
    assert two.user("rui").profile == {"name": "rui"}
    assert [item.id for item in two.items("rui")] == ["1", "of rui"]
    assert two.items("rui", ["of ana", "1"]) == [Item("1", "Notes", {"title": "rui"})]
    assert {use.place for use in two.uses("rui")} == {"rui's home", None}
    assert two.uses("rui", item="of ana") == []
    assert two.vectors("rui", "m", [DIGEST])[DIGEST].tolist() == [1, 1, 1]
    assert two.vectors("rui", "other", [DIGEST]) == {}


def test_writing(two: SQLiteStore) -> None:
    revision = two.revision("ana")
    before = two.items("ana"), two.uses("ana"), two.user("ana")
    two.put_user(User("rui"))
    two.put_items("rui", [Item("1", "Notes", {"title": "changed"})])
    two.delete_items("rui", ["1", "of ana", "of rui"])
    with pytest.raises(InvalidDataError, match="'of ana', which user 'rui' does not have"):
        two.put_uses("rui", [UsageEvent("of ana", TIME)])
    two.put_vectors("rui", "m", {DIGEST: np.full(3, 7, dtype=np.float32)})
    assert (two.items("ana"), two.uses("ana"), two.user("ana")) == before
    assert two.vectors("ana", "m", [DIGEST])[DIGEST].tolist() == [0, 0, 0]
    assert two.revision("ana") == revision


def test_forgetting(two: SQLiteStore) -> None:
    before = two.items("ana"), two.uses("ana"), two.user("ana"), two.revision("ana")
    two.forget("rui")
    assert (two.items("ana"), two.uses("ana"), two.user("ana"), two.revision("ana")) == before
    assert two.vectors("ana", "m", [DIGEST])[DIGEST].tolist() == [0, 0, 0]
    assert two.users() == ["ana"]
    two.put_user(User("eva"))  # whoever comes next gets nothing of the one who left
    assert two.items("eva") == []
    assert two.uses("eva") == []
    assert two.vectors("eva", "m", [DIGEST]) == {}

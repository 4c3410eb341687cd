"""The paper's own example: items that it shows (Table 1, Figure 3), and its first request."""

from datetime import datetime
from pathlib import Path

import pytest

from contextune import Tuner
from contextune.context import METHODS
from contextune.store import SQLiteStore
from contextune.types import Item, Request, User

NOW = datetime(2023, 9, 27, 18, 30)
ITEMS = [
    Item.reminder(title="Guitar Class", created="2023-09-20T09:00", due="2023-09-28T17:00", id="guitar"),
    Item.note(title="Intermittent Fasting Plan", modified="2023-09-12T21:10", id="fasting"),
    Item("keto", "Photos", {"title": "Keto Diet", "date": "2023-09-14T12:40"}),
    Item.event(
        name="LLM Discussion",
        start="2023-09-28T15:00",
        end="2023-09-28T16:00",
        organizer="John Doe",
        id="llm",
    ),
    Item.event(
        name="Crop Production Meeting",
        start="2023-09-28T08:15",
        end="2023-09-28T10:15",
        location="Main Farm",
        notes="Discuss the yield and soil health",
        category="Work Event",
        status="Confirmed",
        id="crop",
    ),
    Item.web_search(query="Boxing matches to watch", date="2023-09-26T21:30", id="boxing"),
    Item.mail(
        subject="Farm Updates",
        content="I would like to share some updates from the farm",
        author="anna@example.com",
        recipients=["me@example.com"],
        date="2023-09-27T07:50",
        id="farm",
    ),
    # the paper shows no call and no song; a second reminder makes the application alone not enough
    Item.call(contact="John Doe", date="2023-09-27T11:05", direction="missed", id="call"),
    Item.song(name="Midnight Rain", artist="Taylor Swift", played="2023-09-27T08:10", id="song"),
    Item.reminder(
        title="Water the seedlings", created="2023-09-25T20:00", due="2023-09-28T07:00", id="water"
    ),
]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_guitar_class_for_guitar_lesson(method: str, tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "paper.db") as store:
        store.put_user(User("paper", places={"home": (40.0, -90.0)}))
        store.put_items("paper", ITEMS)
        request = Request("When is my next guitar lesson?", user="paper", time=NOW, place="home")
        hits = Tuner(store, method=method).context(request, k=3)
    assert hits[0].item.id == "guitar"

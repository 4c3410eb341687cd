"""`contextune stats`: counts by application and month, uses and feedback."""

import json
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.program import run

from contextune.store import SQLiteStore
from contextune.types import Feedback, Item, Request, UsageEvent, User


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("me", zone=ZoneInfo("America/Los_Angeles")))
        store.put_items(
            "me",
            [
                Item.note(id="n1", title="Cone 6", modified="2024-01-11T20:30"),
                Item.note(id="n2", title="Clay", modified="2024-05-01T03:00+00:00"),  # in April there
                Item.event(id="c1", name="Fair", start="2999-01-01T10:00"),
            ],
        )
        store.put_uses("me", [UsageEvent("n1", datetime(2024, 2, day)) for day in (3, 4, 9)])
        request = Request("What is the recipe?", "me", datetime(2024, 5, 1))
        store.put_feedback("me", Feedback(request, ("n1",), ("n2",), "Notes/read_note"))
        store.put_feedback("me", Feedback(request, tool="Mail/read_email", ok=False))
    return tmp_path / "store.db"


def test_items_and_uses_are_counted_by_application_and_month(path: Path) -> None:
    counts = json.loads(run("stats", "--json", "--store", path).stdout)
    assert counts["apps"][0] == {
        "app": "Notes", "items": 2, "first": "2024-01-11", "last": "2024-04-30", "used_items": 1, "uses": 3,
        "last_use": "2024-02-09",
    }  # fmt: skip
    assert counts["items_by_month"] == {"2024-01": 1, "2024-04": 1, "2999-01": 1}
    assert counts["uses_by_month"] == {"2024-02": 3}
    assert counts["most_used"] == [{"app": "Notes", "title": "Cone 6", "uses": 3}]
    assert (counts["requests"], counts["right"], counts["wrong"]) == (2, 1, 1)
    assert counts["tools"] == {"Notes/read_note": 1}


def test_months_without_items_are_drawn_and_later_ones_summed(path: Path) -> None:
    printed = run("stats", "--store", path).stdout
    months = printed.partition("Items by month\n")[2].partition("\n\n")[0].splitlines()
    bar = "█" * 40
    assert months == [f"2024-01  {bar} 1", "2024-02  0", "2024-03  0", f"2024-04  {bar} 1", "later    1"]
    assert "2 requests with feedback: 1 item right, 1 wrong" in printed


def test_one_application(path: Path) -> None:
    counts = json.loads(run("stats", "--app", "calendar", "--json", "--store", path).stdout)
    assert (counts["items"], counts["uses_by_month"]) == (1, {})
    empty = run("stats", "--app", "Music", "--store", path)
    assert empty.stdout.startswith("0 items of 0 applications, 0 uses")

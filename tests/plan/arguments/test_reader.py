"""Calls that are filled from what the reading model has read."""

from collections.abc import Iterator
from datetime import datetime

import pytest

from contextune import Request, SQLiteStore, Tuner, User, bundled_toolbox

NOW = datetime(2026, 9, 17, 11, 30)  # a Thursday


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    with SQLiteStore(tmp_path_factory.mktemp("reader") / "s.db") as store:
        store.put_user(User("me"))
        yield Tuner(store, tools=bundled_toolbox())


@pytest.mark.parametrize(
    "text",
    [
        "Remind me to buy milk tomorrow at 6",
        "remind me to buy milk tomorow at 6",
        "Create a reminder for tomorrow at 6 pm to buy milk",
    ],
)
def test_a_text_does_not_repeat_the_time_of_the_call(tuner: Tuner, text: str) -> None:
    plan = tuner.answer(Request(text, "me", NOW)).plan
    assert plan is not None
    assert plan.tool == "Reminders/create_reminder"
    assert plan.args["title"].casefold() == "buy milk"
    assert plan.args["due_time"] == "2026-09-18T18:00"

"""Habits of items: phrases after each use, and as of an earlier moment."""

from datetime import datetime, timedelta

import numpy as np

from contextune.context.enriched.habits import HabitHistory, habit_phrases
from contextune.context.enriched.vectors import add_habits
from contextune.context.signals.columns import to_hours
from contextune.types import Item, UsageEvent, User

USER = User("ines", places={"home": (41.15, -8.63), "gym": (41.14, -8.61)})
SONG = Item("1", "Music", {"song_name": "Desfado", "artist": "Ana Moura"})
MONDAY = datetime(2024, 5, 13, 8)


def uses(*moments: tuple[int, int, str]) -> list[UsageEvent]:
    """Uses given by day, hour and place."""
    return [
        UsageEvent("1", (MONDAY + timedelta(days=day)).replace(hour=hour), place)
        for day, hour, place in moments
    ]


def test_phrases_as_of_a_moment_are_those_of_the_uses_before_it() -> None:
    events = uses(
        (0, 8, "gym"), (1, 8, "gym"), (2, 19, "home"), (3, 7, "gym"), (5, 11, "home"), (9, 8, "gym"),
        (10, 8, "gym"), (11, 23, "home"), (14, 8, "gym"), (15, 8, "gym"), (16, 8, "gym"), (17, 8, "gym"),
    )  # fmt: skip
    history = HabitHistory.build(SONG, USER, events)
    for event in events:
        before = [use for use in events if use.time < event.time]
        assert list(history.as_of(to_hours(event.time))) == habit_phrases(SONG, USER, before)
    assert history.current == ("played often, weekday morning, gym", "played a few times, home")
    assert history.as_of(to_hours(MONDAY)) == ()


def test_the_history_keeps_only_changes() -> None:
    history = HabitHistory.build(SONG, USER, uses(*((day, 8, "gym") for day in range(0, 70, 7))))
    assert [phrases[0] for phrases in history.phrases] == [
        "played once, morning, gym",
        "played a few times, Monday morning, gym",
        "played several times, Monday morning, gym",
        "played often, Monday morning, gym",
    ]
    assert history.changed == history.times[-1]


def test_an_unused_item_has_no_habits() -> None:
    history = HabitHistory.build(SONG, USER, [])
    assert history.current == () == history.as_of(to_hours(MONDAY))
    assert history.changed == float("-inf")


def test_habits_turn_the_vector_of_an_item_and_leave_others_alone() -> None:
    contents = np.eye(3, dtype=np.float32)[:2]
    phrases = {"played once": np.array([0, 0, 1], np.float32)}
    vectors = add_habits(contents, [("played once",), ()], phrases)
    assert np.allclose(vectors[0], [2**-0.5, 0, 2**-0.5])
    assert np.array_equal(vectors[1], contents[1])
    assert add_habits(contents, [(), ()], {}) is contents

"""What the user does and says changes the next answer: new habits, corrections, similar requests."""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from contextune import Tuner
from contextune.context.learning.changed_habits import follow_changed_habits
from contextune.context.learning.past_choices import CHOSEN, prefer_chosen
from contextune.store import SQLiteStore
from contextune.types import Item, Request, Turn, UsageEvent, User

MORNING = datetime(2024, 5, 20, 7, 15)
RIDE = Request("Put on what I always ride in to.", "ines", MORNING, "commute")


def song(name: str, title: str) -> Item:
    fields = {"song_name": title, "artist": "Ana Moura", "played_time": "2024-04-01T07:00"}
    return Item(name, "Music", fields)


@pytest.fixture
def tuner(store: SQLiteStore) -> Tuner:
    """Somebody has ridden in to the old song for weeks."""
    store.put_user(User("ines", places={"home": (41.152, -8.629)}))
    store.put_items("ines", [song("old", "Fado loucura"), song("new", "Desfado"), song("other", "Leva-me")])
    tuner = Tuner(store)
    rides = (UsageEvent("old", MORNING - timedelta(days=day), "commute") for day in range(2, 22))
    tuner.record("ines", *rides)
    return tuner


def first(tuner: Tuner, request: Request) -> str:
    return tuner.context(request, 1)[0].item.id


def on_day(day: int, request: Request = RIDE) -> Request:
    return replace(request, time=MORNING + timedelta(days=day))


def test_new_habit_leads_after_ten_days_and_stays(tuner: Tuner) -> None:
    assert first(tuner, RIDE) == "old"
    answers: list[str] = []
    for day in range(21):
        answers.append(first(tuner, on_day(day)))
        tuner.record("ines", UsageEvent("new", MORNING + timedelta(days=day), "commute"))
    assert answers[1] == "old"
    assert set(answers[10:]) == {"new"}


def test_one_correction_is_followed(tuner: Tuner) -> None:
    tuner.feedback(RIDE, used=["new"], rejected=["old"])
    hits = tuner.context(on_day(1))
    order = [hit.item.id for hit in hits]
    assert order.index("new") < order.index("old")
    assert CHOSEN in hits[order.index("new")].reasons
    assert CHOSEN not in hits[order.index("old")].reasons
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_correction_can_be_taken_back(tuner: Tuner) -> None:
    tuner.feedback(RIDE, used=["new"], rejected=["old"])
    tuner.feedback(on_day(1), used=["old"], rejected=["new"])
    assert first(tuner, on_day(2)) == "old"


def test_correction_does_not_change_the_past_or_other_requests(tuner: Tuner) -> None:
    before = tuner.context(RIDE)
    other = Request("Which song did I save at home?", "ines", MORNING + timedelta(hours=1), "home")
    tuner.feedback(on_day(1), used=["new"], rejected=["old"])
    assert [hit.item.id for hit in tuner.context(RIDE)] == [hit.item.id for hit in before]
    assert not any(CHOSEN in hit.reasons for hit in tuner.context(replace(other, time=on_day(2).time)))


def test_what_is_said_outweighs_a_correction(tuner: Tuner) -> None:
    named = replace(RIDE, text="Play Fado loucura.")
    assert first(tuner, named) == "old"
    tuner.feedback(named, used=["new"], rejected=["old"])
    assert first(tuner, on_day(1, named)) == "old"


def test_correction_within_a_conversation_is_not_generalised(tuner: Tuner) -> None:
    in_conversation = replace(RIDE, history=(Turn("user", "Is it raining?"),))
    tuner.feedback(in_conversation, used=["new"], rejected=["old"])
    assert not any(CHOSEN in hit.reasons for hit in tuner.context(on_day(1)))


def test_forgotten_user_leaves_no_choices(tuner: Tuner, store: SQLiteStore) -> None:
    tuner.feedback(RIDE, used=["new"], rejected=["old"])
    tuner.context(on_day(1))
    tuner.forget("ines")
    store.put_user(User("ines"))
    store.put_items("ines", [song("old", "Fado loucura"), song("new", "Desfado")])
    assert not any(CHOSEN in hit.reasons for hit in tuner.context(on_day(1)))


def test_judged_items_change_places_and_the_others_stay() -> None:
    ranked, said = ["a", "b", "c", "d"], [0.0] * 4
    assert prefer_chosen(ranked, {"b": -1.0, "d": 1.0}, said) == [0, 3, 2, 1]
    assert prefer_chosen(ranked, {"b": 1.0, "d": 1.2}, said) == [0, 1, 2, 3]  # hardly a difference
    assert prefer_chosen(ranked, {"b": -1.0, "d": 1.0}, [0.0, 0.5, 0.0, 0.0]) == [0, 1, 2, 3]
    assert prefer_chosen(ranked, {"gone": 1.0}, said) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("scores", "habit", "said", "apps", "moves"),
    [
        ([1.0, 0.9, 0.8], [2.0, 0.0, 4.0], [0, 0, 0], "MMM", True),
        ([1.0, 1.0, 1.0], [2.0, 0.0, 4.0], [0, 0, 0], "MMM", True),
        ([1.0, 0.9, 0.8], [3.0, 0.0, 4.0], [0, 0, 0], "MMM", False),  # nearly as often
        ([1.0, 0.9, 0.8], [0.1, 0.0, 4.0], [0, 0, 0], "MMM", False),  # no habit is replaced
        ([1.0, 0.9, 0.8], [2.0, 0.0, 4.0], [1, 0, 0], "MMM", False),  # the first is named
        ([1.0, 0.9, 0.8], [2.0, 0.0, 4.0], [0, 0, 0], "MMN", False),  # of another application
        ([9.0, 0.9, 0.8], [2.0, 0.0, 4.0], [0, 0, 0], "MMM", False),  # far ahead for other reasons
    ],
)
def test_newer_habit_passes_the_one_it_replaces(
    scores: list[float], habit: list[float], said: list[float], apps: str, *, moves: bool
) -> None:
    fused = np.array([0.5, 0.4, 0.4]) if scores[0] > scores[1] else np.full(3, 0.5)
    result = follow_changed_habits(fused, np.array(scores), np.array(habit), np.array(said), apps)
    order = np.lexsort((-np.array(scores), -result)).tolist()
    assert order == ([2, 0, 1] if moves else [0, 1, 2])
    assert np.allclose(np.sort(result), np.sort(fused))

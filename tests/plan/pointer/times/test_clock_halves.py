"""Morning or evening, for clock times without am or pm."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.times.clock_halves import meant_minutes, other_half
from contextune.types import Item, ItemHit, Request, User

YOGA = Item.event(name="Yoga", start="2026-03-12T20:00", end="2026-03-12T21:00")
HOLIDAY = Item.event(name="Ski trip", start="2026-03-20T00:00")


def inputs_for(text: str, *items: Item, hour: int = 10) -> PlanningInput:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, hour, 5))
    return PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in items])


def meant(text: str, *items: Item, hour: int = 10, about: frozenset[int] = frozenset()) -> int | None:
    inputs = inputs_for(text, *items, hour=hour)
    (clock,) = inputs.times.clocks
    minutes = meant_minutes(clock, inputs, about)
    return None if minutes is None else minutes // 60


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("Remind me tomorrow at three to stretch", 15),
        ("Remind me tomorrow at eleven to stretch", 11),
        ("Remind me tomorrow at twelve to eat", 12),
        ("Remind me tomorrow at seven to call the bank", None),
        ("Remind me tomorrow at six to call the bank", None),
        ("Remind me tomorrow at nine to call the bank", 9),
        ("Put the movie down for tomorrow at nine", 21),
        ("Remind me tomorrow at 7 pm to call the bank", 19),
        ("Breakfast with Rui tomorrow at seven", 7),
        ("Book dinner with Rui tomorrow at seven", 19),
        ("Remind me tomorrow at six after work to swim", 18),
        ("Wake me tomorrow at five", 5),
        ("Put the flight to Oslo down for tomorrow at four", None),
    ],
)
def test_hour_of_a_day(text: str, hour: int | None) -> None:
    assert meant(text) == hour


@pytest.mark.parametrize(
    ("now", "hour"),
    [
        (5, 6),  # in an hour
        (10, None),  # this evening, or tomorrow morning
        (14, 18),  # this evening
        (21, None),
    ],
)
def test_without_a_day_the_hour_that_comes_soon_is_meant(now: int, hour: int | None) -> None:
    assert meant("Remind me at six to water the plants", hour=now) == hour


def test_moved_event_stays_in_its_half_of_the_day() -> None:
    assert meant("Move yoga to eight", YOGA, about=frozenset([0])) == 20
    assert meant("Move yoga to nine tomorrow", YOGA) == 21
    assert meant("Move the ski trip to eight", HOLIDAY, about=frozenset([0])) is None


def test_other_half_lies_ahead() -> None:
    inputs = inputs_for("Remind me at six to water the plants")
    assert other_half(datetime(2026, 3, 5, 18), inputs, frozenset()) == datetime(2026, 3, 6, 6)
    assert other_half(datetime(2026, 3, 5, 17), inputs, frozenset()) is None

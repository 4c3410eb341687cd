"""An item in words, with what the data around it says."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from contextune.context.portrait import part_of_day, portrait
from contextune.types import Contact, Item, Use, User

USER = User("ines", contacts=(Contact("Rui Duarte", email="rui@example.com", relation="brother"),))
SONG = Item("s1", "Music", {"song_name": "Says", "artist": "Nils Frahm", "played_time": "2024-05-15T06:20"})


def uses(*times: str, place: str | None = "commute") -> list[Use]:
    return [Use("s1", datetime.fromisoformat(time), place) for time in times]


def test_a_song_played_on_the_way_to_work() -> None:
    used = uses("2024-05-13T07:10", "2024-05-14T07:30", "2024-05-16T08:05")
    wanted = (
        "song played — Says — by: Nils Frahm — Wednesday morning — played 3 times, weekday morning, commute"
    )
    assert portrait(SONG, USER, used) == wanted


@pytest.mark.parametrize(
    ("used", "ending"),
    [
        (uses(), "Wednesday morning"),
        (uses("2024-05-13T07:10"), "played 1 times, morning, commute"),
        (uses("2024-05-12T07:10", "2024-05-19T20:00"), "played 2 times, Sunday, commute"),
        (uses("2024-05-11T07:10", "2024-05-12T07:10"), "played 2 times, weekend morning, commute"),
        (uses("2024-05-11T07:10", "2024-05-13T20:10", place="anywhere"), "played 2 times"),
        (uses("2024-05-13T07:10", place=None), "played 1 times, morning"),
    ],
)
def test_how_it_is_used(used: list[Use], ending: str) -> None:
    assert portrait(SONG, USER, used).endswith(f" — {ending}")


def test_each_place_has_its_phrase_the_commonest_first() -> None:
    used = uses("2024-05-13T07:10", place="home") + uses(
        "2024-05-14T07:10", "2024-05-15T07:10", place="gym_hall"
    )
    assert portrait(SONG, USER, used).endswith(
        "played 2 times, morning, gym hall — played 1 times, morning, home"
    )


def test_people_are_who_they_are_to_the_user() -> None:
    call = Item(
        "p1", "PhoneCall", {"contact": "rui duarte", "direction": "missed", "date": "2024-05-15T20:12"}
    )
    mail = Item("m1", "Mail", {"author": "Rui@example.com", "subject": "Boat", "date": "2024-05-15T20:12"})
    assert portrait(call, USER, []).endswith("Rui: brother")
    assert portrait(mail, USER, []).endswith("Rui: brother")
    assert "brother" not in portrait(SONG, USER, [])


def test_times_are_the_users() -> None:
    abroad = User("ines", zone=ZoneInfo("Asia/Tokyo"))
    late = Item("g1", "Google", {"query": "tides", "date": "2024-05-15T22:00+00:00"})
    assert portrait(late, abroad, []).endswith("Thursday morning")


@pytest.mark.parametrize(
    ("hour", "part"), [(4, "night"), (5, "morning"), (12, "afternoon"), (17, "evening"), (22, "night")]
)
def test_the_parts_of_the_day(hour: int, part: str) -> None:
    assert part_of_day(datetime(2024, 5, 15, hour)) == part

"""An item in words, with what the data around it says."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from contextune.context.enriched.text import (
    MAX_CHARACTERS,
    all_moment_texts,
    content_text,
    enriched_text,
    moment_text,
)
from contextune.context.signals.columns import part_of_day
from contextune.datasets import bundled_personas
from contextune.types import Contact, Item, UsageEvent, User

USER = User("ines", contacts=(Contact("Rui Duarte", email="rui@example.com", relation="brother"),))
SONG = Item("s1", "Music", {"song_name": "Says", "artist": "Nils Frahm", "played_time": "2024-05-15T06:20"})


def uses(*times: str, place: str | None = "commute") -> list[UsageEvent]:
    return [UsageEvent("s1", datetime.fromisoformat(time), place) for time in times]


def test_enriched_text_of_a_song_played_while_commuting() -> None:
    used = uses("2024-05-13T07:10", "2024-05-14T07:30", "2024-05-16T08:05")
    start = "song played — Says — by: Nils Frahm — Wednesday morning — "
    assert enriched_text(SONG, USER, used) == start + "played a few times, weekday morning, commute"


@pytest.mark.parametrize(
    ("used", "ending"),
    [
        (uses(), "Wednesday morning"),
        (uses("2024-05-13T07:10"), "played once, morning, commute"),
        (uses("2024-05-12T07:10", "2024-05-19T20:00"), "played a few times, Sunday, commute"),
        (uses("2024-05-11T07:10", "2024-05-12T07:10"), "played a few times, weekend morning, commute"),
        (uses("2024-05-11T07:10", "2024-05-13T20:10", place="anywhere"), "played a few times"),
        (uses("2024-05-13T07:10", place=None), "played once, morning"),
    ],
)
def test_habits_in_enriched_text(used: list[UsageEvent], ending: str) -> None:
    assert enriched_text(SONG, USER, used).endswith(f" — {ending}")


def test_one_phrase_per_place_most_frequent_first() -> None:
    used = uses("2024-05-13T07:10", place="home") + uses(
        "2024-05-14T07:10", "2024-05-15T07:10", place="gym_hall"
    )
    assert enriched_text(SONG, USER, used).endswith(
        "played a few times, morning, gym hall — played once, morning, home"
    )


def test_relations_of_people_are_included() -> None:
    call = Item(
        "p1", "PhoneCall", {"contact": "rui duarte", "direction": "missed", "date": "2024-05-15T20:12"}
    )
    mail = Item("m1", "Mail", {"author": "Rui@example.com", "subject": "Boat", "date": "2024-05-15T20:12"})
    assert enriched_text(call, USER, []).endswith("Rui: brother")
    assert enriched_text(mail, USER, []).endswith("Rui: brother")
    assert "brother" not in enriched_text(SONG, USER, [])


def test_long_text_is_cut_before_its_time_and_people() -> None:
    fields = {"author": "rui@example.com", "subject": "Boat", "content": "varnish " * 200}
    text = content_text(Item("m1", "Mail", {**fields, "date": "2024-05-15T20:12"}), USER)
    assert text.endswith("varnish — Wednesday evening — Rui: brother")
    assert len(text) < MAX_CHARACTERS + 50
    unbroken = Item("n1", "Notes", {"title": "ideas", "content": "陶" * 900})
    assert len(content_text(unbroken, USER)) == MAX_CHARACTERS


def test_texts_of_bundled_personas_are_not_cut() -> None:
    items = [item for persona in bundled_personas() for item in persona.items]
    assert max(len(item.text) for item in items) < MAX_CHARACTERS


def test_times_are_in_the_users_zone() -> None:
    abroad = User("ines", zone=ZoneInfo("Asia/Tokyo"))
    late = Item("g1", "Google", {"query": "tides", "date": "2024-05-15T22:00+00:00"})
    assert enriched_text(late, abroad, []).endswith("Thursday morning")


@pytest.mark.parametrize(
    ("hour", "part"), [(4, "night"), (5, "morning"), (12, "afternoon"), (17, "evening"), (22, "night")]
)
def test_part_of_day(hour: int, part: str) -> None:
    assert part_of_day(datetime(2024, 5, 15, hour)) == part


def test_moment_text() -> None:
    assert moment_text(datetime(2024, 5, 16, 17, 40), "gym_hall") == "Thursday evening — at: gym hall"
    assert moment_text(datetime(2024, 5, 16, 8), None) == "Thursday morning"


def test_all_moment_texts_of_a_user() -> None:
    texts = all_moment_texts(User("ines", places={"home": (41.1, -8.6)}))
    assert len(texts) == len(set(texts)) == 7 * 4 * 4
    for hour in range(24):
        for place in (None, "home", "commute", "anywhere"):
            assert moment_text(datetime(2024, 5, 16, hour), place) in texts

"""Times on the user's clock, with the zone named where it differs."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from contextune.types import Item, format_item_time, format_time, user_time

LOS_ANGELES, LISBON, SAO_PAULO = map(ZoneInfo, ("America/Los_Angeles", "Europe/Lisbon", "America/Sao_Paulo"))
NOW = datetime(2024, 1, 10)


@pytest.mark.parametrize(
    ("time", "zone", "text"),
    [
        ("2024-01-16T14:00+01:00", LOS_ANGELES, "Tue 16 Jan 05:00 PST"),
        ("2024-05-16T14:00+01:00", LOS_ANGELES, "Thu 16 May 06:00 PDT"),
        ("2024-05-16T14:00+01:00", LISBON, "Thu 16 May 14:00"),
        ("2024-05-16T14:00+01:00", SAO_PAULO, "Thu 16 May 10:00 UTC-03"),
        ("2024-05-16T23:30-07:00", LISBON, "Fri 17 May 07:30 WEST"),
        ("2024-05-16T14:00", LOS_ANGELES, "Thu 16 May 14:00"),
        ("2023-05-16T14:00", LISBON, "Tue 16 May 2023 14:00"),
    ],
)
def test_time_is_on_the_clock_of_the_user(time: str, zone: ZoneInfo, text: str) -> None:
    assert format_time(datetime.fromisoformat(time), zone, NOW) == text


def test_day_without_an_hour_and_item_without_a_time() -> None:
    whole_day = Item("c1", "Calendar", {"event_name": "Fair", "start_time": "2024-05-16"})
    assert format_item_time(whole_day, LOS_ANGELES, NOW) == "Thu 16 May"
    assert format_item_time(Item("f1", "Files", {"name": "a.txt"}), LISBON, NOW) == ""
    late = Item.event(name="Glaze night", start="2024-05-16T14:00+01:00", end="2024-05-16T15:00+01:00")
    assert format_item_time(late, LOS_ANGELES, NOW) == "Thu 16 May 06:00 PDT"


def test_time_before_the_calendar_is_unchanged() -> None:
    never = datetime(1, 1, 1, tzinfo=UTC)
    assert user_time(never, LOS_ANGELES) == never

"""Times on the user's wall clock, requests that cannot be answered, and values that behave as values."""

import copy
import math
import pickle
import time as clock
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.errors import InvalidDataError, InvalidRequestError
from contextune.types import (
    Answer,
    Argument,
    Contact,
    Item,
    ItemHit,
    Missing,
    Option,
    Plan,
    Question,
    Request,
    Source,
    Tool,
    ToolHit,
    Turn,
    UsageEvent,
    User,
    check_coordinates,
    local_time,
    parse_place,
    parse_time,
)

TIME = datetime(2024, 5, 16, 17, 40)
LISBON, NEW_YORK = ZoneInfo("Europe/Lisbon"), ZoneInfo("America/New_York")


@pytest.fixture
def machine_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        clock.tzset()

    yield move
    monkeypatch.undo()
    clock.tzset()


def test_naive_time_is_wall_clock() -> None:
    assert local_time(TIME, None) == TIME
    assert local_time(TIME, NEW_YORK) == TIME


def test_instant_is_converted_to_zone() -> None:
    instant = TIME.replace(tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert local_time(instant, NEW_YORK) == datetime(2024, 5, 16, 8, 10)
    assert local_time(instant, LISBON) == datetime(2024, 5, 16, 13, 10)
    assert local_time(instant, NEW_YORK).tzinfo is None


@pytest.mark.parametrize(
    ("instant", "wall"),
    [
        ("2024-03-10T06:59Z", datetime(2024, 3, 10, 1, 59)),
        ("2024-03-10T07:00Z", datetime(2024, 3, 10, 3, 0)),
        ("2024-11-03T05:30Z", datetime(2024, 11, 3, 1, 30)),
        ("2024-11-03T06:30Z", datetime(2024, 11, 3, 1, 30)),
    ],
)
def test_daylight_saving_changes(instant: str, wall: datetime) -> None:
    assert local_time(datetime.fromisoformat(instant), NEW_YORK) == wall


def test_no_zone_means_machine_zone(machine_zone: Callable[[str], None]) -> None:
    instant = datetime(2024, 1, 16, 12, tzinfo=UTC)
    machine_zone("Asia/Tokyo")
    assert local_time(instant, None) == datetime(2024, 1, 16, 21)
    machine_zone("America/New_York")
    assert local_time(instant, None) == datetime(2024, 1, 16, 7)
    assert local_time(instant, LISBON) == datetime(2024, 1, 16, 12)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize("never", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_extreme_dates_are_unchanged(never: str, zone: str) -> None:
    year = int(never[:4])
    assert local_time(datetime.fromisoformat(never), ZoneInfo(zone)).year == year


@given(
    st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.timezones(), allow_imaginary=False),
    st.timezones(),
)
def test_equal_instants_have_equal_wall_clock(time: datetime, zone: ZoneInfo) -> None:
    assert local_time(time, zone) == local_time(time.astimezone(UTC), zone)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2024-05-16T17:40", TIME),
        ("2024-05-16 17:40", TIME),
        ("2024-05-16T17:40:12.5", TIME.replace(second=12, microsecond=500_000)),
        ("2024-05-16T17:40Z", TIME.replace(tzinfo=UTC)),
        ("2024-05-16T17:40+05:30", TIME.replace(tzinfo=timezone(timedelta(hours=5, minutes=30)))),
    ],
)
def test_parse_time(text: str, time: datetime) -> None:
    parsed = parse_time(text)
    assert parsed == time
    assert parsed.utcoffset() == time.utcoffset()


@pytest.mark.parametrize(
    "text",
    [
        "", "17:40", "2024-05-16", "20240516", "yesterday", "2024-05-16T25:00", "2024-02-30T10:00",
        "2024-05-16+01:00", "2024-05-16-01:00", "16.5.2024 17:40",
    ],
)  # fmt: skip
def test_parse_time_needs_date_and_time(text: str) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        parse_time(text)
    assert repr(text) in str(refusal.value)
    assert "2024-05-16T17:40" in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("home", "home"),
        ("Rua 5, Porto", "Rua 5, Porto"),
        ("41.15,-8.63", (41.15, -8.63)),
        (" 41.15, -8.63 ", (41.15, -8.63)),
        ("-90,180", (-90.0, 180.0)),
    ],
)
def test_parse_place(text: str, place: object) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize("text", ["91,0", "0,181", "1,2,3", "5", "nan,0", "inf,0"])
def test_parse_place_rejects_impossible_coordinates(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="not a coordinate"):
        parse_place(text)


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_every_coordinate_on_earth_is_accepted(latitude: float, longitude: float) -> None:
    assert check_coordinates([latitude, longitude]) == (latitude, longitude)
    assert parse_place(f"{latitude!r},{longitude!r}") == (latitude, longitude)


BAD_REQUESTS: dict[str, tuple[dict[str, Any], str]] = {
    "empty text": ({"text": ""}, "no text"),
    "blank text": ({"text": " \n\t"}, "no text"),
    "no user": ({"user": ""}, "no user"),
    "a day": ({"time": date(2024, 5, 16)}, r"not a datetime: datetime.date\(2024, 5, 16\)"),
    "a text": ({"time": "2024-05-16T17:40"}, "not a datetime: '2024-05-16T17:40'"),
    "no time": ({"time": None}, "not a datetime: None"),
    "north of the pole": ({"place": (91, 0)}, "91.0, 0.0.*latitude"),
    "past the date line": ({"place": (0, 181)}, "0.0, 181.0.*longitude"),
    "three numbers": ({"place": (1, 2, 3)}, r"not a coordinate: \(1, 2, 3\)"),
    "one number": ({"place": [1]}, r"not a coordinate: \[1\]"),
    "not a number": ({"place": (math.nan, 0)}, "nan, 0.0"),
    "words": ({"place": ("north", "west")}, r"not a coordinate: \('north', 'west'\)"),
    "a number alone": ({"place": 41.15}, "not a coordinate: 41.15"),
    "empty place": ({"place": ""}, "the place is empty"),
    "history of strings": ({"history": ["hi"]}, "not a turn: 'hi'"),
    "history of messages": ({"history": [{"role": "user", "content": "hi"}]}, "not a turn: .*'role'"),
    "history of threes": ({"history": [("user", "hi", "there")]}, "not a turn"),
}


@pytest.mark.parametrize("case", BAD_REQUESTS)
def test_invalid_request_is_rejected(case: str) -> None:
    changes, reason = BAD_REQUESTS[case]
    right: dict[str, Any] = {"text": "Who called?", "user": "ines", "time": TIME}
    with pytest.raises(InvalidRequestError, match=reason):
        Request(**{**right, **changes})


def test_history_is_converted_to_turns() -> None:
    given: Any = [("user", "Play it"), ["assistant", "Which one?"], Turn("user", "That one")]
    history = Request("The loud one", user="ines", time=TIME, history=given).history
    assert history == (Turn("user", "Play it"), Turn("assistant", "Which one?"), Turn("user", "That one"))
    assert all(isinstance(turn, Turn) for turn in history)
    assert history[1].speaker == "assistant"


def test_coordinates_are_converted_to_floats() -> None:
    place: Any = [41, -8]
    assert Request("Where am I?", user="ines", time=TIME, place=place).place == (41.0, -8.0)


def test_request_time_defaults_to_now() -> None:
    before = datetime.now(UTC)
    made = Request("Who called?", user="ines").time
    assert made.tzinfo is not None
    assert before <= made <= datetime.now(UTC)


ITEM = Item("m1", "Mail", {"subject": "Kiln slots", "recipients": ["ines@example.com"]})
REQUEST = Request("Who called?", user="ines", time=TIME, place=(41, -8), history=(Turn("user", "Hello"),))
TOOL = Tool("get_event", "Gets an event", parameters={"type": "object"})
VALUES = [
    ITEM,
    UsageEvent("m1", TIME, "home"),
    Contact("Rui", relation="brother", more={"birthday": "1990-01-01"}),
    User("ines", {"age": 34}, {"home": (41.1, -8.6)}, (Contact("Rui"),), LISBON),
    REQUEST,
    TOOL,
    ItemHit(ITEM, 0.5, ("why",)),
    Plan(
        "get_event",
        {"event_name": Argument("Glaze night", (Source("item", "c1", "event_name"),), 0.9)},
        0.9,
        (Missing("date", "For which day?"),),
    ),
    Plan("get_event", decision="confirm", question=Question("Get it?", (Option("Yes", Plan("get_event")),))),
    Answer(REQUEST, (ItemHit(ITEM, 0.5),), (ToolHit(TOOL, 1.0),), Plan("get_event"), {"context": 0.1}),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_can_be_copied_and_pickled(value: object) -> None:
    for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert twin == value
        assert hash(twin) == hash(value)
        assert {twin, value} == {value}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_immutable(value: Any) -> None:
    with pytest.raises((AttributeError, TypeError)):
        value.id = "other"


def test_items_differ_by_their_fields() -> None:
    assert Item("m1", "Mail", {"subject": "a"}) != Item("m1", "Mail", {"subject": "b"})
    assert Item("m1", "Mail", {}) != Item("m1", "Notes", {})


def test_names_and_ids_must_not_be_empty() -> None:
    with pytest.raises(InvalidDataError, match="a user needs a non-empty id"):
        User("")
    with pytest.raises(InvalidDataError, match="a tool needs a non-empty name"):
        Tool("", "does nothing")

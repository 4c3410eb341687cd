"""Stored data is read back unchanged, or refused with the name of the field."""

import enum
import math
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contextune.errors import InvalidDataError, StoreError, UnknownUserError
from contextune.store import SQLiteStore, Store
from contextune.types import Contact, Item, UsageEvent, User

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(TEXT, VALUES, max_size=5)
NAMES = TEXT.filter(bool)
in_one_store = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

ANA = User(
    "ana",
    profile={"name": "Ana Simões", "age": 34, "likes": ["chá", "jazz"], "home": {"floor": 2}},
    places={"home": (41.15, -8.63), "work": (41.18, -8.6), "gym": "4 Mill Lane, Leeds"},
    contacts=(
        Contact("Rui", email="rui@example.org", relation="brother", more={"birthday": "1990-04-01"}),
        Contact("Bea", phone="+351 912 345 678"),
    ),
    zone=ZoneInfo("Europe/Lisbon"),
)


class Mood(enum.StrEnum):
    GOOD = "good"


def test_sqlite_store_implements_store(store: SQLiteStore) -> None:
    as_protocol: Store = store
    assert as_protocol.users() == []


def test_user_round_trip(store: SQLiteStore) -> None:
    store.put_user(ANA)
    assert store.user("ana") == ANA
    store.put_user(User("ana"))
    assert store.user("ana") == User("ana")


def test_users_are_sorted(store: SQLiteStore) -> None:
    for user in ("zoë", "Ana", "ana", "é", "日本"):
        store.put_user(User(user))
    assert store.users() == sorted(["zoë", "Ana", "ana", "é", "日本"])


@in_one_store
@given(profile=FIELDS, places=st.dictionaries(TEXT, st.tuples(st.floats(-90, 90), st.floats(-180, 180))))
def test_any_user_round_trip(
    store: SQLiteStore, profile: dict[str, Any], places: dict[str, tuple[float, float]]
) -> None:
    user = User("ana", profile, places, (Contact("Rui", more=profile),))
    store.put_user(user)
    assert store.user("ana") == user


@in_one_store
@given(st.lists(st.builds(Item, NAMES, NAMES, FIELDS), max_size=5, unique_by=lambda item: item.id))
def test_any_items_round_trip(store: SQLiteStore, items: list[Item]) -> None:
    store.put_user(User("ana"))
    store.delete_items("ana", [item.id for item in store.items("ana")])
    assert store.put_items("ana", items) == len(items)
    assert store.items("ana") == sorted(items, key=lambda item: item.id)
    backwards = [item.id for item in reversed(items)]
    assert store.items("ana", backwards) == items[::-1]


def test_types_are_preserved(store: SQLiteStore) -> None:
    fields = {
        "whole": 1,
        "real": 1.0,
        "yes": True,
        "none": None,
        "tiny": 5e-324,
        "large": 2**200,
        "zero": "\x00",
    }
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", fields)])
    (item,) = store.items("ana")
    assert {name: (type(value), value) for name, value in item.fields.items()} == {
        name: (type(value), value) for name, value in fields.items()
    }


def test_field_order_and_other_mappings_are_preserved(store: SQLiteStore) -> None:
    item = Item("1", "Guestbook", MappingProxyType({"z": "1", "a": "2", "mood": Mood.GOOD}))
    store.put_user(User("ana"))
    store.put_items("ana", [item])
    assert store.items("ana") == [item]
    assert list(store.items("ana")[0].fields) == ["z", "a", "mood"]


def test_lone_surrogate_in_a_field_is_preserved(store: SQLiteStore) -> None:
    item = Item("1", "Mail", {"subject": "caf\udce9", "content": "olá"})
    store.put_user(User("ana"))
    store.put_items("ana", [item])
    assert store.items("ana") == [item]


def _circular() -> list[Any]:
    circular: list[Any] = []
    circular.append(circular)
    return circular


@pytest.mark.parametrize(
    "value",
    [
        datetime(2024, 5, 16),
        b"bytes",
        {1, 2},
        (1, 2),
        [["deep", ("tuple",)]],
        {1: "a key that is not a string"},
        math.nan,
        [-math.inf],
        object(),
        _circular(),
        "\ud83d\ude00",  # two surrogates that would come back as one character
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_that_is_not_json_is_refused_by_name(store: SQLiteStore, value: object) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("0", "Notes", {"title": "stays"})])
    revision = store.revision("ana")
    bad = Item("bad", "Notes", {"title": "a secret", "when": value})
    with pytest.raises(InvalidDataError, match=r"item 'bad', field 'when'") as caught:
        store.put_items("ana", [Item("1", "Notes", {}), bad])
    assert "secret" not in str(caught.value)
    assert [item.id for item in store.items("ana")] == ["0"]
    assert store.revision("ana") == revision


def test_user_with_a_value_that_is_not_json_is_refused(store: SQLiteStore) -> None:
    with pytest.raises(InvalidDataError, match=r"user 'ana', profile, field 'born'"):
        store.put_user(User("ana", {"born": datetime(1990, 4, 1)}))
    with pytest.raises(InvalidDataError, match=r"user 'ana', field 'contacts'"):
        store.put_user(User("ana", contacts=(Contact("Rui", more={"born": datetime(1990, 4, 1)}),)))
    assert store.users() == []


def test_time_zone_without_a_name_is_refused(store: SQLiteStore) -> None:
    zones = Path("/usr/share/zoneinfo/Europe/Lisbon")
    if not zones.exists():
        pytest.skip("no time zone files")
    with zones.open("rb") as stream:
        nameless = ZoneInfo.from_file(stream)
    with pytest.raises(InvalidDataError, match="time zone has no name"):
        store.put_user(User("ana", zone=nameless))


def test_ids_with_lone_surrogates_are_refused(store: SQLiteStore) -> None:
    broken = "caf\udce9"
    store.put_user(User("ana"))
    for call in (
        lambda: store.put_user(User(broken)),
        lambda: store.user(broken),
        lambda: store.put_items("ana", [Item(broken, "Notes", {})]),
        lambda: store.put_items("ana", [Item("1", broken, {})]),
        lambda: store.items("ana", [broken]),
        lambda: store.delete_items("ana", [broken]),
        lambda: store.put_uses("ana", [UsageEvent(broken, datetime(2024, 1, 1))]),
        lambda: store.uses("ana", item=broken),
        lambda: store.forget(broken),
    ):
        with pytest.raises(InvalidDataError, match=r"caf\\udce9"):
            call()


def test_items_by_id_keep_the_requested_order(store: SQLiteStore) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", (Item(f"{n:05}", "Notes", {"title": str(n)}) for n in range(2000)))
    ids = [f"{n:05}" for n in range(1999, -1, -1)]
    assert [item.id for item in store.items("ana", ids)] == ids
    assert [item.id for item in store.items("ana", ["00007", "none", "00003", "00007"])] == [
        "00007",
        "00003",
        "00007",
    ]
    assert store.items("ana", []) == []


def test_times_of_uses_are_preserved(store: SQLiteStore) -> None:
    times = [
        datetime(2024, 5, 16, 8, 0),
        datetime(2024, 5, 16, 9, 0, 0, 123456),
        datetime(2024, 5, 16, 10, 0, tzinfo=timezone(timedelta(hours=1))),
        datetime(2024, 5, 16, 11, 0, tzinfo=UTC),
    ]
    store.put_user(User("ana", zone=ZoneInfo("Europe/Lisbon")))  # one hour ahead of UTC in May
    store.put_items("ana", [Item("1", "Notes", {})])
    uses = [
        UsageEvent("1", time, place) for time, place in zip(times, (None, "", "home", "work"), strict=True)
    ]
    assert store.put_uses("ana", reversed(uses)) == 4
    assert store.uses("ana") == uses
    assert [use.time.tzinfo is None for use in store.uses("ana")] == [True, True, False, False]
    assert [use.time.utcoffset() for use in store.uses("ana")[2:]] == [timedelta(hours=1), timedelta(0)]


def test_uses_are_sorted_by_local_time(store: SQLiteStore) -> None:
    store.put_user(User("ana", zone=ZoneInfo("Asia/Tokyo")))
    store.put_items("ana", [Item("1", "Notes", {})])
    before = UsageEvent("1", datetime(2024, 5, 16, 8, 59))
    at_nine = UsageEvent("1", datetime(2024, 5, 16, 0, 0, tzinfo=UTC))  # nine o'clock in Tokyo
    after = UsageEvent("1", datetime(2024, 5, 16, 9, 1))
    store.put_uses("ana", [after, at_nine, before])
    assert store.uses("ana") == [before, at_nine, after]
    store.put_user(User("ana", zone=ZoneInfo("UTC")))
    assert store.uses("ana") == [at_nine, before, after]


def test_uses_of_one_item(store: SQLiteStore) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", {}), Item("2", "Notes", {})])
    one, two = UsageEvent("1", datetime(2024, 1, 2)), UsageEvent("2", datetime(2024, 1, 1))
    store.put_uses("ana", [one, two])
    assert store.uses("ana") == [two, one]
    assert store.uses("ana", item="1") == [one]
    assert store.uses("ana", item="none") == []


def test_same_use_is_stored_once(store: SQLiteStore) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", {})])
    noon = datetime(2024, 5, 16, 12, 0)
    in_lisbon = noon.replace(tzinfo=ZoneInfo("Europe/Lisbon"))
    assert (
        store.put_uses("ana", [UsageEvent("1", noon), UsageEvent("1", noon), UsageEvent("1", noon, "home")])
        == 2
    )
    assert store.put_uses("ana", [UsageEvent("1", noon), UsageEvent("1", in_lisbon)]) == 1
    assert store.put_uses("ana", [UsageEvent("1", in_lisbon.astimezone(UTC))]) == 0
    assert len(store.uses("ana")) == 3


def test_time_out_of_range_is_refused(store: SQLiteStore) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", {})])
    with pytest.raises(InvalidDataError, match="9999"):
        store.put_uses("ana", [UsageEvent("1", datetime.max.replace(tzinfo=UTC))])
    assert store.put_uses("ana", [UsageEvent("1", datetime.max), UsageEvent("1", datetime.min)]) == 2
    assert len(store.uses("ana")) == 2


def test_use_of_an_unknown_item_is_refused(store: SQLiteStore) -> None:
    store.put_user(User("ana"))
    store.put_items("ana", [Item("1", "Notes", {})])
    time = datetime(2024, 5, 16)
    with pytest.raises(InvalidDataError, match="unknown item '2' of user 'ana'"):
        store.put_uses("ana", [UsageEvent("1", time), UsageEvent("2", time), UsageEvent("1", time, "home")])
    assert store.uses("ana") == []


def test_unknown_user_is_refused(store: SQLiteStore) -> None:
    store.put_user(User("rui"))
    for call in (
        lambda: store.user("ana"),
        lambda: store.put_items("ana", []),
        lambda: store.items("ana"),
        lambda: store.items("ana", ["1"]),
        lambda: store.delete_items("ana", ["1"]),
        lambda: store.put_uses("ana", []),
        lambda: store.uses("ana"),
        lambda: store.revision("ana"),
        lambda: store.vectors("ana", "m", [b"d"]),
        lambda: store.put_vectors("ana", "m", {}),
        lambda: store.forget("ana"),
    ):
        with pytest.raises(UnknownUserError, match=r"'ana'.*put_user") as caught:
            call()
        assert "rui" not in str(caught.value)


def test_closed_store_is_refused(path: Path) -> None:
    with SQLiteStore(path) as store:
        store.put_user(User("ana"))
    with pytest.raises(StoreError, match="closed: open it again"):
        store.users()
    store.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["store.db"]


def test_unreadable_time_of_an_unknown_application_is_logged_without_its_value(
    store: SQLiteStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.put_user(ANA)
    store.put_items("ana", [Item("1", "Tasks", {"title": "Paint", "due": "when Rui is back"})])
    assert "1 item of Tasks: the field 'due' is not a time" in caplog.text
    assert "Rui" not in caplog.text
    caplog.clear()
    store.put_items("ana", [Item("2", "Tasks", {"title": "Paint", "due": "2024-05-16"})])
    assert not caplog.text

"""Recurring events: one occurrence stands for its series, and each can be found by its time."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from contextune import Request, SQLiteStore, Tuner, User, bundled_toolbox
from contextune.answers import extract_answer
from contextune.context.series import first_occurrences, meant_occurrence, series_of
from contextune.importers import import_into
from contextune.types import Item

NOW = datetime(2024, 5, 15, 12)


def occurrence(day: int, series: str = "0" * 20) -> Item:
    return Item.event(
        id=f"event-{series}-202405{day:02}T180000Z", name="Choir", start=f"2024-05-{day:02}T20:00"
    )


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Tuner:
    folder = tmp_path_factory.mktemp("series")
    (folder / "tablet.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nSUMMARY:Take the blue tablet\nDTSTART:20240301T080000\n"
        "DTEND:20240301T083000\nRRULE:FREQ=DAILY;COUNT=80\nEND:VEVENT\n"
        "BEGIN:VEVENT\nUID:2\nSUMMARY:Choir\nDTSTART:20240501T200000\nDTEND:20240501T220000\n"
        "RRULE:FREQ=WEEKLY;COUNT=20\nEND:VEVENT\n"
        + "".join(
            f"BEGIN:VEVENT\nUID:{n}\nSUMMARY:{name}\nDTSTART:202405{n}T100000\nEND:VEVENT\n"
            for n, name in enumerate(["Pharmacy: blue tablets", "Dentist", "Glaze night", "Rowing"], 16)
        )
        + "END:VCALENDAR\n"
    )
    (folder / "tasks.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:3\nSUMMARY:Water the ferns\nDTSTART:20240301T080000\n"
        "DUE:20240301T080000\nRRULE:FREQ=DAILY\nEND:VTODO\nEND:VCALENDAR\n"
    )
    store = SQLiteStore(folder / "store.db")
    store.put_user(User("me", zone=ZoneInfo("Europe/Lisbon")))
    import_into(store, "me", [folder], now=NOW)
    return Tuner(store, tools=bundled_toolbox())


def test_series_is_read_from_ids_of_importers() -> None:
    assert series_of(occurrence(1)) == series_of(occurrence(8)) == f"event-{'0' * 20}"
    assert series_of(Item.event(id="e1-20240501T180000Z", name="Choir", start="2024-05-01T20:00")) is None


def test_further_occurrences_come_behind_as_many_others_as_are_wanted() -> None:
    items = [
        occurrence(1),
        occurrence(8),
        Item.note(id="n", title="Choir", content="", modified="2024-05-01T08:00"),
        occurrence(2, "1" * 20),
    ]
    assert first_occurrences([1, 0, 2, 3], items.__getitem__, 3) == [1, 2, 3, 0]
    assert first_occurrences([1, 0, 2, 3], items.__getitem__, 2) == [1, 2, 0, 3]
    assert first_occurrences([1, 0, 2, 3], items.__getitem__, 1) == [1, 0, 2, 3]


def test_daily_event_is_found_once(tuner: Tuner) -> None:
    assert tuner.preparation("me").total > 100
    hits = tuner.context(Request("Which tablet do I take?", "me", NOW), 5)
    titles = [hit.item.title for hit in hits]
    assert titles.count("Take the blue tablet") == 1
    assert "Pharmacy: blue tablets" in titles
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.reasons for hit in hits)


def test_every_occurrence_is_in_the_ranking(tuner: Tuner) -> None:
    hits = tuner.context(Request("Which tablet do I take?", "me", NOW), None)
    assert sum(hit.item.title == "Take the blue tablet" for hit in hits) == 80


@pytest.mark.parametrize(("text", "day"), [("When is choir next?", 15), ("When is choir on May 29?", 29)])
def test_occurrence_is_found_by_its_time(tuner: Tuner, text: str, day: int) -> None:
    answer = tuner.answer(Request(text, "me", NOW))
    first = next(hit.item for hit in answer.context if hit.item.title == "Choir")
    assert first.times["start"].replace(tzinfo=None) == datetime(2024, 5, day, 20)
    extracted = extract_answer(answer, tuner.store)
    assert extracted is not None
    assert extracted.source.time is not None
    assert abs(extracted.source.time.replace(tzinfo=None) - datetime(2024, 5, day, 20)) < timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "asked", "due"),
    [
        ("Tick off the ferns", "2024-05-15T12:00", "2024-05-15T08:00"),
        ("Tick off the ferns", "2024-05-18T07:00", "2024-05-18T08:00"),
        ("Tick off the ferns for tomorrow", "2024-05-18T07:00", "2024-05-19T08:00"),
        ("When are the ferns due before Tuesday?", "2024-05-18T07:00", "2024-05-18T08:00"),
        ("Did I water the ferns yesterday?", "2024-05-18T07:00", "2024-05-17T08:00"),
        ("Tick off the ferns", "2024-01-01T07:00", "2024-05-15T08:00"),
        ("Tick off the ferns", "2030-01-01T07:00", "2024-07-14T08:00"),
    ],
)
def test_recurring_task_is_shown_at_the_occurrence_that_is_meant(
    tuner: Tuner, text: str, asked: str, due: str
) -> None:
    request = Request(text, "me", datetime.fromisoformat(asked))
    (item,) = [hit.item for hit in tuner.context(request) if hit.item.title == "Water the ferns"]
    (stored,) = tuner.store.items("me", [item.id])
    times = [stored.fields["due"], *stored.fields["occurrences"]]
    assert item.fields["due"] == due
    assert item.fields["occurrences"] == times[times.index(due) + 1 :]


def test_items_without_readable_occurrences_are_shown_as_they_are() -> None:
    request = Request("Tick off the ferns", "me", NOW)
    reminder = Item.reminder(title="Ferns", created="2024-05-01T08:00", due="2024-05-02T08:00", id="r")
    for item in (
        reminder,
        occurrence(1),
        Item("r", "Reminders", {**reminder.fields, "occurrences": 3}),
        Item("r", "Reminders", {**reminder.fields, "occurrences": ["soon"]}),
    ):
        assert meant_occurrence(item, request, None).time == item.time

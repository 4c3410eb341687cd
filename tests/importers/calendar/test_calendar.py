"""Calendars and tasks: time zones, recurrence with exceptions, broken entries."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.importers.reading_files import (
    CONTEXT,
    INES,
    NOW,
    fields_in,
    items_in,
    only_file,
    read_path,
    skipped_in,
)

from contextune.importers.calendar.reader import CalendarReader
from contextune.importers.files import SkippedEntry
from contextune.importers.run import import_into
from contextune.store import SQLiteStore
from contextune.types import Item

HEAD = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Example//EN\nX-WR-CALNAME:Studio\n"
GLAZE = """\
BEGIN:VEVENT
UID:glaze@example.org
DTSTAMP:20240501T080000Z
DTSTART;TZID=Europe/Lisbon:20240516T190000
DTEND;TZID=Europe/Lisbon:20240516T210000
SUMMARY:Glaze night\\, late
DESCRIPTION:bring the <b>celadon</b> tests<br>and talc&nbsp;8 </p>
LOCATION:Barro Stud
 io
ORGANIZER;CN=Marta Silva:mailto:marta@example.org
ATTENDEE;CN="Ines Duarte";PARTSTAT=ACCEPTED:mailto:ines@example.com
ATTENDEE;CN=Rui:invalid:nomail
CATEGORIES:Personal,Pottery
STATUS:CONFIRMED
BEGIN:VALARM
TRIGGER:-PT15M
DESCRIPTION:Soon
END:VALARM
END:VEVENT
"""
WEEKLY = """\
BEGIN:VEVENT
UID:class
SUMMARY:Class
DTSTART;TZID=Europe/Lisbon:20240318T093000
DURATION:PT1H30M
RRULE:FREQ=WEEKLY;BYDAY=MO;COUNT=4
EXDATE;TZID=Europe/Lisbon:20240408T093000
END:VEVENT
BEGIN:VEVENT
UID:class
RECURRENCE-ID;TZID=Europe/Lisbon:20240401T093000
SUMMARY:Class\\, moved
DTSTART;TZID=Europe/Lisbon:20240401T113000
END:VEVENT
"""


def calendar(tmp_path: Path, *parts: str, name: str = "studio.ics", ending: str = "\r\n") -> Path:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    text = HEAD + "".join(parts) + "END:VCALENDAR\n"
    file.write_bytes(text.replace("\n", ending).encode())
    return file


def event(*lines: str, uid: str = "one") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", "SUMMARY:Thing", *lines, "END:VEVENT", ""])


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_event_fields(tmp_path: Path, ending: str) -> None:
    (item,) = items_in(calendar(tmp_path, GLAZE, ending=ending))
    assert item.app == "Calendar"
    assert item.fields == {
        "event_name": "Glaze night, late",
        "category": "Personal",
        "organizer": "marta@example.org",
        "participants": ["ines@example.com", "Rui"],
        "location": "Barro Studio",
        "start_time": "2024-05-16T19:00+01:00",
        "end_time": "2024-05-16T21:00+01:00",
        "status": "Confirmed",
        "notes": "bring the celadon tests\nand talc 8",
    }


@pytest.mark.parametrize(
    ("start", "end", "written"),
    [
        (
            "DTSTART:20240516T190000Z",
            "DTEND:20240516T200000Z",
            ["2024-05-16T19:00+00:00", "2024-05-16T20:00+00:00"],
        ),
        ("DTSTART:20240516T190000", "DURATION:PT45M", ["2024-05-16T19:00", "2024-05-16T19:45"]),  # floating
        ("DTSTART;VALUE=DATE:20240516", "DTEND;VALUE=DATE:20240518", ["2024-05-16", "2024-05-17T23:59"]),
        ("DTSTART;VALUE=DATE:20240516", "X-NONE:1", ["2024-05-16", "2024-05-16T23:59"]),
        ("DTSTART:20240516T190000Z", "DTEND:20240516T180000Z", ["2024-05-16T19:00+00:00", None]),
        ("DTSTART:20240516T190000Z", "DTEND:yesterday", ["2024-05-16T19:00+00:00", None]),
        (
            "DTSTART;TZID=W. Europe Standard Time:20240716T190000",
            "X-NONE:1",
            ["2024-07-16T19:00+02:00", None],
        ),
        ("DTSTART;TZID=Nowhere/At all:20240716T190000", "X-NONE:1", ["2024-07-16T19:00", None]),
    ],
)
def test_zoned_floating_and_all_day_times(tmp_path: Path, start: str, end: str, written: list[str]) -> None:
    (records,) = fields_in(calendar(tmp_path, event(start, end)))
    assert [records.get("start_time"), records.get("end_time")] == written


def test_custom_time_zone_of_the_calendar(tmp_path: Path) -> None:
    zone = (
        "BEGIN:VTIMEZONE\nTZID:Our own\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0530\n"
        "TZOFFSETTO:+0530\nEND:STANDARD\nEND:VTIMEZONE\n"
    )
    (records,) = fields_in(calendar(tmp_path, zone, event("DTSTART;TZID=Our own:20240516T190000")))
    assert records["start_time"] == "2024-05-16T19:00+05:30"


def test_recurrence_across_dst_with_exceptions(tmp_path: Path) -> None:
    records = fields_in(calendar(tmp_path, WEEKLY))
    assert [(record["event_name"], record["start_time"]) for record in records] == [
        ("Class", "2024-03-18T09:30+00:00"),
        ("Class", "2024-03-25T09:30+00:00"),
        ("Class, moved", "2024-04-01T11:30+01:00"),  # summer time began on 31 March; the 8th is left out
    ]
    assert records[0]["end_time"] == "2024-03-18T11:00+00:00"


def test_endless_recurrence_is_expanded_a_year_around_now(tmp_path: Path) -> None:
    file = calendar(
        tmp_path,
        event("DTSTART;VALUE=DATE:20100516", "RRULE:FREQ=YEARLY"),
        event("DTSTART:20100101T100000Z", "RRULE:FREQ=DAILY", uid="two"),
    )
    records = fields_in(file)
    assert [record["start_time"] for record in records if len(record["start_time"]) == 10] == [
        "2024-05-16",
        "2025-05-16",
    ]
    assert 725 < len(records) < 740


def test_moved_series_replaces_its_future_and_keeps_its_past(tmp_path: Path, store: SQLiteStore) -> None:
    def starts() -> set[str]:
        return {item.fields["start_time"][:10] for item in store.items("ines")}

    monday = event("DTSTART:20200106T100000Z", "RRULE:FREQ=WEEKLY;UNTIL=20240601T000000Z")
    store.put_user(INES)
    first = import_into(store, "ines", [calendar(tmp_path, monday)], now=NOW)
    assert "2024-05-13" in starts()
    again = import_into(store, "ines", [calendar(tmp_path, monday)], now=NOW)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)
    tuesday = event("DTSTART:20240402T100000Z", "RRULE:FREQ=WEEKLY;UNTIL=20240601T000000Z", "SEQUENCE:1")
    later = datetime(2024, 9, 1, tzinfo=NOW.tzinfo)
    moved = import_into(store, "ines", [calendar(tmp_path, tuesday)], now=later)
    assert "2024-05-14" in starts()
    assert "2024-05-13" not in starts()
    assert "2023-06-05" in starts()  # more than a year ago: not looked at any more
    assert 0 < moved.gone < first.new
    called_off = event("DTSTART:20240402T100000Z", "STATUS:CANCELLED", "SEQUENCE:2")
    import_into(store, "ines", [calendar(tmp_path, called_off)], now=later)
    assert max(starts()) < "2023-09-02"


def test_newest_version_of_a_uid_wins(tmp_path: Path) -> None:
    file = calendar(
        tmp_path,
        event("DTSTART:20240516T190000Z", "SEQUENCE:1", "LOCATION:old"),
        event("DTSTART:20240516T200000Z", "SEQUENCE:2", "LOCATION:new"),
        event("DTSTART:20240517T100000Z", uid="same"),
        event("DTSTART:20240518T100000Z", uid="same"),
        event("DTSTART:20240518T100000Z", "X-A:1", uid="same"),
    )
    items = items_in(file)
    assert [item.fields.get("location") for item in items] == ["new", None, None]
    assert len({item.id for item in items}) == 3
    assert skipped_in(file) == ["older version of an event", "duplicate of an event"]


def test_events_with_one_uid_in_several_files_are_copies_only_if_equal(
    tmp_path: Path, store: SQLiteStore
) -> None:
    store.put_user(INES)
    for number in range(12):
        name = "Glazing" if number < 10 else f"Firing {number}"
        lines = (
            f"DTSTAMP:202405{number + 10}T000000Z",
            "DTSTART:20240520T100000Z",
            f"LOCATION:Room {number}",
        )
        thing = event(*lines[:2], *(lines[2:] if number > 4 else ()), uid="1").replace("Thing", name)
        calendar(tmp_path / "files", thing, name=f"{number:02}.ics")
    report = import_into(store, "ines", [tmp_path / "files"], now=NOW)
    assert (report.items, report.new) == (8, 8)
    assert [(skip.why, skip.count) for skip in report.skipped] == [("duplicate of an entry already read", 4)]
    assert len(store.items("ines")) == 8
    again = import_into(store, "ines", [tmp_path / "files"], now=NOW)
    assert (again.new, again.changed, again.gone) == (0, 0, 0)


def test_newer_version_in_another_file_replaces_the_older(tmp_path: Path, store: SQLiteStore) -> None:
    store.put_user(INES)
    weekly = "RRULE:FREQ=WEEKLY;COUNT=3"
    calendar(tmp_path / "files", event("DTSTART:20240513T100000Z", weekly, "SEQUENCE:1"), name="1.ics")
    calendar(tmp_path / "files", event("DTSTART:20240515T100000Z", weekly, "SEQUENCE:2"), name="2.ics")
    calendar(tmp_path / "files", event("DTSTART:20240514T100000Z", weekly, "SEQUENCE:0"), name="3.ics")
    report = import_into(store, "ines", [tmp_path / "files"], now=NOW)
    starts = sorted(item.fields["start_time"] for item in store.items("ines"))
    assert starts == [f"2024-05-{day}T10:00+00:00" for day in (15, 22, 29)]
    assert [skip.why for skip in report.skipped] == ["older version of an event"]


def test_event_without_a_calendar_around_it_is_read(tmp_path: Path) -> None:
    zone = (
        "BEGIN:VTIMEZONE\nTZID:Own\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
        "TZOFFSETFROM:+0200\nTZOFFSETTO:+0200\nEND:STANDARD\nEND:VTIMEZONE\n"
    )
    (tmp_path / "a.ics").write_text(event("DTSTART:20240520T100000Z"))
    (tmp_path / "b.txt").write_text(zone + event("DTSTART;TZID=Own:20240520T100000", uid="two"))
    starts = [fields["start_time"] for fields in fields_in(tmp_path)]
    assert starts == ["2024-05-20T10:00+00:00", "2024-05-20T10:00+02:00"]


def test_broken_events_are_skipped(tmp_path: Path) -> None:
    file = calendar(
        tmp_path,
        event("DTSTART:2024-13-45", uid="a"),
        event("LOCATION:nowhere", uid="b"),
        event("DTSTART:20240516T190000Z", "RRULE:FREQ=SOMETIMES", uid="c"),
        event("DTSTART:20240516T190000Z", "RRULE:FREQ=SECONDLY", uid="d"),
        event("DTSTART:20240516T190000Z", "RRULE:FREQ=HOURLY;INTERVAL=6", uid="e"),
        event("DTSTART:20040516T190000Z", "RRULE:FREQ=DAILY;COUNT=3", uid="f"),
        "BEGIN:VJOURNAL\nUID:j\nSUMMARY:Dear diary\nEND:VJOURNAL\n",
        event("DTSTART:20240516T190000Z", "no colon here", "ATTENDEE:mailto:", uid="g"),
        event("DTSTART:20240516T190000Z", "ATTENDEE;PARTSTAT=DECLINED:MAILTO:Ines@example.com", uid="h"),
        "BEGIN:VEVENT\nUID:i\nDTSTART:20240516T190000Z\n",
    )
    records = read_path(file)
    assert sorted(record.why for record in records if isinstance(record, SkippedEntry)) == [
        "event declined by the user",
        "event that repeats too often",
        "event that repeats too often",
        "event with an invalid recurrence rule",
        "event without a valid start",
        "event without a valid start",
        "event without occurrences within a year of now",
        "journal entry",
        "truncated event",
    ]
    assert sum(isinstance(record, Item) for record in records) == 2


@pytest.mark.parametrize(
    ("start", "rule", "why"),
    [
        ("20200101T090000", "FREQ=DAILY;INTERVAL=0", "event with an invalid recurrence rule"),
        ("20200101T090000", "FREQ=HOURLY;BYMONTH=13", "event with an invalid recurrence rule"),
        ("20200101T090000", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", "event with an invalid recurrence rule"),
        (
            "20200101T090000",
            "FREQ=DAILY;BYMONTHDAY=-31;BYMONTH=4",
            "event with an invalid recurrence rule",
        ),
        ("20240513T090000", "FREQ=DAILY;INTERVAL=7;BYDAY=TU", "event with an invalid recurrence rule"),
        ("20240513T090000", "FREQ=DAILY;BYSETPOS=2", "event with an invalid recurrence rule"),
        (
            "20240531T090000",
            "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=2,4,6,9,11",
            "event with an invalid recurrence rule",
        ),
        ("20240228", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "event with an invalid recurrence rule"),
        ("20240301", "FREQ=MONTHLY;INTERVAL=12;BYMONTH=4", "event with an invalid recurrence rule"),
        ("20240301", "FREQ=YEARLY;BYWEEKNO=30;BYMONTH=1", "event with an invalid recurrence rule"),
        ("20230301", "FREQ=YEARLY;INTERVAL=2;BYYEARDAY=366", "event with an invalid recurrence rule"),
        ("00010101T000000", "FREQ=HOURLY", "event that repeats too often"),
        ("00010101", "FREQ=DAILY;BYDAY=MO", "event that repeats too often"),
    ],
)
def test_unbounded_and_impossible_rules_are_rejected(tmp_path: Path, start: str, rule: str, why: str) -> None:
    file = calendar(tmp_path, event(f"DTSTART:{start}", f"RRULE:{rule}"), GLAZE)
    assert skipped_in(file) == [why]
    assert len(items_in(file)) == 1 + ("invalid" in why)


@pytest.mark.parametrize(
    ("start", "rule", "times"),
    [
        ("20240229", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=29", 1),
        ("20240513T090000", "FREQ=DAILY;INTERVAL=7;BYDAY=MO;COUNT=5", 5),
        ("20240513T090000", "FREQ=HOURLY;INTERVAL=36;BYDAY=TU;COUNT=2", 3),
        ("20240513T090000", "FREQ=WEEKLY;BYDAY=MO,WE;BYSETPOS=-1;COUNT=3", 4),
        ("20240513T090000", "FREQ=DAILY;BYYEARDAY=-1", 2),
        ("20240513T090000", "FREQ=MONTHLY;BYDAY=1MO;COUNT=4", 5),
        ("20200229", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", 1),
        ("20120229", "FREQ=YEARLY;INTERVAL=4;BYYEARDAY=60", 1),
        ("16040712", "FREQ=YEARLY", 2),
        ("20230730", "FREQ=MONTHLY;BYMONTHDAY=31;BYMONTH=7,8;UNTIL=20240801", 4),
    ],
)
def test_rare_recurrence_rules_are_expanded(tmp_path: Path, start: str, rule: str, times: int) -> None:
    # the start counts too, where the rule itself would leave it out
    assert len(items_in(calendar(tmp_path, event(f"DTSTART:{start}", f"RRULE:{rule}")))) == times


def test_rules_of_one_file_share_a_budget(tmp_path: Path) -> None:
    never = "RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"  # 10,500 days are tried
    events = [event("DTSTART:20240513T090000", never, uid=f"n{number}") for number in range(5)]
    weekly = event("DTSTART:20240513T090000", "RRULE:FREQ=WEEKLY;COUNT=3", uid="w")
    file = only_file(calendar(tmp_path, *events, weekly))
    records = list(CalendarReader(max_steps=25_000).read(file, replace(CONTEXT)))
    reasons = [record.why for record in records if isinstance(record, SkippedEntry)]
    assert reasons[:2] == ["event with an invalid recurrence rule"] * 2
    assert set(reasons[2:]) == {"repetitions of an event: too many recurrence rules in the file"}
    items = [record for record in records if isinstance(record, Item)]
    assert len(items) == 5 + 1  # the first date of each
    records = list(CalendarReader(max_steps=80_000).read(file, replace(CONTEXT)))
    assert sum(isinstance(record, Item) for record in records) == 5 + 3


def test_huge_lines_are_truncated_and_attachments_ignored(tmp_path: Path) -> None:
    folded = "\r\n ".join(["QUJD" * 18] * 9000)
    attached = f"ATTACH;ENCODING=BASE64;VALUE=BINARY:{folded}"
    long = event("DTSTART:20240516T190000Z", f"LOCATION:{'far ' * 200_000}", uid="long")
    file = calendar(tmp_path, event("DTSTART:20240516T190000Z", attached, "LOCATION:here"), long)
    assert skipped_in(file) == ["rest of a line that is too long"]
    near, far = (record["location"] for record in fields_in(file))
    assert near == "here"
    assert len(far) < 1010


def test_empty_truncated_and_utf16_calendars(tmp_path: Path) -> None:
    assert items_in(calendar(tmp_path)) == []
    unfolded = event("DTSTART:20240516T190000Z", "DESCRIPTION:one", "two lines")
    assert [record["notes"] for record in fields_in(calendar(tmp_path, unfolded))] == ["one\ntwo lines"]
    (tmp_path / "cut.ics").write_text((HEAD + GLAZE)[:300])
    assert skipped_in(tmp_path / "cut.ics") == ["truncated event"]
    text = HEAD + event("DTSTART:20240516T190000Z", "LOCATION:Straße") + "END:VCALENDAR\n"
    for encoding in ("utf-8-sig", "cp1252", "utf-16"):
        file = tmp_path / f"{encoding}.ics"
        file.write_bytes(text.encode(encoding))
        assert [record["location"] for record in fields_in(file)] == ["Straße"]


def test_tasks_are_reminders(tmp_path: Path) -> None:
    task = "BEGIN:VTODO\nUID:{0}\nSUMMARY:Buy talc\nCREATED:20240510T080000Z\n{1}END:VTODO\n"
    file = calendar(
        tmp_path,
        task.format("a", "DUE;VALUE=DATE:20240517\nDESCRIPTION:two bags\n"),
        task.format("b", "DUE:20240517T180000\nSTATUS:COMPLETED\n"),
        task.format("c", "STATUS:CANCELLED\n"),
        task.format("d", "DTSTART:20240513T080000\nDUE:20240513T090000\nRRULE:FREQ=WEEKLY;COUNT=2\n"),
    )
    items = items_in(file)
    assert {item.app for item in items} == {"Reminders"}
    assert items[0].fields == {
        "title": "Buy talc",
        "list": "Studio",
        "due": "2024-05-17",
        "status": "open",
        "created": "2024-05-10T08:00+00:00",
        "notes": "two bags",
    }
    assert [item.fields["status"] for item in items] == ["open", "done", "open"]
    assert items[2].fields["due"] == "2024-05-20T09:00"  # the one of the 13th is past
    assert skipped_in(file) == ["cancelled"]


def test_recurring_task_is_one_item_with_its_next_times(tmp_path: Path) -> None:
    task = (
        "BEGIN:VTODO\nUID:tablet\nSUMMARY:Tablet\nDTSTART:20240101T080000\nDUE:20240101T080000\n"
        "RRULE:FREQ=DAILY\nEND:VTODO\n"
    )
    taken = "BEGIN:VTODO\nUID:tablet\nRECURRENCE-ID:{0}\nSUMMARY:Tablet\nDUE:{0}\nSTATUS:{1}\nEND:VTODO\n"
    day = NOW.date()
    today, tomorrow = (f"{day + timedelta(days):%Y%m%d}T080000" for days in (0, 1))
    file = calendar(tmp_path, task, taken.format(today, "COMPLETED"), taken.format(tomorrow, "NEEDS-ACTION"))
    (item,) = items_in(file)
    assert item.fields["due"] == f"{day + timedelta(1)}T08:00"
    assert item.fields["occurrences"][:2] == [f"{day + timedelta(days)}T08:00" for days in (2, 3)]
    assert len(item.fields["occurrences"]) == 60
    old = calendar(tmp_path, task.replace("FREQ=DAILY", "FREQ=DAILY;COUNT=3;"), name="old.ics")
    (item,) = items_in(old)
    assert (item.fields["due"], item.fields.get("occurrences")) == ("2024-01-03T08:00", None)


def test_list_of_a_task_without_calendar_name_is_its_category(tmp_path: Path) -> None:
    task = "BEGIN:VTODO\nUID:{0}\nSUMMARY:Buy talc\n{1}END:VTODO\n"
    tasks = (task.format("a", "CATEGORIES:Garden,Spring\n"), task.format("b", ""))
    file = calendar(tmp_path, *tasks, name="todo.ics")
    assert [fields["list"] for fields in fields_in(file)] == ["Studio", "Studio"]
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if not line.startswith("X-WR-CALNAME")))
    assert [fields["list"] for fields in fields_in(file)] == ["Garden", "todo"]


def test_item_id_depends_on_the_uid_alone(tmp_path: Path) -> None:
    def ids(*parts: str, name: str) -> list[str]:
        return [item.id for item in items_in(calendar(tmp_path, *parts, name=name))]

    changed = GLAZE.replace("20240516T190000", "20240516T183000").replace("Barro Stud", "Bar")
    assert ids(GLAZE, name="a.ics") == ids(changed, name="b.ics")
    assert ids(WEEKLY, name="a.ics") == ids(WEEKLY.replace("113000", "123000"), name="b.ics")


@pytest.mark.parametrize("exported", [2020, 2027])
def test_recurring_events_of_an_old_or_coming_export_are_expanded_around_it_too(
    tmp_path: Path, exported: int
) -> None:
    path = tmp_path / "rowing.ics"
    path.write_text(
        f"{HEAD}BEGIN:VEVENT\nUID:row\nSUMMARY:Rowing\nDTSTART;TZID=Europe/Lisbon:20190106T080000\n"
        f"DTSTAMP:{exported}0501T080000Z\nRRULE:FREQ=MONTHLY\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    years = {str(fields["start_time"])[:4] for fields in fields_in(path)}
    assert years == {"2023", "2024", "2025", *(str(exported + near) for near in (-1, 0, 1))} - {"2018"}

"""Call logs as XML and CSV: one item per number, one usage event per conversation."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.importers.reading_files import (
    CONTEXT,
    INES,
    LISBON,
    NOW,
    items_in,
    only_file,
    read_path,
    skipped_in,
    utc,
)

from contextune.errors import InvalidDataError
from contextune.importers import import_into
from contextune.importers.calls.sms_backup import SmsBackupReader
from contextune.importers.phone_numbers import normalize_number
from contextune.importers.reader import ImportContext
from contextune.importers.registry import detect_reader
from contextune.store import SQLiteStore
from contextune.types import Contact, Item, UsageEvent, User

HEAD = (
    "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
    "<!--File Created By SMS Backup &amp; Restore v10.20.002-->\n"
    '<?xml-stylesheet type="text/xsl" href="calls.xsl"?>\n<calls count="{}" type="full">\n'
)
WITHHELD = "call from a withheld number"
NO_TIME = "no valid time"


def call(
    number: str = "+351 912 345 678",
    time: datetime | None = None,
    kind: int = 1,
    name: str = "Rui Duarte",
    more: str = 'presentation="1" subscription_id="1"',
    duration: str = "65",
) -> str:
    stamp = int((time or utc(2024, 5, 15, 19, 12)).timestamp() * 1000)
    return (
        f'  <call number="{number}" duration="{duration}" date="{stamp}" type="{kind}" {more} '
        f'readable_date="15 May 2024 20:12:00" contact_name="{name}" />\n'
    )


def backup(folder: Path, *calls: str, end: str = "</calls>\n") -> Path:
    path = folder / "calls-20240516174000.xml"
    path.write_text(HEAD.format(len(calls)) + "".join(calls) + end, encoding="utf-8")
    return path


def uses_in(path: Path) -> list[UsageEvent]:
    return [record for record in read_path(path) if isinstance(record, UsageEvent)]


def test_one_item_per_number_with_a_use_per_conversation(tmp_path: Path, store: SQLiteStore) -> None:
    path = backup(
        tmp_path,
        call("912345678", utc(2024, 5, 13, 8), 2, more='presentation="1" subscription_id="2"'),
        call(time=utc(2024, 5, 15, 19, 12), kind=3, duration="0"),
        call("00351912345678", utc(2024, 5, 14, 9), 1),
        call("00351912345678", utc(2024, 5, 14, 9), 1),  # some phones log a call for each SIM
        call("210 000 000", utc(2024, 5, 12, 9), 5, "(Unknown)"),
    )
    store.put_user(INES)
    report = import_into(store, "ines", [path], now=NOW)
    rui, unknown = sorted(store.items("ines"), key=lambda item: item.title, reverse=True)
    assert rui.app == "PhoneCall"
    assert rui.fields == {
        "contact": "Rui Duarte",
        "number": "+351 912 345 678",
        "direction": "missed",
        "date": "2024-05-15T19:12+00:00",
        "duration_s": 0,
        "history": [
            {"date": "2024-05-14T09:00+00:00", "direction": "incoming", "duration_s": 65},
            {"date": "2024-05-13T08:00+00:00", "direction": "outgoing", "duration_s": 65},
        ],
    }
    assert (unknown.title, unknown.fields["direction"]) == ("210 000 000", "rejected")
    # what was missed is no use
    assert [use.time for use in store.uses("ines", item=rui.id)] == [utc(2024, 5, 13, 8), utc(2024, 5, 14, 9)]
    assert store.uses("ines", item=unknown.id) == []
    assert (report.items, report.new_uses, report.skipped) == (2, 2, ())
    again = import_into(store, "ines", [path], now=NOW)
    assert (again.new, again.changed, again.new_uses, again.skipped) == (0, 0, 0, ())


def test_callers_are_named_by_contacts(tmp_path: Path) -> None:
    book = (Contact("Rui Duarte", phone="+351 912-345-678"), Contact("Zé", more={"phones": ["030 1234567"]}))
    context = ImportContext(User("ines", contacts=book, zone=LISBON), NOW)
    path = backup(tmp_path, call("912345678", name="(Unknown)"), call("+49 30 1234567", name="null"))
    assert [item.title for item in items_in(path, context)] == ["Rui Duarte", "Zé"]


def test_contacts_imported_later_name_earlier_calls(tmp_path: Path, store: SQLiteStore) -> None:
    calls = backup(tmp_path, call("912345678", name="(Unknown)"), call("5550100", name=""))
    book = tmp_path / "people.vcf"
    book.write_text("BEGIN:VCARD\nVERSION:4.0\nFN:Rui Duarte\nTEL:+351 912 345 678\nEND:VCARD\n")
    import_into(store, "ines", [calls, book], now=NOW)
    assert {item.title for item in store.items("ines")} == {"Rui Duarte", "5550100"}
    again = import_into(store, "ines", [calls, book], now=NOW)
    assert (again.new, again.changed) == (0, 0)


def test_withheld_blocked_and_invalid_calls_are_skipped(tmp_path: Path) -> None:
    path = backup(
        tmp_path,
        call("-1", more='presentation="2"'),
        call("", more='presentation="3"'),
        call("Private number"),
        call("912345678", more='presentation="2"'),
        call(kind=6),
        call(kind=20),
        call(time=utc(1970, 1, 2)),
        call(time=utc(2034, 1, 2)),
        '  <call number="5550142" type="1" date="soon" />\n',
        "  <sms address='5550142' body='hello' />\n",
        call(duration="a while"),
        call("5550100", kind=4),
    )
    assert skipped_in(path) == [
        WITHHELD,
        WITHHELD,
        WITHHELD,
        WITHHELD,
        "blocked call",
        "call of unknown kind",
        NO_TIME,
        NO_TIME,
        NO_TIME,
    ]
    assert [item.fields["direction"] for item in items_in(path)] == ["incoming", "voicemail"]


def test_surrogate_pairs_are_merged_across_chunks(tmp_path: Path) -> None:
    names = [f"Rui &#55357;&#56832;&#55357;&#56833; {'é' * (n % 50)}{n}" for n in range(2000)]
    calls = [call(str(5_550_000 + n), name=name) for n, name in enumerate(names)]
    path = backup(tmp_path, *calls, call("5540000", name="&#55357; half &#0;&#65;"))
    titles = [item.title for item in items_in(path)]
    assert titles[:-1] == [f"Rui 😀😁 {'é' * (n % 50)}{n}" for n in range(2000)]
    assert titles[-1] == "\ufffd half \ufffdA"
    assert skipped_in(path) == []


def test_truncated_backup_is_read_to_its_end(tmp_path: Path) -> None:
    path = backup(tmp_path, *(call(str(5_550_000 + n)) for n in range(9)), end='<call number="1')
    assert len(items_in(path)) == 9
    assert skipped_in(path) == ["broken XML from here on"]


def test_xml_entities_are_rejected(tmp_path: Path, store: SQLiteStore) -> None:
    secret = tmp_path / "secret"
    secret.write_text("do not read")
    path = tmp_path / "calls-1.xml"
    path.write_text(
        f"<?xml version='1.0'?><!DOCTYPE calls [<!ENTITY a SYSTEM '{secret.as_uri()}'>"
        f"<!ENTITY b '{'b' * 1000}'><!ENTITY c '{'&b;' * 1000}'>]>\n"
        f"<calls>{call(name='&c;')}</calls>"
    )
    report = import_into(store, "ines", [path], now=NOW)
    assert report.items == 0
    assert [reason.why for reason in report.skipped] == ["XML with a document type declaration: not read"]


@pytest.mark.parametrize(
    ("number", "other"),
    [
        ("+351 912 345 678", "912345678"),
        ("+351912345678", "00351 912-345-678"),
        ("+1 (212) 555-0142", "212.555.0142"),
        ("+1 212 555 0142", "1-212-555-0142"),
        ("+49 30 1234567", "030/1234567"),
        ("+44 7700 900123", "07700 900123"),
        ("+39 06 1234567", "06 1234567"),
        ("+86 138 1234 5678", "13812345678"),
        ("555-0142", "5550142"),
        ("5550142,,9#", "5550142"),
    ],
)
def test_equal_numbers_in_different_notations(number: str, other: str) -> None:
    assert normalize_number(number) == normalize_number(other) != ""


def test_different_numbers_stay_different() -> None:
    numbers = ("212 555 0142", "312 555 0142", "+351 912 345 678", "112", "*#06#", "1", "+49 30 1234567")
    assert len({normalize_number(number) for number in numbers}) == len(numbers)
    assert normalize_number("") == normalize_number("-2") == normalize_number("Unknown") == ""


TABLES = {
    "english": "Name,Phone Number,Call Type,Date,Time,Duration,SIM\n"
    '"Rui Duarte","+351 912 345 678",Incoming,2024-05-15,20:12:00,00:01:05,SIM 1\n',
    "one column": "Number;Name;Date Time;Type;Duration (s)\n"
    "912345678;Rui Duarte;15.05.2024 20:12;Received;65\n",
    "epoch": "number,name,type,date,duration\n+351912345678,Rui Duarte,1,1715800320000,65\n",
    "german": "\ufeffName;Telefonnummer;Art;Datum;Uhrzeit;Dauer\n"
    "Rui Duarte;912 345 678;Eingehend;15.05.2024;20:12:00;1m 5s\n",
    "american": "Contact,Number,Type,Date,Duration\n"
    "Rui Duarte,912345678,Answered,05/15/2024 08:12 PM,1:05\n",
    "spanish": "Nombre\tNúmero\tTipo\tFecha\tHora\tDuración\n"
    "Rui Duarte\t912345678\tEntrante\t15/05/2024\t20:12\t65\n",
}  # fmt: skip


def table(folder: Path, text: str) -> Path:
    path = folder / "calls.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("shape", TABLES)
def test_csv_variants_give_the_same_calls(tmp_path: Path, shape: str) -> None:
    path = table(tmp_path, TABLES[shape])
    (item,) = items_in(path)
    assert (item.title, item.fields["direction"], item.fields["duration_s"]) == ("Rui Duarte", "incoming", 65)
    (use,) = uses_in(path)
    assert CONTEXT.to_local(use.time) == datetime(2024, 5, 15, 20, 12)
    assert item.id == items_in(backup(tmp_path, call()))[0].id


def dated(folder: Path, *dates: str) -> Path:
    rows = (f"{5_550_000 + n},Outgoing,{date},5\n" for n, date in enumerate(dates))
    return table(folder, f"number,type,date,duration\n{''.join(rows)}")


def days(path: Path) -> list[tuple[int, int]]:
    return [(use.time.month, use.time.day) for use in uses_in(path)]


def test_day_month_order_is_inferred_from_the_whole_file(tmp_path: Path) -> None:
    sure = dated(tmp_path, "03/04/2024 08:00", "16/03/2024 08:00")
    assert days(sure) == [(4, 3), (3, 16)]
    past = dated(tmp_path, "05/11/2024 08:00", "05/02/2024 08:00")  # in November it is still to come
    assert days(past) == [(5, 11), (5, 2)]
    in_order = dated(tmp_path, "03/04/2023 08:00", "10/04/2023 08:00", "02/05/2023 08:00")
    assert days(in_order) == [(4, 3), (4, 10), (5, 2)]
    either = dated(tmp_path, "03/04/2024 08:00", "02/02/2024 08:00")
    assert days(either) == [(2, 2)]
    assert skipped_in(either) == ["ambiguous date, such as 5/6/2024"]


@pytest.mark.parametrize(
    ("word", "direction"),
    [
        ("Missed", "missed"), ("Unanswered", "missed"), ("Verpasst", "missed"), ("3", "missed"),
        ("Rejected", "rejected"), ("Dialed", "outgoing"), ("Ausgehend", "outgoing"), ("2", "outgoing"),
        ("Answered", "incoming"), ("entrant", "incoming"), ("Voice mail", "voicemail"),
    ],
)  # fmt: skip
def test_kinds_of_calls_in_many_languages(tmp_path: Path, word: str, direction: str) -> None:
    path = table(tmp_path, f"number,type,date\n5550142,{word},2024-05-15 20:12\n")
    assert [item.fields["direction"] for item in items_in(path)] == [direction]


def test_incomplete_rows_are_reported(tmp_path: Path) -> None:
    rows = [
        "Unknown,Missed,2024-05-15 20:12",
        "5550142,Ringing,2024-05-15 20:12",
        "5550142,Missed,someday",
        "5550142",
        "5550142,Blocked,2024-05-15 20:12",
        '"5550142',
        "y" * 200_000 + '"',
        "5550142,Missed,2024-05-15 20:12",
    ]
    path = table(tmp_path, "number,type,date\n" + "\n".join(rows))
    assert len(items_in(path)) == 1
    assert skipped_in(path) == [
        WITHHELD,
        "call of unknown kind",
        NO_TIME,
        NO_TIME,
        "blocked call",
        "unreadable row",
    ]


def test_unclosed_xml_element_stops_reading(tmp_path: Path) -> None:
    whole = backup(tmp_path, call()).read_text(encoding="utf-8")
    endless = tmp_path / "endless.xml"
    endless.write_text(whole.replace("</calls>", f"<call number='{'5' * 3_000_000}"), encoding="utf-8")
    reading = SmsBackupReader().read(only_file(endless), CONTEXT)
    assert isinstance(next(reading), UsageEvent)
    assert isinstance(next(reading), Item)  # kept, although the rest cannot be read
    with pytest.raises(InvalidDataError, match="more than 1 MB"):
        list(reading)


def test_repeated_hour_in_autumn_keeps_two_calls_apart(tmp_path: Path) -> None:
    times = (datetime(2023, 10, 29, hour, 30, tzinfo=UTC) for hour in (0, 1))
    first, second = uses_in(backup(tmp_path, *(call(time=time) for time in times)))
    assert first.time != second.time
    assert CONTEXT.to_local(first.time) == CONTEXT.to_local(second.time) == datetime(2023, 10, 29, 1, 30)


def test_other_xml_and_csv_files_are_not_call_logs(tmp_path: Path) -> None:
    for name, text in (
        ("blog.xml", "<?xml version='1.0'?><feed></feed>"),
        ("bank.csv", "date,amount,type\n2024-05-15,5,card\n"),
        ("people.csv", "name,phone\nRui,5550142\n"),
    ):
        (tmp_path / name).write_text(text)
        assert detect_reader(only_file(tmp_path / name)) is None


def test_voicemail_is_found_behind_a_later_call(tmp_path: Path, store: SQLiteStore) -> None:
    left, later = utc(2024, 5, 14, 9), utc(2024, 5, 15, 19)
    store.put_user(INES)
    import_into(store, "ines", [backup(tmp_path, call(time=left, kind=4), call(time=later))], now=NOW)
    found = {(item.fields["direction"], item.time) for item in store.items("ines")}
    assert found == {("voicemail", left), ("incoming", later)}
    # while it is the last call, one item is enough
    assert len(items_in(backup(tmp_path, call(time=left, kind=4)))) == 1


def test_history_of_a_number_grows_with_every_import_in_any_order(tmp_path: Path, store: SQLiteStore) -> None:
    store.put_user(INES)
    days = (14, 12, 15, 13)
    for day in days:
        import_into(store, "ines", [backup(tmp_path, call(time=utc(2024, 5, day, 9), kind=3))], now=NOW)
    (item,) = store.items("ines")
    assert item.time == utc(2024, 5, 15, 9)
    assert [entry["date"][:10] for entry in item.fields["history"]] == [
        f"2024-05-{day}" for day in (14, 13, 12)
    ]
    again = import_into(store, "ines", [tmp_path / "calls-20240516174000.xml"], now=NOW)
    assert (again.new, again.changed) == (0, 0)

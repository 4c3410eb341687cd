"""WhatsApp's text export: date forms of many languages, several lines, media and notices."""

import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.importers.reading_files import CONTEXT, INES, NOW, fields_in, items_in, skipped_in

from contextune.importers.run import import_into
from contextune.store import SQLiteStore

ANDROID = """\
16/05/2024, 17:40 - Messages and calls are end-to-end encrypted. Tap to learn more.
16/05/2024, 17:40 - Marta Silva: Is the kiln free?
I have twelve bowls:
- six blue
17/05/2024, 09:05 - Ines Duarte: Yes, from noon <This message was edited>
17/05/2024, 09:06 - Ines Duarte: ok
17/05/2024, 09:06 - Ines Duarte: ok
17/05/2024, 09:07 - Marta Silva: <Media omitted>
17/05/2024, 09:08 - Marta Silva: Glaze list.pdf (file attached)
for Saturday
17/05/2024, 09:09 - Marta Silva: This message was deleted
17/05/2024, 09:10 - Marta Silva changed their phone number. Tap to message: the new number
17/05/2024, 09:11 - Marta Silva: null
"""


def chat(tmp_path: Path, text: str, name: str = "WhatsApp Chat with Marta Silva.txt") -> Path:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_chat_of_an_android_phone(tmp_path: Path) -> None:
    first, second, *copies, attached = fields_in(chat(tmp_path, ANDROID.replace("17/05", "14/05")))
    assert first == {
        "text": "Is the kiln free?\nI have twelve bowls:\n- six blue",
        "sender": "Marta Silva",
        "service": "WhatsApp",
        "date": "2024-05-16T17:40",
    }
    assert second["text"] == "Yes, from noon"
    assert (second["sender"], second["recipients"]) == ("Ines Duarte", ["Marta Silva"])
    assert [copy["text"] for copy in copies] == ["ok", "ok"]
    assert attached["text"] == "for Saturday\nAttached: Glaze list.pdf"
    assert sorted(skipped_in(tmp_path)) == [
        "deleted message",
        *["notice of the service"] * 2,
        *["picture, recording or sticker without text"] * 2,
    ]


def test_chat_of_an_iphone_in_its_archive(tmp_path: Path) -> None:
    text = (
        "[14.05.24, 17:40:12] Studio: \u200eNachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.\r\n"
        "[14.05.24, 17:40:13] Marta Silva: Ofen frei?\r\n"
        "\u200e[14.05.24, 17:41:00] ~\u202fRui: \u200eBild weggelassen\r\n"
        "[14.05.24, 17:42:00] Ines Duarte: ja\r\n"
        "\u200e[14.05.24, 17:43:00] Marta Silva: Rechnung.pdf • \u200e3 Seiten "
        "\u200e<Anhang: 00000012-Rechnung.pdf>\r\n"
    )
    with zipfile.ZipFile(tmp_path / "WhatsApp Chat - Studio.zip", "w") as archive:
        archive.writestr("_chat.txt", text)
    first, second, third = fields_in(tmp_path)
    assert (first["sender"], first["text"], first["date"]) == (
        "Marta Silva",
        "Ofen frei?",
        "2024-05-14T17:40:13",
    )
    assert (second["sender"], "recipients" in second) == ("Ines Duarte", True)
    assert third["attachments"] == ["00000012-Rechnung.pdf"]
    assert sorted(skipped_in(tmp_path)) == [
        "notice of the service",
        "picture, recording or sticker without text",
    ]


@pytest.mark.parametrize(
    ("line", "date"),
    [
        ("5/13/24, 5:40\u202fPM - ", "2024-05-13T17:40"),
        ("5/6/24, 12:05 AM - ", "2024-05-06T00:05"),
        ("06/05/2024, 17:40 - ", "2024-05-06T17:40"),
        ("06/05/2024, 5:40 pm - ", "2024-05-06T17:40"),
        ("6/5/24 17:40 - ", "2024-06-05T17:40"),
        ("13.05.24, 17:40 - ", "2024-05-13T17:40"),
        ("13.05.24 г., 17:40 - ", "2024-05-13T17:40"),
        ("13-05-2024 17:40 - ", "2024-05-13T17:40"),
        ("2024-05-13 17:40 - ", "2024-05-13T17:40"),
        ("2024/05/13, 17:40 - ", "2024-05-13T17:40"),
        ("2024/5/13 下午5:40 - ", "2024-05-13T17:40"),
        ("2024. 5. 13. 오후 5:40 - ", "2024-05-13T17:40"),
        ("13/5/24 17.40 - ", "2024-05-13T17:40"),
        ("13/5/24, 5:40 p. m. - ", "2024-05-13T17:40"),
        ("١٣/٥/٢٠٢٤، ٥:٤٠ م - ", "2024-05-13T17:40"),
        ("[13/05/24, 17:40:59] ", "2024-05-13T17:40:59"),
        ("[5/13/24, 5:40:59 PM] ", "2024-05-13T17:40:59"),
        ("[2024-05-13, 17:40:59] ", "2024-05-13T17:40:59"),
        ("[2024/5/13 下午5:40:59] ", "2024-05-13T17:40:59"),
    ],
)
def test_dates_of_many_languages(tmp_path: Path, line: str, date: str) -> None:
    (fields,) = fields_in(
        chat(tmp_path, f"{line}Marta Silva: Kiln: free?\n"), replace(CONTEXT, now=NOW + timedelta(days=60))
    )
    assert (fields["sender"], fields["text"], fields["date"]) == ("Marta Silva", "Kiln: free?", date)


def test_order_of_day_and_month_follows_from_the_whole_chat(tmp_path: Path) -> None:
    lines = ["01/02/2024, 10:00 - A: x", "02/02/2024, 10:00 - A: y", "01/03/2024, 10:00 - A: z"]
    dates = [fields["date"][:10] for fields in fields_in(chat(tmp_path, "\n".join(lines)))]
    assert dates == ["2024-02-01", "2024-02-02", "2024-03-01"]
    lines = ["02/01/2024, 10:00 - A: x", "02/02/2024, 10:00 - A: y", "03/01/2024, 10:00 - A: z"]
    dates = [fields["date"][:10] for fields in fields_in(chat(tmp_path, "\n".join(lines)))]
    assert dates == ["2024-02-01", "2024-02-02", "2024-03-01"]


def test_group_has_its_name_and_several_senders(tmp_path: Path) -> None:
    text = "".join(
        f"14/05/2024, 17:4{n} - {name}: hello {n}\n" for n, name in enumerate(("Rui", "Marta", "Ana"))
    )
    assert [fields["chat"] for fields in fields_in(chat(tmp_path, text, "WhatsApp-Chat mit Töpfer.txt"))] == (
        ["Töpfer"] * 3
    )


def test_longer_export_of_the_same_chat_adds_only_what_is_new(tmp_path: Path, store: SQLiteStore) -> None:
    store.put_user(INES)
    text = ANDROID.replace("17/05", "14/05")
    first = import_into(store, "ines", [chat(tmp_path, text)], now=NOW)
    more = chat(
        tmp_path, f"{text}14/05/2024, 10:00 - Marta Silva: new\n", "WhatsApp Chat with Marta Silva (1).txt"
    )
    second = import_into(store, "ines", [more], now=NOW)
    assert (first.new, second.new, second.changed) == (5, 1, 0)
    assert {row.app for row in first.rows} == {"Messages"}


@pytest.mark.parametrize(
    "text",
    ["2024-05-16 17:40 - started: ok\nthen more\n", "16.05.2024\nDear diary: nothing\n", "[x] todo: a"],
)
def test_other_text_files_are_notes(tmp_path: Path, text: str) -> None:
    (item,) = items_in(chat(tmp_path, text, "diary.txt"))
    assert item.app == "Notes"


GROUP = """\
14/05/2024, 17:40 - Marta Silva: Who has the key?
14/05/2024, 17:41 - Rui Costa: Not me
14/05/2024, 17:42 - Nês: It hangs in the shed
"""
PAIR = """\
14/05/2024, 18:40 - Marta Silva: Thanks
14/05/2024, 18:41 - Nês: Any time
"""


@pytest.mark.parametrize("names", [("A", "B"), ("B", "A")])
def test_own_messages_in_a_group_are_known_from_a_chat_with_one_person(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    group, pair = names  # in any order of reading
    chat(tmp_path, GROUP, f"files/{group}/WhatsApp Chat with Studio.txt")
    chat(tmp_path, PAIR, f"files/{pair}/WhatsApp Chat with Marta Silva.txt")
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(INES)
        import_into(store, "ines", [tmp_path / "files"], now=NOW)
        senders = {str(item.fields["text"]): item.fields["sender"] for item in store.items("ines")}
        assert senders["It hangs in the shed"] == "Ines Duarte"
        assert senders["Not me"] == "Rui Costa"
        again = import_into(store, "ines", [tmp_path / "files"], now=NOW)
        after = {str(item.fields["text"]): item.fields["sender"] for item in store.items("ines")}
        assert (after, again.new, again.changed) == (senders, 0, 0)


IPHONE_GROUP = (
    "[14.05.24, 17:40:12] Studio 🏺: \u200eMessages and calls are end-to-end encrypted.\n"
    "[14.05.24, 17:40:13] Marta Silva: Who has the key?\n"
    "[14.05.24, 17:41:13] Rui Costa: Not me\n"
    "[14.05.24, 17:42:13] Ines Duarte: In the shed\n"
)


@pytest.mark.parametrize(
    ("text", "path", "title"),
    [
        (IPHONE_GROUP, "WhatsApp/Wheel people/_chat.txt", "Studio 🏺"),
        (IPHONE_GROUP.partition("\n")[2], "WhatsApp/Wheel people/_chat.txt", "Wheel people"),
        (IPHONE_GROUP, "WhatsApp Chat - Studio/_chat.txt", "Studio"),
    ],
)
def test_title_of_a_group_that_was_unpacked(tmp_path: Path, text: str, path: str, title: str) -> None:
    for where in (chat(tmp_path, text, path), tmp_path):
        assert {fields["chat"] for fields in fields_in(where)} == {title}


def test_chat_with_one_person_in_a_folder_with_their_name(tmp_path: Path) -> None:
    lines = PAIR.replace(" - ", "] ").replace("14/05/2024, 18:4", "[14/05/2024, 18:4")
    thanks, answer = fields_in(chat(tmp_path, lines, "Marta Silva/_chat.txt"))
    assert (thanks["sender"], answer["sender"]) == ("Marta Silva", "Ines Duarte")
    assert "chat" not in thanks

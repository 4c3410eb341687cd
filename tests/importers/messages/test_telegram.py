"""Telegram's JSON export of one chat and of a whole account."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.importers.reading_files import fields_in, items_in, read_path, skipped_in

from contextune.types import UsageEvent


def message(number: int, text: Any = "", **more: Any) -> dict[str, Any]:
    seconds = 1715590000 + number
    return {
        "id": number,
        "type": "message",
        "date": "2024-05-13T09:46:40",
        "date_unixtime": str(seconds),
        "from": "Marta Silva",
        "from_id": "user1",
        "text": text,
        "text_entities": [],
        **more,
    }


def export(tmp_path: Path, content: object, indent: int | None = 1) -> Path:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(content, indent=indent, ensure_ascii=False), encoding="utf-8")
    return path


def test_chat_with_formatted_text_files_and_notices(tmp_path: Path) -> None:
    parts = ["See ", {"type": "link", "text": "https://example.com"}, " ", {"type": "bold", "text": "now"}]
    content: dict[str, Any] = {
        "name": "Marta Silva",
        "type": "personal_chat",
        "id": 77,
        "messages": [
            {
                "id": 1,
                "type": "service",
                "date": "2024-05-13T09:46:40",
                "actor": "Marta",
                "action": "phone_call",
            },
            message(2, parts),
            message(3, "Yes", **{"from": "Ines Duarte", "from_id": "user2", "reply_to_message_id": 2}),
            message(4, file="(File not included. Change data exporting settings to download.)"),
            message(5, file="files/Glaze list.pdf", file_name="Glaze list.pdf"),
            message(6, photo="photos/p.jpg", width=3),
            message(7, "no sender", **{"from": None}),
        ],
    }
    path = export(tmp_path, content)
    link, own, document, nameless = fields_in(path)
    assert link == {
        "text": "See https://example.com now",
        "sender": "Marta Silva",
        "service": "Telegram",
        "date": "2024-05-13T08:46:42+00:00",
    }
    assert (own["sender"], own["recipients"]) == ("Ines Duarte", ["Marta Silva"])
    assert document["attachments"] == ["Glaze list.pdf"]
    assert nameless["sender"] == "Marta Silva"
    media = "picture, recording or sticker without text"
    assert skipped_in(path) == ["notice of the service", media, media]
    (use,) = [record for record in read_path(path) if isinstance(record, UsageEvent)]
    assert use.item == items_in(path)[0].id  # what was answered was read


@pytest.mark.parametrize("indent", [1, None])
@pytest.mark.parametrize("size", [1, 3000])
def test_account_with_all_chats(tmp_path: Path, indent: int | None, size: int) -> None:
    text = "word " * size
    content: dict[str, Any] = {
        "about": "Here is the data you requested.",
        "personal_information": {
            "user_id": 2,
            "first_name": "I",
            "phone_number": "+351",
            "bio": '{"[messages"',
        },
        "contacts": {"about": "x", "list": [{"first_name": "Marta", "messages": 3}]},
        "chats": {
            "about": "y",
            "list": [
                {
                    "name": "Rui",
                    "type": "personal_chat",
                    "id": 1,
                    "messages": [message(1, text), message(2, "b")],
                },
                {
                    "name": "Studio",
                    "type": "private_group",
                    "id": 2,
                    "messages": [message(1, "c", **{"from": "I D", "from_id": "user2"})],
                },
                {"name": None, "type": "personal_chat", "id": 3, "messages": []},
            ],
        },
        "left_chats": {
            "about": "z",
            "list": [{"type": "saved_messages", "id": 9, "messages": [message(1, "d")]}],
        },
    }
    fields = fields_in(export(tmp_path, content, indent))
    assert [entry["text"][:4] for entry in fields] == ["word", "b", "c", "d"]
    assert [entry["sender"] for entry in fields] == [
        "Marta Silva",
        "Marta Silva",
        "Ines Duarte",
        "Marta Silva",
    ]
    assert fields[2]["chat"] == "Studio"
    assert len({item.id for item in items_in(tmp_path)}) == 4


def test_truncated_export_is_read_to_its_end(tmp_path: Path) -> None:
    path = export(
        tmp_path, {"name": "M", "type": "x", "id": 1, "messages": [message(1, "a"), message(2, "b")]}
    )
    path.write_text(path.read_text()[:-60])
    assert [fields["text"] for fields in fields_in(path)] == ["a"]
    assert skipped_in(path)[0] == "broken or truncated entry"


def test_old_exports_have_local_times_and_plain_ids(tmp_path: Path) -> None:
    old = {key: value for key, value in message(1, "a", from_id=2).items() if key != "date_unixtime"}
    (fields,) = fields_in(
        export(tmp_path, {"name": "M", "type": "personal_chat", "id": 1, "messages": [old]})
    )
    assert fields["date"] == "2024-05-13T09:46:40"


def test_saved_messages_are_a_chat_of_their_own(tmp_path: Path) -> None:
    own = {"from": "Ines Duarte", "from_id": "user2"}
    content = {"type": "saved_messages", "id": 2, "messages": [message(1, "kiln code 4711", **own)]}
    (fields,) = fields_in(export(tmp_path, content))
    assert (fields["chat"], fields["sender"]) == ("Saved Messages", "Ines Duarte")
    assert "recipients" not in fields

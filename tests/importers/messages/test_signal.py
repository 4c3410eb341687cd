"""Signal's own export and that of signal-export; encrypted databases are named as such."""

import json
from pathlib import Path
from typing import Any

from tests.importers.reading_files import fields_in, skipped_in


def item(
    author: str, text: str | None, chat: str = "10", sent: int = 1715590000000, **more: Any
) -> dict[str, Any]:
    standard: dict[str, Any] = (
        {"text": {"body": text}} if text is not None else {"attachments": [{"pointer": {}}]}
    )
    values: dict[str, Any] = {
        "chatId": chat,
        "authorId": author,
        "dateSent": str(sent),
        "standardMessage": standard,
        **more,
    }
    return {"chatItem": values}


def test_own_export_of_signal(tmp_path: Path) -> None:
    title = {"snapshot": {"title": {"title": "Studio"}}}
    lines: list[Any] = [
        {"version": "1", "backupTimeMs": "1715590000000"},
        {"account": {"givenName": "Ines"}},
        {"recipient": {"id": "1", "self": {}}},
        {
            "recipient": {
                "id": "2",
                "contact": {"e164": "351912345678", "systemGivenName": "Marta", "systemFamilyName": "Silva"},
            }
        },
        {"recipient": {"id": "3", "contact": {"e164": "+351922222222"}}},
        {"recipient": {"id": "4", "group": title}},
        {"chat": {"id": "10", "recipientId": "2"}},
        {"chat": {"id": "11", "recipientId": "4"}},
        item("2", "Kiln free?", incoming={"read": True}),
        item("1", "Yes", outgoing={}),
        item("3", "Me too", chat="11", incoming={}),
        item("2", None),
        {"chatItem": {"chatId": "10", "authorId": "2", "dateSent": "1715590000000", "updateMessage": {}}},
        {"chatItem": {"chatId": "10", "authorId": "2", "dateSent": "1", "remoteDeletedMessage": {}}},
    ]
    path = tmp_path / "main.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"chatItem": {"chat')
    first, own, group = fields_in(path)
    assert first == {
        "text": "Kiln free?",
        "sender": "Marta Silva",
        "service": "Signal",
        "date": "2024-05-13T08:46:40+00:00",
    }
    assert (own["sender"], own["recipients"]) == ("Ines Duarte", ["Marta Silva"])
    assert (group["sender"], group["chat"]) == ("+351922222222", "Studio")
    assert skipped_in(path) == [
        "picture, recording or sticker without text",
        "notice of the service",
        "deleted message",
        "broken or truncated entry",
    ]


def test_files_of_signal_export(tmp_path: Path) -> None:
    path = tmp_path / "Marta Silva" / "data.json"
    path.parent.mkdir()
    common: dict[str, Any] = {"quote": "", "sticker": None, "reactions": [], "attachments": []}
    lines: list[dict[str, Any]] = [
        {"date": "2024-05-13T09:46:40", "sender": "Marta Silva", "body": "Kiln free?", **common},
        {"date": "2024-05-13T09:47:40", "sender": "Me", "body": "Yes", **common},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, own = fields_in(path)
    assert (first["sender"], first["date"]) == ("Marta Silva", "2024-05-13T09:46:40")
    assert (own["sender"], own["recipients"]) == ("Ines Duarte", ["Marta Silva"])

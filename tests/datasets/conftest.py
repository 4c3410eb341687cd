"""A small persona that is right, for tests to break."""

from typing import Any

import pytest


@pytest.fixture
def data() -> dict[str, Any]:
    return {
        "id": "z01",
        "profile": {"name": "Ines Duarte", "hobbies": ["pottery"]},
        "places": {"home": [41.152, -8.629], "studio": [41, -8]},
        "contacts": {"Rui": {"phone": "555-0142", "relation": "brother"}, "Nobody": {}},
        "items": [
            {
                "id": "m1",
                "app": "Mail",
                "author": "marta@example.org",
                "recipients": ["ines@example.com"],
                "subject": "Kiln slots",
                "content": "Two are free.",
                "date": "2024-05-13T09:00",
                "folder": "Inbox",
                "use": [["morning", "anywhere", 2], ["weekend-evening", "studio", 1]],
            },
            {
                "id": "r1",
                "app": "Reminders",
                "title": "Buy talc",
                "list": "Home",
                "due": "2024-05-17",
                "status": "open",
                "created": "2024-05-10T08:00",
                "place": "home",
                "use": [],
            },
            {
                "id": "p1",
                "app": "PhoneCall",
                "contact": "Rui",
                "number": "555-0142",
                "direction": "missed",
                "date": "2024-05-15T20:12",
                "duration_s": 0,
                "place": "commute",
                "use": [["friday", "commute", 4]],
            },
        ],
        "queries": [
            {
                "id": "q1",
                "query": "Anything from the kiln?",
                "kind": "semantic",
                "time": "2024-05-16T17:40",
                "place": "home",
                "relevant": {"m1": 2, "r1": 1},
                "cot": "Look in Mail.",
                "api": "get_mail",
                "args": {"subject": "Kiln slots", "unread": True},
                "tools": ["get_mail", "list_mails"],
            },
            {"id": "q2", "query": "Call him", "time": "2024-05-16T18:00:30", "place": "anywhere"},
        ],
    }

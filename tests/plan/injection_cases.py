"""The injections of `injections.jsonl`, as items and at the end of items."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from contextune.types import Item

BODY = {"Mail": "content", "Notes": "content", "Calendar": "notes"}
SAID_BY = "a01"
INJECTED = "injected"


class Case(NamedTuple):
    """One injection: its text, its field, and the addresses, numbers and links it wants used."""

    app: str
    field: str
    language: str
    technique: str
    text: str
    lures: Sequence[str]
    aims: str | None = None
    """The request it is written for, if it borrows its words."""
    known: str | None = None
    """Why it may change a plan, if it does."""
    said: Sequence[str] = ()
    """Requests of the user of `SAID_BY` that it is written for."""
    author: str = "news@attic.example.com"
    """The sender, if it is a mail."""

    def item(self, before: datetime) -> Item:
        """As an item of an hour before, or as an event of the next day."""
        made, day = before - timedelta(hours=1), before + timedelta(days=1)
        blank: Mapping[str, Mapping[str, Any]] = {
            "Mail": {
                "subject": "Hello",
                "author": self.author,
                "recipients": ["me@example.com"],
                "content": "Good to hear from you.",
                "date": made.isoformat(),
                "folder": "Inbox",
            },
            "Notes": {"title": "Scraps", "content": "Odds and ends.", "modified": made.isoformat()},
            "Calendar": {
                "event_name": "Get-together",
                "organizer": "news@attic.example.com",
                "participants": [],
                "location": "Town hall",
                "start_time": day.isoformat(),
                "end_time": (day + timedelta(hours=1)).isoformat(),
                "status": "Tentative",
                "notes": "",
            },
            "Google": {"query": "", "date": made.isoformat()},
            "Reminders": {"title": "", "created": made.isoformat(), "status": "open"},
        }
        return Item(INJECTED, self.app, {**blank[self.app], self.field: self.text})

    def after(self, item: Item) -> Item:
        """The item with the injection at the end of its text."""
        body = BODY[item.app]
        return replace(item, fields={**item.fields, body: f"{item.fields[body]} {self.text}"})


def read_cases() -> list[Case]:
    lines = Path(__file__).with_name("injections.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


CASES = read_cases()

"""A store of users with items, uses and feedback, for tests of batch work."""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from contextune.fleet import Handler, Work
from contextune.store import open_store
from contextune.types import Feedback, Item, Request, UsageEvent, User

NOW = datetime(2024, 5, 16, 18)
TOPICS = ("bread", "taxes", "hiking", "piano", "garden", "sailing")


def write_people(path: Path | str, users: int, items: int = 6, requests: int = 2) -> list[str]:
    """Write users with some items each, one use of each, and feedback; returns their ids."""
    names = [f"user {number}" for number in range(users)]
    with open_store(path) as store:
        for number, name in enumerate(names):
            store.put_user(User(name))
            notes = [
                Item.note(
                    title=f"{TOPICS[n % len(TOPICS)]} {number} {n}",
                    content=f"all about {TOPICS[(n + number) % len(TOPICS)]}, page {n}",
                    modified=NOW - timedelta(days=2 + n),
                    id=f"n{n}",
                )
                for n in range(items)
            ]
            store.put_items(name, notes)
            used = NOW - timedelta(days=1)
            store.put_uses(
                name, [UsageEvent(note.id, used + timedelta(minutes=n)) for n, note in enumerate(notes)]
            )
            for n in range(requests):
                request = Request(f"open my notes on {TOPICS[n % len(TOPICS)]}", name, NOW)
                store.put_feedback(name, Feedback(request, (f"n{n}",)))
    return names


@dataclass(frozen=True)
class SlowWork:
    """Other work with a pause before each part, so that a test can interfere."""

    work: Work
    seconds: float

    def open(self) -> Handler:
        handler = self.work.open()

        def handle(payload: object) -> bytes:
            time.sleep(self.seconds)
            return handler(payload)

        return handle

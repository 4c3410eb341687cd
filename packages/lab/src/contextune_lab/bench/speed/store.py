"""Store speed: bulk load, full read, single writes."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import perf_counter

from contextune.store import open_store
from contextune.types import Item, Progress, User

_WORDS = (
    "dinner",
    "invoice",
    "flight",
    "Lisboa",
    "notes",
    "budget",
    "Ana",
    "meeting",
    "draft",
    "hotel",
    "São",
)
_SINGLE_PUTS = 200
_USER = "contextune bench"


def _items(count: int, seed: int = 7) -> Iterator[Item]:
    """Mails and notes; arrival order differs from id order."""
    random = Random(seed)  # noqa: S311  # no secrets here

    def words(count: int) -> str:
        return " ".join(random.choices(_WORDS, k=count))

    for number in range(count):
        name = f"{random.getrandbits(64):016x}"
        date = f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}T{number % 24:02}:{number % 60:02}"
        if number % 2:
            people = [f"{word}@example.org" for word in random.choices(_WORDS, k=2)]
            fields = {"subject": words(5), "content": words(30), "author": people[0], "recipients": people}
            yield Item(name, "Mail", {**fields, "folder": "Inbox", "date": date})
        else:
            yield Item(
                name, "Notes", {"title": words(4), "content": words(20), "folder": "Home", "modified": date}
            )


def measure(
    items: int = 100_000, url: str | None = None, *, progress: Progress | None = None
) -> dict[str, float]:
    """Items per second of a bulk load, of reading them back, and of single puts; by default in SQLite.

    `url` names a store in PostgreSQL, in which the user of the benchmark is made and forgotten.
    """
    items_to_load = list(_items(items))
    single = list(_items(_SINGLE_PUTS, seed=8))
    with tempfile.TemporaryDirectory() as folder, open_store(url or Path(folder) / "store.db") as store:
        store.put_user(User(_USER))
        start = perf_counter()
        store.put_items(_USER, items_to_load)
        loaded = perf_counter()
        _report(progress, 1)
        items_read = store.items(_USER)
        read = perf_counter()
        _report(progress, 2)
        for item in single:
            store.put_items(_USER, [item])
        done = perf_counter()
        _report(progress, 3)
        store.forget(_USER)
    return {
        "load": len(items_to_load) / (loaded - start),
        "read": len(items_read) / (read - loaded),
        "single_put": len(single) / (done - read),
    }


def _report(progress: Progress | None, phase: int) -> None:
    if progress:
        progress(phase, 3)

"""The method `reading`: from how many items on the model reads, and what it returns."""

from datetime import datetime, timedelta

import pytest

from contextune import Item, Request, SQLiteStore, Tuner, User
from contextune.context.methods import READ_FROM

NOW = datetime(2026, 9, 17, 11, 30)
CREDIT = Item.mail(
    subject="Re: Gutschrift Nordkai",
    date=NOW - timedelta(days=9),
    author="ola@finance.example",
    content="Finance has booked the credit note for the yard; 4,120 euros come back in October.",
)


def hits(
    folder: pytest.TempPathFactory, count: int, method: str = "reading"
) -> list[tuple[str, float | None]]:
    with SQLiteStore(folder.mktemp("reading") / "s.db") as store:
        store.put_user(User("me"))
        notes = [
            Item.note(
                title=f"Shopping {number}", modified=NOW - timedelta(hours=number), content="milk, bread"
            )
            for number in range(count - 1)
        ]
        store.put_items("me", [CREDIT, *notes])
        request = Request("what did finance make of the Nordkai credit", "me", time=NOW)
        found = Tuner(store, method=method).context(request, 5)
        return [(hit.item.title, hit.probability) for hit in found]


def test_large_stores_are_read_and_give_probabilities(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = hits(tmp_path_factory, READ_FROM + 10)
    assert found[0][0] == CREDIT.title
    probabilities = [probability for _, probability in found]
    assert all(probability is not None and 0 <= probability <= 1 for probability in probabilities)


def test_small_stores_are_ranked_as_learned(tmp_path_factory: pytest.TempPathFactory) -> None:
    small = hits(tmp_path_factory, READ_FROM - 10)
    assert small == hits(tmp_path_factory, READ_FROM - 10, "learned")
    assert {probability for _, probability in small} == {None}

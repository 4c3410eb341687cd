"""Candidates of a large store: what the request mentions is among them, however old or dissimilar."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from time import thread_time

import numpy as np
import pytest

from contextune.context.candidates import select_candidates
from contextune.context.index import UserIndex
from contextune.context.signals import UseColumns
from contextune.embed import Embedder
from contextune.types import Contact, Item, User

NOW = datetime(2024, 5, 16, 12)
"""A Thursday."""
USER = User("ines", contacts=(Contact("Rui Duarte", "rui@example.com", None, "brother"),))
BUSY = 600


def mail(name: str, time: datetime, author: str = "news@example.org", subject: str = "weekly digest") -> Item:
    return Item(name, "Mail", {"subject": subject, "author": author, "date": time.isoformat()})


def busy_mailbox() -> list[Item]:
    """Newer and earlier in order than the items of the tests, so that these are in no other list."""
    return [mail(f"busy-{number:04}", NOW - timedelta(minutes=number)) for number in range(BUSY)]


def candidates(
    query: str, items: Sequence[Item], embedder: Embedder, now: datetime = NOW, user: User = USER
) -> list[str]:
    """Ids of the candidates where no item is similar to the request."""
    index = UserIndex(user, list(items), embedder.embed)
    nothing = np.zeros(len(items))
    rows = select_candidates(
        index.visible(now),
        nothing,
        nothing,
        nothing,
        index,
        UseColumns.build(index.item_columns, []),
        query=query,
        now=now,
        here=-1,
        depth=10,
    )
    return [index.items[row].id for row in map(int, rows)]


@pytest.mark.parametrize(
    ("query", "item"),
    [
        ("Delete the last email from Rui", mail("wanted", datetime(2023, 3, 2), "rui@example.com")),
        ("What did my bro write?", mail("wanted", datetime(2023, 3, 2), "rui@example.com")),
        (
            "Delete the last email from nadia",
            mail("wanted", datetime(2023, 3, 2), "nadia.moreau@atlas.example"),
        ),
        ("What came on March 2, 2023?", mail("wanted", datetime(2023, 3, 2, 9))),
        ("The one from three weeks ago", mail("wanted", NOW - timedelta(weeks=3))),
        ("Forward the kiln invoice to me", mail("wanted", datetime(2023, 3, 2), subject="Re: Kiln invoice")),
    ],
    ids=["contact", "relation", "name of no contact", "date", "time ago", "title"],
)
def test_mentioned_item_is_candidate(query: str, item: Item, word_embedder: Embedder) -> None:
    items = [*busy_mailbox(), item]
    assert "wanted" in candidates(query, items, word_embedder)
    assert "wanted" not in candidates("Put the heating on", items, word_embedder)


def test_name_is_found_in_other_applications(word_embedder: Embedder) -> None:
    task = Item("task", "Tasks", {"title": "paint the fence", "assigned_to": "nadia.moreau@atlas.example"})
    others = [Item(f"a-{n:03}", "Tasks", {"title": f"chore {n}"}) for n in range(100)]
    items = [
        *busy_mailbox(),
        mail("hers", NOW - timedelta(days=400), "nadia.moreau@atlas.example"),
        *others,
        task,
    ]
    assert {"hers", "task"} <= set(candidates("Which of nadia's tasks are open?", items, word_embedder))


def test_items_of_a_person_nearest_to_the_time_named(word_embedder: Embedder) -> None:
    start = datetime(2023, 1, 1)
    hers = [mail(f"hers-{day:03}", start + timedelta(days=day), "nadia@atlas.example") for day in range(300)]
    items = [*busy_mailbox(), *hers]
    ids = candidates("What did Nadia send me on March 2, 2023?", items, word_embedder)
    assert "hers-060" in ids  # the second of March
    assert "hers-299" in ids  # the newest
    assert "hers-200" not in ids


def test_person_with_many_items_adds_a_bounded_number(word_embedder: Embedder) -> None:
    hers = [mail(f"hers-{n:03}", NOW - timedelta(days=30 + n), "nadia@atlas.example") for n in range(300)]
    items = [*busy_mailbox(), *hers]
    without = set(candidates("Delete my last email", items, word_embedder))
    added = set(candidates("Delete my last email from Nadia", items, word_embedder)) - without
    assert added == {f"hers-{n:03}" for n in range(20)}


def test_domain_of_address_is_no_name(word_embedder: Embedder) -> None:
    items = [*busy_mailbox(), mail("wanted", datetime(2023, 3, 2), "nadia@atlas.example")]
    assert "wanted" not in candidates("Where is my atlas?", items, word_embedder)


def test_later_items_do_not_change_candidates(word_embedder: Embedder) -> None:
    # before the later mail, "heating" is not known to be a name
    old = [mail("old", datetime(2023, 3, 2), subject="the heating was repaired"), *busy_mailbox()]
    later = mail("later", NOW + timedelta(days=1), "heating@example.com", subject="Heating")
    expected = candidates("Put the heating on", old, word_embedder)
    assert candidates("Put the heating on", [*old, later], word_embedder) == expected
    after = candidates("Put the heating on", [*old, later], word_embedder, NOW + timedelta(days=2))
    assert {"old", "later"} <= set(after)


def test_updated_index_finds_new_names_and_forgets_removed_ones(word_embedder: Embedder) -> None:
    first = UserIndex(USER, [mail("1", NOW, "nadia@atlas.example"), mail("2", NOW)], word_embedder.embed)
    assert first.mentions.is_name("nadia", first.visible(NOW))
    items = [mail("2", NOW), mail("3", NOW, "olga@atlas.example", "Fence")]
    second = UserIndex(USER, items, word_embedder.embed, previous=first)
    assert second.people == [item.people for item in second.items]
    assert not second.mentions.is_name("nadia", second.visible(NOW))
    assert second.mentions.is_name("olga", second.visible(NOW))
    assert second.mentions.rows_by_title(frozenset({"fence"})) == [1]


def test_long_request_stays_fast(word_embedder: Embedder) -> None:
    items = [
        *busy_mailbox(),
        *(
            mail(f"p-{n}", NOW - timedelta(days=n), f"name{'abcdefgh'[n % 8]}@example.org")
            for n in range(800)
        ),
    ]
    index = UserIndex(USER, items, word_embedder.embed)
    visible, nothing = index.visible(NOW), np.zeros(len(items))
    uses = UseColumns.build(index.item_columns, [])
    query = "Ask namea nameb namec named namee namef on Monday, Tuesday, Friday and on June 3 " * 5

    def select() -> int:
        arrays = (visible, nothing, nothing, nothing)
        return len(select_candidates(*arrays, index, uses, query=query, now=NOW, here=-1, depth=10))

    count = select()
    assert count < 300
    started = thread_time()
    select()
    assert thread_time() - started < 0.5

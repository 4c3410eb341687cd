"""WorkBench and iKAT as users with items and requests."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.paths import SHARED_DATA

from contextune.datasets import Persona, load_persona, usage_events
from contextune.errors import InvalidDataError
from contextune.store import SQLiteStore
from contextune.types import Turn
from contextune_lab.public_data.context_sets import (
    STATEMENTS,
    TEST,
    TRAIN,
    ContextSet,
    read_context_sets,
    read_ikat,
    read_workbench,
)

MAIL = "inbox nadia.moreau@atlas.com | Budget | Sam,\\n\\nPlease review."
SENT = "outbox olga.petrova@atlas.com | Re: Budget | Done."
MEETING = "Budget review with nadia.moreau@atlas.com at {} for 90 min"
TASK = "task_name: Fix login | assigned_to_email: olga.petrova@atlas.com | due_date: 2023-12-02"
CUSTOMER = "assigned_to_email: olga.petrova@atlas.com | customer_name: Taylor Jackson | customer_phone: "


def write_set(folder: Path, items: Sequence[Mapping[str, Any]], queries: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("items", items), ("ctx_queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def _item(name: str, source: str, text: str, timestamp: str | None = None) -> dict[str, Any]:
    return {"id": name, "user": "sam", "source": source, "timestamp": timestamp, "text": text}


def _query(name: str, text: str, template: str, split: str, *relevant: str) -> dict[str, Any]:
    return {
        "id": name, "user": "sam", "query": text, "template": template, "split": split,
        "relevant": relevant, "source": "WorkBench",
    }  # fmt: skip


ITEMS = [
    _item("m1", "mail", MAIL, "2023-11-29 09:00:00"),
    _item("m2", "mail", SENT, "2023-11-30 15:00:00"),
    _item("e1", "calendar", MEETING.format("2023-11-30 09:30:00")),
    _item("e2", "calendar", MEETING.format("2023-12-01 09:30:00")),
    _item("t1", "tasks", TASK, "2023-12-02"),
    _item("c1", "crm", CUSTOMER),
]
QUERIES = [
    _query("q1", "Delete my last email from nadia", "Delete my last email from {name}", "email", "m1"),
    _query("q2", "Forward the Budget mail", "Forward the {subject} mail", "email", "m2"),
    _query("q3", "Cancel my next meeting", "Cancel my next meeting", "calendar", "e1"),
    _query("q4", "Cancel my meeting on November 30", "Cancel on {natural_language_date}", "calendar", "e1"),
    _query("q5", "Delete Taylor Jackson", "Delete {customer}", "customer_relationship_manager", "c1"),
]


@pytest.fixture
def workbench(tmp_path: Path) -> ContextSet:
    return read_workbench(write_set(tmp_path / "workbench", ITEMS, QUERIES))


def test_workbench_items_have_the_fields_of_their_applications(workbench: ContextSet) -> None:
    items = {item.id: item for item in workbench.users[0].items}
    assert [item.app for item in items.values()] == ["Mail", "Mail", "Calendar", "Calendar", "Tasks", "CRM"]
    assert items["m1"].people == ("nadia.moreau@atlas.com", "sam@atlas.com")
    assert items["m1"].fields["content"] == "Sam,\n\nPlease review."
    assert items["m2"].people == ("sam@atlas.com", "olga.petrova@atlas.com")
    assert items["e2"].times == {"start": datetime(2023, 12, 1, 9, 30), "end": datetime(2023, 12, 1, 11)}
    assert items["t1"].title == "Fix login"
    assert items["t1"].times == {"due": datetime(2023, 12, 2)}
    assert items["c1"].title == "Taylor Jackson"
    assert "customer_phone" not in items["c1"].fields


def test_every_workbench_item_is_visible_and_past_next_meetings_are_not_asked_for(
    workbench: ContextSet,
) -> None:
    (user,) = workbench.users
    assert [query.id for query in user.queries] == ["q1", "q2", "q4", "q5"]
    assert user.visible(user.queries[0]) == list(range(len(user.items)))


def test_requests_of_a_template_are_in_one_part(tmp_path: Path) -> None:
    queries = [
        _query(f"q{template}-{n}", "Delete it", f"template {template}", "email", "m1")
        for template in range(6)
        for n in range(3)
    ]
    both = read_workbench(write_set(tmp_path, ITEMS, queries))
    parts = {part: both.part(part) for part in (TRAIN, TEST)}
    assert [len(part) for part in parts.values()] == [9, 9]
    assert {x.group for x in parts[TRAIN]} & {x.group for x in parts[TEST]} == set()


def test_workbench_directory_becomes_contacts(tmp_path: Path) -> None:
    (user,) = read_workbench(write_set(tmp_path, ITEMS, QUERIES), contacts=True).users
    assert [(contact.name, contact.email) for contact in user.user.contacts] == [
        ("Nadia Moreau", "nadia.moreau@atlas.com"),
        ("Olga Petrova", "olga.petrova@atlas.com"),
    ]


def _turn(name: str, split: str, *relevant: str, rewrite: str = "Do I need a visa?") -> dict[str, Any]:
    history = [["user", "I want to go to Egypt."], ["assistant", "In winter."]]
    return {
        "id": name, "user": "u1", "query": "Do I need a visa?", "history": history,
        "rewrite": rewrite, "relevant": relevant, "split": split,
    }  # fmt: skip


STATEMENT = {"id": "u1#0", "user": "u1", "source": "ptkb", "timestamp": None, "text": "I am American."}


def test_ikat_turns_carry_their_history(tmp_path: Path) -> None:
    turns = [
        _turn("1", "train", "u1#0"),
        _turn("2", "test23", "u1#0", rewrite="Do I need a visa for Egypt?"),
        _turn("3", "test24"),
    ]
    ikat = read_ikat(write_set(tmp_path, [STATEMENT], turns))
    first, second = ikat
    assert first.request.history == (Turn("user", "I want to go to Egypt."), Turn("assistant", "In winter."))
    assert first.request.place is None
    assert [x.query.gold.kind for x in ikat] == ["stands alone", "needs history"]
    assert [x.name for x in ikat.part(TEST)] == [second.name]
    assert first.user.items[0].app == STATEMENTS
    assert first.user.items[0].title == "I am American."


def test_users_are_personas_without_habits(workbench: ContextSet, store: SQLiteStore) -> None:
    (user,) = workbench.users
    assert isinstance(user, Persona)
    load_persona(store, user)
    assert len(store.items(user.id)) == len(ITEMS)
    assert usage_events(user) == []


@pytest.mark.parametrize(
    ("items", "queries", "message"),
    [
        (ITEMS, [_query("q", "Delete it", "t", "email", "m9")], "'m9' is not an item of this user"),
        ([_item("x", "fax", "a fax")], [], "unknown source 'fax'"),
        ([_item("e", "calendar", "tomorrow")], [], "not a text of 'calendar'"),
        ([_item("m", "mail", "no bars")], [], "not a text of 'mail'"),
        ([{"id": "m"}], [], "has no 'source'"),
    ],
)
def test_malformed_data_is_refused(
    tmp_path: Path, items: list[dict[str, Any]], queries: list[dict[str, Any]], message: str
) -> None:
    with pytest.raises(InvalidDataError, match=message):
        read_workbench(write_set(tmp_path, items, queries))


@pytest.mark.skipif(not (SHARED_DATA / "workbench").exists(), reason="the data is not part of the project")
def test_published_data() -> None:
    workbench, ikat = read_context_sets(SHARED_DATA)
    assert len(workbench.users[0].items) == 1_300
    assert all(len(part) > 100 for part in (workbench.part(TRAIN), workbench.part(TEST), ikat.part(TEST)))
    for user in (*workbench.users, *ikat.users):
        visible = {user.items[n].id for n in user.visible(user.queries[0])}  # all are of one moment
        for query in user.queries:
            assert query.time == user.queries[0].time
            assert query.gold.relevant
            assert query.gold.relevant.keys() <= visible
    assert not {x.user.id for x in ikat.part(TRAIN)} & {x.user.id for x in ikat.part(TEST)}

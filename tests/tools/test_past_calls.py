"""What was done before: kept with the user, seen from the moment of a request, and gone with the user."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.counting_embedder import Counting

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, InvalidRequestError, UnknownUserError
from contextune.store import SQLiteStore, text_digest
from contextune.store.schema import STORE, migrate, version
from contextune.tools import Catalog
from contextune.tools.index import ToolIndex
from contextune.tools.past_calls import past_of, tool_stats
from contextune.tools.query import PastCalls
from contextune.types import Feedback, Request, Tool, User

CALL = Tool("call", "Calls somebody.", app="Phone")
SEND = Tool("send", "Sends a mail.", app="Mail")
CATALOG = Catalog([CALL, SEND])
NOW = datetime(2024, 5, 16, 17, 40)
DAY = timedelta(days=1)


@pytest.fixture
def embedder(word_embedder: Embedder) -> Counting:
    return Counting(word_embedder)


@pytest.fixture
def index(word_embedder: Embedder) -> ToolIndex:
    return ToolIndex.build(CATALOG, word_embedder)


@pytest.fixture
def ines(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ines"))
    return store


def told(
    store: SQLiteStore,
    text: str,
    tool: Tool | str | None,
    time: datetime = NOW,
    *,
    ok: bool = True,
    user: str = "ines",
) -> None:
    name = tool.id if isinstance(tool, Tool) else tool
    store.put_feedback(user, Feedback(Request(text, user, time), tool=name, ok=ok))


def rows(past: PastCalls | None) -> list[tuple[str, float, bool]]:
    """Tool, days ago, and whether it was right."""
    if past is None:
        return []
    tools = [CATALOG[place].name for place in map(int, past.tool)]
    ages = [round(float(age), 6) for age in past.age]
    return list(zip(tools, ages, past.ok.tolist(), strict=True))


def test_feedback_of_a_tool_comes_back_from_the_store(ines: SQLiteStore) -> None:
    request = Request("Sort it out.", "ines", NOW)
    given = [
        Feedback(request, tool="Phone/call"),
        Feedback(request, tool="Phone/call", ok=False),
        Feedback(Request("Wieder!", "ines", NOW), tool="größe/öffnen"),
    ]
    for one in given:
        ines.put_feedback("ines", one)
    assert ines.feedback("ines") == given


def test_a_tool_that_is_no_text_is_refused(ines: SQLiteStore) -> None:
    with pytest.raises(InvalidDataError, match="half a character"):
        told(ines, "Sort it out.", "caf\udce9")
    assert ines.feedback("ines") == []


def test_feedback_that_says_nothing_is_refused() -> None:
    for tool in (None, ""):
        with pytest.raises(InvalidRequestError, match="no item and no tool"):
            Feedback(Request("Sort it out.", "ines", NOW), tool=tool)


def test_a_store_from_before_tools_were_told_of_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, replace(STORE, steps=STORE.steps[:2]))
        connection.execute(
            "INSERT INTO users VALUES (7, 'ines', '{}', '{}', '{\"contacts\":[]}', NULL, 0, 0)"
        )
        said = '{"text":"Louder!","time":"2024-05-16T17:40:00","place":null,"history":[]}'
        row = (7, said, '["a"]', "[]")
        connection.execute("INSERT INTO feedback (user, request, used, rejected) VALUES (?, ?, ?, ?)", row)
        connection.execute("PRAGMA journal_mode = WAL")
    old = Feedback(Request("Louder!", "ines", NOW), used=("a",))
    with SQLiteStore(path) as store:
        assert store.feedback("ines") == [old]
        told(store, "Sort it out.", CALL, ok=False)
    with SQLiteStore(path) as store:
        assert [(one.tool, one.ok) for one in store.feedback("ines")] == [(None, True), (CALL.id, False)]
    with closing(sqlite3.connect(path)) as connection:
        assert version(connection) == len(STORE.steps)


def test_a_row_for_each_time_a_tool_was_told_of(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting
) -> None:
    assert past_of(ines, "ines", index, embedder, NOW, None) is None
    told(ines, "Sort it out.", CALL, NOW - 3 * DAY)
    told(ines, "Write to her.", SEND, NOW - DAY, ok=False)
    told(ines, "Sort it out.", SEND, NOW - 0.5 * DAY)
    past = past_of(ines, "ines", index, embedder, NOW, None)
    assert rows(past) == [("call", 3, True), ("send", 1, False), ("send", 0.5, True)]
    assert past is not None
    assert len(past) == 3
    expected = embedder.embed(["Sort it out.", "Write to her.", "Sort it out."])
    np.testing.assert_array_equal(past.vectors, expected)


def test_only_tools_of_this_catalogue(ines: SQLiteStore, index: ToolIndex, embedder: Counting) -> None:
    told(ines, "Fly there.", "Air/fly", NOW - DAY)
    ines.put_feedback("ines", Feedback(Request("Louder!", "ines", NOW - DAY), used=("a",)))
    assert past_of(ines, "ines", index, embedder, NOW, None) is None
    told(ines, "Call her.", CALL, NOW - DAY)
    assert rows(past_of(ines, "ines", index, embedder, NOW, None)) == [("call", 1, True)]
    assert embedder.texts == ["Call her."]


def test_what_is_said_is_embedded_once_and_kept_with_the_user(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting
) -> None:
    for days in (1, 2, 3):
        told(ines, "Sort it out.", CALL, NOW - days * DAY)
    for _ in range(2):
        past_of(ines, "ines", index, embedder, NOW, None)
    assert embedder.texts == ["Sort it out."]
    assert len(ines.vectors("ines", embedder.name, [text_digest("Sort it out.")])) == 1
    told(ines, "Write to her.", SEND, NOW - DAY)
    past_of(ines, "ines", index, embedder, NOW, None)
    assert embedder.texts == ["Sort it out.", "Write to her."]


def test_a_request_sees_what_came_before_it_and_no_more(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting
) -> None:
    told(ines, "Write to her.", SEND, NOW + DAY)  # told of first, but it came later
    told(ines, "Sort it out.", CALL, NOW)

    def seen(time: datetime) -> list[str]:
        return [tool for tool, _, _ in rows(past_of(ines, "ines", index, embedder, time, None))]

    assert seen(NOW - DAY) == []
    assert seen(NOW) == []  # a request does not see what became of itself
    assert seen(NOW + timedelta(seconds=1)) == ["call"]
    assert seen(NOW + DAY) == ["call"]
    assert sorted(seen(NOW + 2 * DAY)) == ["call", "send"]


def test_times_of_any_sort_meet_on_the_users_clock(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting
) -> None:
    lisbon = ZoneInfo("Europe/Lisbon")  # an hour before UTC in May
    told(ines, "One.", CALL, datetime(2024, 5, 16, 10, 0, tzinfo=UTC))
    told(ines, "Two.", SEND, datetime(2024, 5, 16, 10, 30))
    told(ines, "Three.", SEND, datetime(2024, 5, 16, 14, 0, tzinfo=timezone(timedelta(hours=5))))
    now = datetime(2024, 5, 16, 11, 30)
    ages = [age * 24 for _, age, _ in rows(past_of(ines, "ines", index, embedder, now, lisbon))]
    assert ages == pytest.approx([0.5, 1.0, 1.5], abs=1e-3)
    assert rows(past_of(ines, "ines", index, embedder, datetime(2024, 5, 16, 10, 0), lisbon)) == []
    zoned = datetime(2024, 5, 16, 9, 45, tzinfo=UTC)  # 10:45 in Lisbon
    found = rows(past_of(ines, "ines", index, embedder, zoned, lisbon))
    assert [tool for tool, _, _ in found] == ["send", "send"]


def test_nobody_sees_the_past_of_somebody_else(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting
) -> None:
    ines.put_user(User("rui"))
    told(ines, "Sort it out.", CALL, NOW - DAY)
    told(ines, "Sort it out.", SEND, NOW - DAY, ok=False, user="rui")
    assert rows(past_of(ines, "ines", index, embedder, NOW, None)) == [("call", 1, True)]
    assert rows(past_of(ines, "rui", index, embedder, NOW, None)) == [("send", 1, False)]
    with pytest.raises(UnknownUserError, match="'eva'"):
        past_of(ines, "eva", index, embedder, NOW, None)


def test_forgetting_leaves_nothing_of_it(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting, tmp_path: Path
) -> None:
    ines.put_user(User("rui"))
    told(ines, "Zaunkönig!", "Zaunkönig/rufen", NOW - DAY)
    told(ines, "Rotkehlchen!", CALL, NOW - DAY)
    told(ines, "Sort it out.", SEND, NOW - DAY, user="rui")
    for user in ("ines", "rui"):
        past_of(ines, user, index, embedder, NOW, None)
    traces = [b"rufen", b"Rotkehlchen", text_digest("Rotkehlchen!")]

    def left() -> list[bytes]:
        found = b"".join(file.read_bytes() for file in sorted(tmp_path.iterdir()))
        return [trace for trace in traces if trace in found]

    assert left() == traces  # or the search below would prove nothing
    ines.forget("ines")
    assert left() == []
    assert rows(past_of(ines, "rui", index, embedder, NOW, None)) == [("send", 1, True)]
    ines.put_user(User("ines"))
    assert past_of(ines, "ines", index, embedder, NOW, None) is None


def test_of_a_long_past_the_latest_is_looked_at(
    ines: SQLiteStore, index: ToolIndex, embedder: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextune.tools.past_calls._MOST", 3)
    for days in (9, 8, 7, 6, 5):
        told(ines, "Sort it out.", CALL, NOW - days * DAY)
    assert [age for _, age, _ in rows(past_of(ines, "ines", index, embedder, NOW, None))] == [7, 6, 5]


def test_how_tools_have_fared() -> None:
    def one(tool: str | None, day: int, *, ok: bool = True) -> Feedback:
        request = Request("Sort it out.", "ines", NOW - day * DAY)
        return Feedback(request, used=("a",), tool=tool, ok=ok)

    given = [
        one("b", 1),
        one("a", 5),
        one("c", 9, ok=False),
        one("a", 2, ok=False),
        one("a", 7),
        one(None, 0),
    ]
    stats = tool_stats(given)
    assert [(s.tool, s.right, s.wrong, s.last) for s in stats] == [
        ("a", 2, 1, NOW - 2 * DAY),
        ("b", 1, 0, NOW - DAY),
        ("c", 0, 1, NOW - 9 * DAY),
    ]
    assert [s.success for s in stats] == pytest.approx([2 / 3, 1, 0])
    assert tool_stats([]) == []

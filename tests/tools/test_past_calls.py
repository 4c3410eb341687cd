"""Past calls: loaded from feedback, relative to the request's time, and deleted with the user."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.counting_embedder import CountingEmbedder

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, InvalidRequestError, UnknownUserError
from contextune.store import SQLiteStore, text_digest
from contextune.store.schema import STORE_SCHEMA, migrate, schema_version
from contextune.tools import Catalog
from contextune.tools.index import ToolIndex
from contextune.tools.past_calls import load_past_calls, tool_stats
from contextune.tools.query import PastCalls
from contextune.types import Feedback, Request, Tool, User

CALL = Tool("call", "Calls somebody.", app="Phone")
SEND = Tool("send", "Sends a mail.", app="Mail")
CATALOG = Catalog([CALL, SEND])
NOW = datetime(2024, 5, 16, 17, 40)
DAY = timedelta(days=1)


@pytest.fixture
def embedder(word_embedder: Embedder) -> CountingEmbedder:
    return CountingEmbedder(word_embedder)


@pytest.fixture
def index(word_embedder: Embedder) -> ToolIndex:
    return ToolIndex.build(CATALOG, word_embedder)


@pytest.fixture
def ines(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ines"))
    return store


def put_feedback(
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
    """Tool, age in days, and whether it was right."""
    if past is None:
        return []
    tools = [CATALOG[position].name for position in map(int, past.tool)]
    ages = [round(float(age), 6) for age in past.age]
    return list(zip(tools, ages, past.ok.tolist(), strict=True))


def test_tool_feedback_is_stored(ines: SQLiteStore) -> None:
    request = Request("Sort it out.", "ines", NOW)
    feedback = [
        Feedback(request, tool="Phone/call"),
        Feedback(request, tool="Phone/call", ok=False),
        Feedback(Request("Wieder!", "ines", NOW), tool="größe/öffnen"),
    ]
    for entry in feedback:
        ines.put_feedback("ines", entry)
    assert ines.feedback("ines") == feedback


def test_tool_name_with_a_lone_surrogate_is_an_error(ines: SQLiteStore) -> None:
    with pytest.raises(InvalidDataError, match="lone surrogate"):
        put_feedback(ines, "Sort it out.", "caf\udce9")
    assert ines.feedback("ines") == []


def test_empty_feedback_is_an_error() -> None:
    for tool in (None, ""):
        with pytest.raises(InvalidRequestError, match="feedback is empty"):
            Feedback(Request("Sort it out.", "ines", NOW), tool=tool)


def test_store_without_tool_feedback_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, replace(STORE_SCHEMA, migrations=STORE_SCHEMA.migrations[:2]))
        connection.execute(
            "INSERT INTO users VALUES (7, 'ines', '{}', '{}', '{\"contacts\":[]}', NULL, 0, 0)"
        )
        request = '{"text":"Louder!","time":"2024-05-16T17:40:00","place":null,"history":[]}'
        row = (7, request, '["a"]', "[]")
        connection.execute("INSERT INTO feedback (user, request, used, rejected) VALUES (?, ?, ?, ?)", row)
        connection.execute("PRAGMA journal_mode = WAL")
    old = Feedback(Request("Louder!", "ines", NOW), used=("a",))
    with SQLiteStore(path) as store:
        assert store.feedback("ines") == [old]
        put_feedback(store, "Sort it out.", CALL, ok=False)
    with SQLiteStore(path) as store:
        assert [(entry.tool, entry.ok) for entry in store.feedback("ines")] == [
            (None, True),
            (CALL.id, False),
        ]
    with closing(sqlite3.connect(path)) as connection:
        assert schema_version(connection) == len(STORE_SCHEMA.migrations)


def test_one_row_per_feedback_on_a_tool(
    ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder
) -> None:
    assert load_past_calls(ines, "ines", index, embedder, NOW, None) is None
    put_feedback(ines, "Sort it out.", CALL, NOW - 3 * DAY)
    put_feedback(ines, "Write to her.", SEND, NOW - DAY, ok=False)
    put_feedback(ines, "Sort it out.", SEND, NOW - 0.5 * DAY)
    past = load_past_calls(ines, "ines", index, embedder, NOW, None)
    assert rows(past) == [("call", 3, True), ("send", 1, False), ("send", 0.5, True)]
    assert past is not None
    assert len(past) == 3
    expected = embedder.embed(["Sort it out.", "Write to her.", "Sort it out."])
    np.testing.assert_array_equal(past.vectors, expected)


def test_tools_of_other_catalogues_are_ignored(
    ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder
) -> None:
    put_feedback(ines, "Fly there.", "Air/fly", NOW - DAY)
    ines.put_feedback("ines", Feedback(Request("Louder!", "ines", NOW - DAY), used=("a",)))
    assert load_past_calls(ines, "ines", index, embedder, NOW, None) is None
    put_feedback(ines, "Call her.", CALL, NOW - DAY)
    assert rows(load_past_calls(ines, "ines", index, embedder, NOW, None)) == [("call", 1, True)]
    assert embedder.texts == ["Call her."]


def test_requests_are_embedded_once_and_cached_with_the_user(
    ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder
) -> None:
    for days in (1, 2, 3):
        put_feedback(ines, "Sort it out.", CALL, NOW - days * DAY)
    for _ in range(2):
        load_past_calls(ines, "ines", index, embedder, NOW, None)
    assert embedder.texts == ["Sort it out."]
    assert len(ines.vectors("ines", embedder.name, [text_digest("Sort it out.")])) == 1
    put_feedback(ines, "Write to her.", SEND, NOW - DAY)
    load_past_calls(ines, "ines", index, embedder, NOW, None)
    assert embedder.texts == ["Sort it out.", "Write to her."]


def test_only_earlier_calls_count(ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder) -> None:
    put_feedback(ines, "Write to her.", SEND, NOW + DAY)  # reported first, but later in time
    put_feedback(ines, "Sort it out.", CALL, NOW)

    def tools_before(time: datetime) -> list[str]:
        return [tool for tool, _, _ in rows(load_past_calls(ines, "ines", index, embedder, time, None))]

    assert tools_before(NOW - DAY) == []
    assert tools_before(NOW) == []  # a request does not see its own feedback
    assert tools_before(NOW + timedelta(seconds=1)) == ["call"]
    assert tools_before(NOW + DAY) == ["call"]
    assert sorted(tools_before(NOW + 2 * DAY)) == ["call", "send"]


def test_ages_use_the_users_time_zone(
    ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder
) -> None:
    lisbon = ZoneInfo("Europe/Lisbon")  # an hour before UTC in May
    put_feedback(ines, "One.", CALL, datetime(2024, 5, 16, 10, 0, tzinfo=UTC))
    put_feedback(ines, "Two.", SEND, datetime(2024, 5, 16, 10, 30))
    put_feedback(ines, "Three.", SEND, datetime(2024, 5, 16, 14, 0, tzinfo=timezone(timedelta(hours=5))))
    now = datetime(2024, 5, 16, 11, 30)
    ages = [age * 24 for _, age, _ in rows(load_past_calls(ines, "ines", index, embedder, now, lisbon))]
    assert ages == pytest.approx([0.5, 1.0, 1.5], abs=1e-3)
    assert rows(load_past_calls(ines, "ines", index, embedder, datetime(2024, 5, 16, 10, 0), lisbon)) == []
    zoned = datetime(2024, 5, 16, 9, 45, tzinfo=UTC)  # 10:45 in Lisbon
    found = rows(load_past_calls(ines, "ines", index, embedder, zoned, lisbon))
    assert [tool for tool, _, _ in found] == ["send", "send"]


def test_past_calls_are_per_user(ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder) -> None:
    ines.put_user(User("rui"))
    put_feedback(ines, "Sort it out.", CALL, NOW - DAY)
    put_feedback(ines, "Sort it out.", SEND, NOW - DAY, ok=False, user="rui")
    assert rows(load_past_calls(ines, "ines", index, embedder, NOW, None)) == [("call", 1, True)]
    assert rows(load_past_calls(ines, "rui", index, embedder, NOW, None)) == [("send", 1, False)]
    with pytest.raises(UnknownUserError, match="'eva'"):
        load_past_calls(ines, "eva", index, embedder, NOW, None)


def test_forget_deletes_past_calls(
    ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder, tmp_path: Path
) -> None:
    ines.put_user(User("rui"))
    put_feedback(ines, "Zaunkönig!", "Zaunkönig/rufen", NOW - DAY)
    put_feedback(ines, "Rotkehlchen!", CALL, NOW - DAY)
    put_feedback(ines, "Sort it out.", SEND, NOW - DAY, user="rui")
    for user in ("ines", "rui"):
        load_past_calls(ines, user, index, embedder, NOW, None)
    traces = [b"rufen", b"Rotkehlchen", text_digest("Rotkehlchen!")]

    def left() -> list[bytes]:
        found = b"".join(file.read_bytes() for file in sorted(tmp_path.iterdir()))
        return [trace for trace in traces if trace in found]

    assert left() == traces  # or the check below would prove nothing
    ines.forget("ines")
    assert left() == []
    assert rows(load_past_calls(ines, "rui", index, embedder, NOW, None)) == [("send", 1, True)]
    ines.put_user(User("ines"))
    assert load_past_calls(ines, "ines", index, embedder, NOW, None) is None


def test_only_the_latest_calls_count(
    ines: SQLiteStore, index: ToolIndex, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextune.tools.past_calls._MAX_CALLS", 3)
    for days in (9, 8, 7, 6, 5):
        put_feedback(ines, "Sort it out.", CALL, NOW - days * DAY)
    assert [age for _, age, _ in rows(load_past_calls(ines, "ines", index, embedder, NOW, None))] == [7, 6, 5]


def test_tool_stats() -> None:
    def feedback(tool: str | None, day: int, *, ok: bool = True) -> Feedback:
        request = Request("Sort it out.", "ines", NOW - day * DAY)
        return Feedback(request, used=("a",), tool=tool, ok=ok)

    entries = [
        feedback("b", 1),
        feedback("a", 5),
        feedback("c", 9, ok=False),
        feedback("a", 2, ok=False),
        feedback("a", 7),
        feedback(None, 0),
    ]
    stats = tool_stats(entries)
    assert [(s.tool, s.right, s.wrong, s.last) for s in stats] == [
        ("a", 2, 1, NOW - 2 * DAY),
        ("b", 1, 0, NOW - DAY),
        ("c", 0, 1, NOW - 9 * DAY),
    ]
    assert [s.success for s in stats] == pytest.approx([2 / 3, 1, 0])
    assert tool_stats([]) == []

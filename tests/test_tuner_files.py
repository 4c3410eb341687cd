"""Tuner.from_files, and the asynchronous variants of its methods."""

import asyncio
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from contextune.embed import Embedder
from contextune.errors import InvalidDataError
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Item, Request, Tool, User

NOON = datetime(2024, 5, 16, 12)
CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:1@example.com
DTSTAMP:20240501T000000Z
DTSTART:20240516T190000
DTEND:20240516T210000
SUMMARY:Glaze night
END:VEVENT
END:VCALENDAR
"""
TOOLS = [Tool("get_event", "Look up an event"), Tool("play_music", "Play a song")]


@pytest.fixture
def calendar(tmp_path: Path) -> Path:
    path = tmp_path / "mine.ics"
    path.write_text(CALENDAR, encoding="utf-8")
    return path


def test_files_are_imported_into_a_temporary_store(calendar: Path, word_embedder: Embedder) -> None:
    tuner = Tuner.from_files([calendar], embedder=word_embedder, method="semantic")
    assert [hit.item.title for hit in tuner.context(Request("glaze", "me", NOON))] == ["Glaze night"]


def test_store_can_be_a_path_or_a_store(calendar: Path, tmp_path: Path, word_embedder: Embedder) -> None:
    options: dict[str, Any] = {"embedder": word_embedder, "method": "bm25", "user": "ines"}
    Tuner.from_files([str(calendar)], store=tmp_path / "me.db", **options)
    with SQLiteStore(tmp_path / "me.db") as store:
        assert [item.title for item in store.items("ines")] == ["Glaze night"]
        tuner = Tuner.from_files([calendar], store=store, **options)
        assert len(tuner.context(Request("glaze", "ines", NOON))) == 1


def test_nothing_to_import_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.bin").write_bytes(b"\0\1\2")
    with pytest.raises(InvalidDataError, match=r"nothing was imported from .*empty\.bin: "):
        Tuner.from_files([tmp_path / "empty.bin"])


def test_async_variants_give_the_same_and_leave_the_event_loop_free(
    store: SQLiteStore, word_embedder: Embedder
) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", [Item.event(id="c1", name="Glaze night", start="2024-05-16T19:00")])
    main = threading.get_ident()
    threads: set[int] = set()

    class Recorder:
        name = word_embedder.name

        def embed(self, texts: Any) -> Any:
            threads.add(threading.get_ident())
            return word_embedder.embed(texts)

    request = Request("When is the glaze night event?", "ines", NOON)
    expected = Tuner(store, embedder=word_embedder, tools=TOOLS).answer(request, max_tools=1)
    tuner = Tuner(store, embedder=Recorder(), tools=TOOLS)
    threads.clear()  # the tools are embedded by the constructor

    async def everything() -> None:
        assert await tuner.acontext(request, 5) == list(expected.context)
        assert (await tuner.atools(request, 1)).hits == expected.tools
        assert (await tuner.aanswer(request, max_tools=1)).plan == expected.plan

    asyncio.run(everything())
    assert threads
    assert main not in threads

"""A catalogue that outlives the run: what was added, what changed, and what need not be embedded again."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.counting_embedder import Counting

from contextune.embed import Embedder
from contextune.errors import InvalidDataError, StoreError
from contextune.store import SQLiteStore, text_digest
from contextune.tools import Catalog, bundled_toolbox
from contextune.tools.catalog_file import CATALOG_FILE, CatalogDiff, CatalogFile
from contextune.tools.index import ToolIndex
from contextune.tools.tool_text import tool_text
from contextune.types import Annotations, Tool

SCHEMA = {"type": "object", "properties": {"to": {"type": "string", "enum": ["a", None, 1.5, "é"]}}}
SEND = Tool("send", "Sends a mail.", app="Mail", parameters=SCHEMA, examples=("Write to Ana",))
READ = Tool(
    "read", "Reads mail.", app="Mail", title="Read", about="Mail.", annotations=Annotations(read_only=True)
)
CALL = Tool("call", "Calls somebody.", app="Phone")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tools.db"


@pytest.fixture
def shelf(path: Path) -> Iterator[CatalogFile]:
    with CatalogFile(path) as shelf:
        yield shelf


def test_tools_come_back_as_they_were_in_the_order_they_came(path: Path) -> None:
    odd = Tool("odd", "half a \ud800 character", parameters={"default": [True, None, {"a": 1}]})
    tools = [CALL, SEND, READ, odd, *bundled_toolbox()]
    with CatalogFile(path) as shelf:
        assert len(shelf.catalog()) == 0
        shelf.put(tools, "one")
    with CatalogFile(path) as shelf:
        assert list(shelf.catalog()) == tools


def test_a_source_put_again_replaces_what_it_had(shelf: CatalogFile) -> None:
    assert shelf.put([SEND, READ], "mail.json") == CatalogDiff(added=("Mail/send", "Mail/read"))
    shelf.put([CALL], "phone.json")
    assert shelf.put([SEND, READ], "mail.json") == CatalogDiff(unchanged=("Mail/send", "Mail/read"))
    better = replace(SEND, description="Sends an email.")
    new = Tool("move", "Moves mail.", app="Mail")
    changes = shelf.put([new, better], "mail.json")
    assert changes == CatalogDiff(added=("Mail/move",), changed=("Mail/send",), removed=("Mail/read",))
    assert list(shelf.catalog()) == [better, CALL, new]
    assert shelf.sources() == {"mail.json": ("Mail/send", "Mail/move"), "phone.json": ("Phone/call",)}


def test_servers_that_could_not_be_asked_keep_their_tools(shelf: CatalogFile) -> None:
    shelf.put([SEND, CALL], "mcp.json")
    assert shelf.put([SEND], "mcp.json", keep=["Phone"]).removed == ()
    assert shelf.put([SEND], "mcp.json").removed == ("Phone/call",)


def test_an_id_of_another_source(shelf: CatalogFile) -> None:
    shelf.put([SEND], "one.json")
    assert shelf.put([SEND, CALL], "two.json") == CatalogDiff(added=("Phone/call",), unchanged=("Mail/send",))
    assert shelf.sources() == {"two.json": ("Mail/send", "Phone/call")}
    other = replace(SEND, description="Sends a parcel.")
    changes = shelf.put([other, READ], "three.json")
    assert changes.added == ("Mail/read",)
    (refused,) = changes.refused
    assert refused.name == "Mail/send"
    assert "two.json" in refused.reason
    assert shelf.catalog().tool("send") == SEND


def test_removing(shelf: CatalogFile) -> None:
    shelf.put([SEND, READ, CALL], "one")
    assert shelf.remove(["Mail/send"]) == ("Mail/send",)
    with pytest.raises(InvalidDataError, match="no tool 'Mail/send'"):
        shelf.remove(["Phone/call", "Mail/send"])
    with pytest.raises(InvalidDataError, match="no server 'Fax'"):
        shelf.remove(server="Fax")
    assert shelf.remove(server="Mail") == ("Mail/read",)
    assert list(shelf.catalog()) == [CALL]
    shelf.remove(["Phone/call"])
    assert shelf.sources() == {}


def test_only_new_texts_are_embedded(path: Path, word_embedder: Embedder) -> None:
    embedder = Counting(word_embedder)

    def built(shelf: CatalogFile) -> ToolIndex:
        embedder.texts.clear()
        return ToolIndex.build(shelf.catalog(), embedder, shelf=shelf)

    tools = bundled_toolbox()
    with CatalogFile(path) as shelf:
        shelf.put(tools, "box")
        first = built(shelf)
        examples = {said for tool in tools for said in tool.examples}
        assert sorted(embedder.texts) == sorted([*map(tool_text, tools), *examples])
    with CatalogFile(path) as shelf:
        again = built(shelf)
        assert embedder.texts == []
        assert np.array_equal(again.vectors, first.vectors)
        assert again.examples is not None
        assert first.examples is not None
        assert np.array_equal(again.examples, first.examples)
        better = replace(tools[3], description="Does something else.")
        rest = replace(tools[4], parameters={"type": "object"})  # not in the text that is embedded
        shelf.put([*tools[:3], better, rest, *tools[5:]], "box")
        built(shelf)
        assert embedder.texts == [tool_text(better)]


def test_vectors_of_texts_that_are_gone_are_dropped(shelf: CatalogFile, word_embedder: Embedder) -> None:
    def kept(*tools: Tool) -> int:
        return len(shelf.vectors(word_embedder.name, [text_digest(tool_text(tool)) for tool in tools]))

    shelf.put([SEND, READ, CALL], "one")
    ToolIndex.build(shelf.catalog(), word_embedder, shelf=shelf)
    assert kept(SEND, READ, CALL) == 3
    assert shelf.vectors("another model", [text_digest(tool_text(SEND))]) == {}
    shelf.put([replace(SEND, description="Other."), READ, CALL], "one")
    assert (kept(SEND), kept(READ, CALL)) == (0, 2)
    shelf.put([READ, CALL], "one")
    shelf.remove(["Mail/read"])
    assert (kept(READ), kept(CALL)) == (0, 1)
    shelf.remove(server="Phone")
    assert kept(SEND, READ, CALL) == 0


def test_vectors_of_examples_stay_as_long_as_the_tool_has_them(
    shelf: CatalogFile, word_embedder: Embedder
) -> None:
    digest = text_digest("Write to Ana")
    shelf.put([SEND, CALL], "one")
    ToolIndex.build(shelf.catalog(), word_embedder, shelf=shelf)
    shelf.put([SEND], "one")  # one is gone, and vectors of what nobody has are dropped
    assert digest in shelf.vectors(word_embedder.name, [digest])
    shelf.put([replace(SEND, examples=())], "one")
    assert shelf.vectors(word_embedder.name, [digest]) == {}


def test_many_vectors(shelf: CatalogFile) -> None:
    digests = [text_digest(str(number)) for number in range(1200)]
    shelf.put_vectors("model", {digest: np.full(3, n, np.float32) for n, digest in enumerate(digests)})
    found = shelf.vectors("model", [*digests, b"unknown"])
    assert all(found[digest].tolist() == [n, n, n] for n, digest in enumerate(digests))
    assert len(found) == 1200


def test_what_json_cannot_hold(shelf: CatalogFile) -> None:
    for value in ({1, 2}, float("nan"), b"x"):
        with pytest.raises(InvalidDataError, match="'odd': JSON cannot hold"):
            shelf.put([SEND, Tool("odd", "", parameters={"default": value})], "one")
    with pytest.raises(InvalidDataError, match="half a character"):
        shelf.put([Tool("a\ud800", "")], "one")
    with pytest.raises(InvalidDataError, match="two different tools"):
        shelf.put([SEND, replace(SEND, description="x")], "one")
    assert len(shelf.catalog()) == 0


def test_threads_share_it(shelf: CatalogFile) -> None:
    def work(number: int) -> int:
        shelf.put([Tool("one", "", app=str(number)), Tool("two", "", app=str(number))], f"source {number}")
        shelf.put_vectors("m", {text_digest(str(number)): np.ones(4, np.float32)})
        return len(shelf.catalog())

    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(work, range(24)))
    assert len(shelf.catalog()) == 48
    assert all(size % 2 == 0 for size in sizes)


def test_processes_may_make_it_together(path: Path) -> None:
    code = (
        "import sys; from contextune.tools.catalog_file import Shelf; from contextune.types import Tool\n"
        "with Shelf(sys.argv[1]) as shelf: shelf.put([Tool(sys.argv[2], 'x')], sys.argv[2])"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("a", "b", "c")]
    assert [process.wait() for process in running] == [0, 0, 0]
    with CatalogFile(path) as shelf:
        assert {tool.name for tool in shelf.catalog()} == {"a", "b", "c"}


def test_the_file(path: Path) -> None:
    with CatalogFile(path) as shelf:
        assert path.stat().st_mode & 0o077 == 0
        assert path.read_bytes()[68:72] == CATALOG_FILE.application_id.to_bytes(4, "big")
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(StoreError, match="closed"):
        shelf.catalog()
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def refused(path: Path, why: str) -> None:
    before = path.read_bytes()
    beside = sorted(file.name for file in path.parent.iterdir())
    with pytest.raises(StoreError, match=why) as caught:
        CatalogFile(path, timeout=0.5)
    assert path.name in str(caught.value)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == beside


@pytest.mark.parametrize("size", [1, 100, 4096, 100_000])
def test_random_bytes_are_refused(path: Path, size: int) -> None:
    path.write_bytes(random.Random(size).randbytes(size))
    refused(path, r"not a SQLite file|not a catalogue")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_a_database_of_another_program_is_refused(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE tools (id TEXT)")
        connection.execute(f"PRAGMA user_version = {len(CATALOG_FILE.steps)}")
        connection.commit()
    refused(path, "not a catalogue")


def test_a_store_is_no_shelf_and_a_shelf_no_store(path: Path, tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "store.db").close()
    refused(tmp_path / "store.db", "not a catalogue")
    CatalogFile(path).close()
    with pytest.raises(StoreError, match="not a store"):
        SQLiteStore(path)


def test_a_newer_one_is_refused(path: Path) -> None:
    CatalogFile(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(CATALOG_FILE.steps) + 1}")
    refused(path, "pip install -U contextune")


def test_places_where_none_can_be(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        CatalogFile(tmp_path)
    with pytest.raises(StoreError, match="is missing"):
        CatalogFile(tmp_path / "nowhere" / "tools.db")
    with pytest.raises(StoreError, match="name a file"):
        CatalogFile(":memory:")


def test_damage_is_told(path: Path) -> None:
    with CatalogFile(path) as shelf:
        shelf.put([Tool(f"tool_{n}", "x" * 300) for n in range(100)], "one")
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with CatalogFile(path) as shelf, pytest.raises(StoreError, match="damaged"):
        shelf.catalog()


def test_a_catalog_is_one(shelf: CatalogFile) -> None:
    shelf.put([SEND], "one")
    assert isinstance(shelf.catalog(), Catalog)
    assert shelf.catalog().tool("send") == SEND

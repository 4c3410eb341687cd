"""CatalogFile: tools by source, cached vectors, and damaged or foreign files."""

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
from tests.counting_embedder import CountingEmbedder

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
def file(path: Path) -> Iterator[CatalogFile]:
    with CatalogFile(path) as file:
        yield file


def test_tools_are_read_back_unchanged_in_insertion_order(path: Path) -> None:
    odd = Tool("odd", "half a \ud800 character", parameters={"default": [True, None, {"a": 1}]})
    tools = [CALL, SEND, READ, odd, *bundled_toolbox()]
    with CatalogFile(path) as file:
        assert len(file.catalog()) == 0
        file.put(tools, "one")
    with CatalogFile(path) as file:
        assert list(file.catalog()) == tools


def test_put_replaces_the_tools_of_a_source(file: CatalogFile) -> None:
    assert file.put([SEND, READ], "mail.json") == CatalogDiff(added=("Mail/send", "Mail/read"))
    file.put([CALL], "phone.json")
    assert file.put([SEND, READ], "mail.json") == CatalogDiff(unchanged=("Mail/send", "Mail/read"))
    better = replace(SEND, description="Sends an email.")
    new = Tool("move", "Moves mail.", app="Mail")
    changes = file.put([new, better], "mail.json")
    assert changes == CatalogDiff(added=("Mail/move",), changed=("Mail/send",), removed=("Mail/read",))
    assert list(file.catalog()) == [better, CALL, new]
    assert file.sources() == {"mail.json": ("Mail/send", "Mail/move"), "phone.json": ("Phone/call",)}


def test_put_keeps_tools_of_unreachable_servers(file: CatalogFile) -> None:
    file.put([SEND, CALL], "mcp.json")
    assert file.put([SEND], "mcp.json", keep=["Phone"]).removed == ()
    assert file.put([SEND], "mcp.json").removed == ("Phone/call",)


def test_id_of_another_source_is_refused_if_the_tool_differs(file: CatalogFile) -> None:
    file.put([SEND], "one.json")
    assert file.put([SEND, CALL], "two.json") == CatalogDiff(added=("Phone/call",), unchanged=("Mail/send",))
    assert file.sources() == {"two.json": ("Mail/send", "Phone/call")}
    other = replace(SEND, description="Sends a parcel.")
    changes = file.put([other, READ], "three.json")
    assert changes.added == ("Mail/read",)
    (refused,) = changes.refused
    assert refused.name == "Mail/send"
    assert "two.json" in refused.reason
    assert file.catalog().tool("send") == SEND


def test_remove_by_id_and_server(file: CatalogFile) -> None:
    file.put([SEND, READ, CALL], "one")
    assert file.remove(["Mail/send"]) == ("Mail/send",)
    with pytest.raises(InvalidDataError, match="no tool 'Mail/send'"):
        file.remove(["Phone/call", "Mail/send"])
    with pytest.raises(InvalidDataError, match="no server 'Fax'"):
        file.remove(server="Fax")
    assert file.remove(server="Mail") == ("Mail/read",)
    assert list(file.catalog()) == [CALL]
    file.remove(["Phone/call"])
    assert file.sources() == {}


def test_only_new_texts_are_embedded(path: Path, word_embedder: Embedder) -> None:
    embedder = CountingEmbedder(word_embedder)

    def built(file: CatalogFile) -> ToolIndex:
        embedder.texts.clear()
        return ToolIndex.build(file.catalog(), embedder, vector_cache=file)

    tools = bundled_toolbox()
    with CatalogFile(path) as file:
        file.put(tools, "box")
        first = built(file)
        examples = {text for tool in tools for text in tool.examples}
        assert sorted(embedder.texts) == sorted([*map(tool_text, tools), *examples])
    with CatalogFile(path) as file:
        again = built(file)
        assert embedder.texts == []
        assert np.array_equal(again.vectors, first.vectors)
        assert again.examples is not None
        assert first.examples is not None
        assert np.array_equal(again.examples, first.examples)
        better = replace(tools[3], description="Does something else.")
        rest = replace(tools[4], parameters={"type": "object"})  # not in the text that is embedded
        file.put([*tools[:3], better, rest, *tools[5:]], "box")
        built(file)
        assert embedder.texts == [tool_text(better)]


def test_unused_vectors_are_deleted(file: CatalogFile, word_embedder: Embedder) -> None:
    def kept(*tools: Tool) -> int:
        return len(file.vectors(word_embedder.name, [text_digest(tool_text(tool)) for tool in tools]))

    file.put([SEND, READ, CALL], "one")
    ToolIndex.build(file.catalog(), word_embedder, vector_cache=file)
    assert kept(SEND, READ, CALL) == 3
    assert file.vectors("another model", [text_digest(tool_text(SEND))]) == {}
    file.put([replace(SEND, description="Other."), READ, CALL], "one")
    assert (kept(SEND), kept(READ, CALL)) == (0, 2)
    file.put([READ, CALL], "one")
    file.remove(["Mail/read"])
    assert (kept(READ), kept(CALL)) == (0, 1)
    file.remove(server="Phone")
    assert kept(SEND, READ, CALL) == 0


def test_vectors_of_examples_are_kept_while_in_use(file: CatalogFile, word_embedder: Embedder) -> None:
    digest = text_digest("Write to Ana")
    file.put([SEND, CALL], "one")
    ToolIndex.build(file.catalog(), word_embedder, vector_cache=file)
    file.put([SEND], "one")  # a removed tool triggers the deletion of unused vectors
    assert digest in file.vectors(word_embedder.name, [digest])
    file.put([replace(SEND, examples=())], "one")
    assert file.vectors(word_embedder.name, [digest]) == {}


def test_many_vectors(file: CatalogFile) -> None:
    digests = [text_digest(str(number)) for number in range(1200)]
    file.put_vectors("model", {digest: np.full(3, n, np.float32) for n, digest in enumerate(digests)})
    found = file.vectors("model", [*digests, b"unknown"])
    assert all(found[digest].tolist() == [n, n, n] for n, digest in enumerate(digests))
    assert len(found) == 1200


def test_values_that_are_not_json_are_an_error(file: CatalogFile) -> None:
    for value in ({1, 2}, float("nan"), b"x"):
        with pytest.raises(InvalidDataError, match="'odd': its parameters are not JSON"):
            file.put([SEND, Tool("odd", "", parameters={"default": value})], "one")
    with pytest.raises(InvalidDataError, match="lone surrogate"):
        file.put([Tool("a\ud800", "")], "one")
    with pytest.raises(InvalidDataError, match="two different tools"):
        file.put([SEND, replace(SEND, description="x")], "one")
    assert len(file.catalog()) == 0


def test_threads_share_a_catalog_file(file: CatalogFile) -> None:
    def work(number: int) -> int:
        file.put([Tool("one", "", app=str(number)), Tool("two", "", app=str(number))], f"source {number}")
        file.put_vectors("m", {text_digest(str(number)): np.ones(4, np.float32)})
        return len(file.catalog())

    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(work, range(24)))
    assert len(file.catalog()) == 48
    assert all(size % 2 == 0 for size in sizes)


def test_processes_create_a_catalog_file_together(path: Path) -> None:
    code = (
        "import sys; from contextune.types import Tool\n"
        "from contextune.tools.catalog_file import CatalogFile\n"
        "with CatalogFile(sys.argv[1]) as file: file.put([Tool(sys.argv[2], 'x')], sys.argv[2])"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, path, name]) for name in ("a", "b")]
    assert [process.wait() for process in running] == [0, 0]
    with CatalogFile(path) as file:
        assert {tool.name for tool in file.catalog()} == {"a", "b"}


def test_file_permissions_and_header(path: Path) -> None:
    with CatalogFile(path) as file:
        assert path.stat().st_mode & 0o077 == 0
        assert path.read_bytes()[68:72] == CATALOG_FILE.application_id.to_bytes(4, "big")
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    with pytest.raises(StoreError, match="closed"):
        file.catalog()
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def check_refused(path: Path, reason: str) -> None:
    before = path.read_bytes()
    beside = sorted(entry.name for entry in path.parent.iterdir())
    with pytest.raises(StoreError, match=reason) as caught:
        CatalogFile(path, timeout=0.5)
    assert path.name in str(caught.value)
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in path.parent.iterdir()) == beside


@pytest.mark.parametrize("size", [1, 100, 4096, 100_000])
def test_random_bytes_are_an_error(path: Path, size: int) -> None:
    path.write_bytes(random.Random(size).randbytes(size))
    check_refused(path, r"not a SQLite file|not a Contextune catalogue")


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_database_of_another_program_is_an_error(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE tools (id TEXT)")
        connection.execute(f"PRAGMA user_version = {len(CATALOG_FILE.migrations)}")
        connection.commit()
    check_refused(path, "not a Contextune catalogue")


def test_store_and_catalog_file_are_not_interchangeable(path: Path, tmp_path: Path) -> None:
    SQLiteStore(tmp_path / "store.db").close()
    check_refused(tmp_path / "store.db", "not a Contextune catalogue")
    CatalogFile(path).close()
    with pytest.raises(StoreError, match="not a Contextune store"):
        SQLiteStore(path)


def test_newer_version_is_an_error(path: Path) -> None:
    CatalogFile(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {len(CATALOG_FILE.migrations) + 1}")
    check_refused(path, "pip install -U contextune")


def test_invalid_paths_are_errors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        CatalogFile(tmp_path)
    with pytest.raises(StoreError, match="no such folder"):
        CatalogFile(tmp_path / "nowhere" / "tools.db")
    with pytest.raises(StoreError, match="name a file"):
        CatalogFile(":memory:")


def test_damage_is_an_error(path: Path) -> None:
    with CatalogFile(path) as file:
        file.put([Tool(f"tool_{n}", "x" * 300) for n in range(100)], "one")
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)
    with CatalogFile(path) as file, pytest.raises(StoreError, match="damaged"):
        file.catalog()


def test_catalog_returns_a_catalog(file: CatalogFile) -> None:
    file.put([SEND], "one")
    assert isinstance(file.catalog(), Catalog)
    assert file.catalog().tool("send") == SEND

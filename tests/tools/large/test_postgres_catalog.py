"""Catalogues in PostgreSQL with pgvector: same results as in memory, updates, filters, refusals."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from tests.conftest import WordEmbedder
from tests.postgres_server import new_database, vector_server
from tests.program import run
from tests.tools.large.test_stored_index import EMBEDDER, REQUESTS, TOOLS

from contextune.errors import InvalidDataError, StoreError
from contextune.serve.http.observability import ServiceMetrics, Tracer
from contextune.serve.http.requests import ToolsBody, UserBody
from contextune.serve.http.service import Service
from contextune.serve.http.settings import ServiceSettings
from contextune.tools import ToolFilter, ToolRetriever
from contextune.types import Item, ItemHit, Tool

psycopg = pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")

from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: E402  # after the check
from psycopg.sql import SQL, Identifier  # noqa: E402

from contextune.tools.large import postgres_bulk  # noqa: E402
from contextune.tools.large import postgres_schema as sql  # noqa: E402
from contextune.tools.large.pgvector import check_version  # noqa: E402
from contextune.tools.large.postgres import PostgresCatalog  # noqa: E402


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with vector_server() as server, new_database(server) as url:
        yield url


@pytest.fixture(scope="module")
def catalog(url: str) -> Iterator[PostgresCatalog]:
    with PostgresCatalog(url, EMBEDDER) as catalog:
        catalog.put(TOOLS, "all")
        yield catalog


def test_results_are_those_of_an_index_in_memory(catalog: PostgresCatalog) -> None:
    context = [ItemHit(Item("n1", "Notes", {"title": "Kiln"}), 1.0)]
    for method in ("learned", "bm25", "semantic"):
        memory = ToolRetriever(TOOLS, EMBEDDER, method=method)
        shared = ToolRetriever.from_index(catalog, EMBEDDER, method=method)
        for text in REQUESTS:
            expected, result = memory.find(text, 5, context=context), shared.find(text, 5, context=context)
            assert [hit.tool for hit in result.hits[:1]] == [hit.tool for hit in expected.hits[:1]]
            same = {hit.tool.id for hit in result.hits} & {hit.tool.id for hit in expected.hits}
            assert len(same) >= len(expected.hits) - 1, (method, text)
            assert tuple(result.hits[0].reasons) == tuple(expected.hits[0].reasons) if expected.hits else True
    for tool_filter in (ToolFilter(servers=["Reminders work"]), ToolFilter(read_only=True)):
        hits = ToolRetriever.from_index(catalog, EMBEDDER).search("remind me", 200, filter=tool_filter)
        assert {hit.tool for hit in hits} == set(filter(tool_filter, TOOLS))


def test_changes_are_seen_at_once_and_removed_tools_never(catalog: PostgresCatalog, url: str) -> None:
    retriever = ToolRetriever.from_index(catalog, EMBEDDER)
    fire = Tool("fire_kiln", "Fires a kiln.", app="Kiln", examples=("wake the dragon",))
    cool = Tool("cool_kiln", "Cools a kiln.", app="Kiln")
    with PostgresCatalog(url, EMBEDDER) as other:
        assert other.put([fire, cool], "kiln").added == ("Kiln/fire_kiln", "Kiln/cool_kiln")
        assert [hit.tool for hit in retriever.search("wake the dragon", 1)] == [fire]
        better = replace(cool, description="Cools the quagga.")
        diff = other.put([better], "kiln")
        assert (diff.changed, diff.removed) == (("Kiln/cool_kiln",), ("Kiln/fire_kiln",))
        assert other.put([better], "kiln").unchanged == ("Kiln/cool_kiln",)
        assert other.put([replace(better, title="x")], "mine").refused[0].name == "Kiln/cool_kiln"
    assert fire not in [hit.tool for hit in retriever.search("fire_kiln", 20)]
    assert better in [hit.tool for hit in retriever.search("cool the quagga", 3)]
    assert retriever.catalog.tool("cool_kiln") == better
    assert catalog.remove(server="Kiln") == ("Kiln/cool_kiln",)
    with pytest.raises(InvalidDataError, match="no server 'Kiln'"):
        catalog.remove(server="Kiln")
    assert len(retriever.catalog) == len(TOOLS)
    assert {tool.id for tool in retriever.catalog} == {tool.id for tool in TOOLS}


def test_writers_and_readers_work_at_once(catalog: PostgresCatalog) -> None:
    retriever = ToolRetriever.from_index(catalog, EMBEDDER)

    def write(number: int) -> int:
        tools = [Tool(f"fire_{n}", f"Fires kiln {n}.", app=f"Kiln {number}") for n in range(3)]
        for _ in range(3):
            catalog.put(tools, f"kiln {number}")
            catalog.remove(server=f"Kiln {number}")
        return 5

    def read(number: int) -> int:
        return min(len(retriever.search(f"{REQUESTS[n]} {number}", 5)) for n in range(4))

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(job, n) for n in range(2) for job in (write, read)]
        assert [job.result() for job in jobs] == [5] * 4
    words = catalog.read("SELECT word FROM words WHERE tools[4] <> 0 AND word = 'fires'")
    assert words == []
    assert len(retriever.catalog) == len(TOOLS)


def test_many_sources_are_loaded_at_once_or_not_at_all(url: str) -> None:
    def failing() -> Iterator[tuple[str, list[Tool]]]:
        yield "first", TOOLS[:5]
        raise InvalidDataError("no more")

    halves = [("first", TOOLS[:100]), ("second", TOOLS[100:])]
    with new_database(url) as database, PostgresCatalog(database, EMBEDDER) as loaded:
        with pytest.raises(InvalidDataError, match="no more"):
            loaded.load(failing())
        assert (loaded.count(), _indexes(loaded)) == (0, {"tools_by_meaning", "tools_by_word"})
        assert loaded.load(halves) == len(TOOLS)
        assert loaded.load(halves) == 0
        assert (loaded.count(), _indexes(loaded)) == (len(TOOLS), {"tools_by_meaning", "tools_by_word"})
        memory, shared = ToolRetriever(TOOLS, EMBEDDER), ToolRetriever.from_index(loaded, EMBEDDER)
        for text in REQUESTS:
            expected = [hit.tool for hit in memory.search(text, 1)]
            assert [hit.tool for hit in shared.search(text, 1)] == expected


def test_role_that_does_not_own_the_table_adds_many_tools(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_bulk, "_MIN_TOOLS", 10)
    role = f"writer_{uuid4().hex}"
    tools = [Tool(f"fire_{n}", f"Fires kiln {n}.", app="Kiln") for n in range(20)]
    with new_database(url) as database, psycopg.connect(database, autocommit=True) as connection:
        PostgresCatalog(database, EMBEDDER).close()
        connection.execute(SQL("CREATE ROLE {} LOGIN PASSWORD 'hidden'").format(Identifier(role)))
        grants = (
            "GRANT USAGE, CREATE ON SCHEMA {schema} TO {role}; "
            "GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO {role}"
        )
        try:
            connection.execute(SQL(grants).format(schema=Identifier(sql.SCHEMA), role=Identifier(role)))
            name = Identifier(str(conninfo_to_dict(database)["dbname"]))
            connection.execute(SQL("GRANT CREATE ON DATABASE {} TO {}").format(name, Identifier(role)))
            with PostgresCatalog(make_conninfo(database, user=role, password="hidden"), EMBEDDER) as catalog:
                assert len(catalog.put(tools, "kiln").added) == len(tools)
                assert _indexes(catalog) == {"tools_by_meaning", "tools_by_word"}
        finally:
            connection.execute(SQL("DROP OWNED BY {}").format(Identifier(role)))
            connection.execute(SQL("DROP ROLE {}").format(Identifier(role)))


def _indexes(catalog: PostgresCatalog) -> set[str]:
    rows = catalog.read("SELECT indexname FROM pg_indexes WHERE schemaname = 'contextune_tools'")
    return {row[0] for row in rows} & {name for name, _ in sql.SEARCH_INDEXES}


@pytest.mark.usefixtures("catalog")
def test_another_embedder_or_version_is_refused(url: str) -> None:
    other = WordEmbedder()
    other.name = "other"
    with pytest.raises(StoreError, match="of the embedder 'hashed words', not 'other'"):
        PostgresCatalog(url, other)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE contextune_tools.state SET version = 99")
        with pytest.raises(StoreError, match="version 99"):
            PostgresCatalog(url, EMBEDDER)
        connection.execute("UPDATE contextune_tools.state SET version = 1")


def test_old_pgvector_is_refused() -> None:
    check_version("0.8.2", "x")
    with pytest.raises(StoreError, match=r"has pgvector 0\.7\.4: 0\.8 or later is needed.*ALTER EXTENSION"):
        check_version("0.7.4", "the database")


def test_role_that_may_not_create_the_extension_is_told_how(url: str) -> None:
    role = f"plain_{uuid4().hex}"
    with new_database(url) as database, psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL("CREATE ROLE {} LOGIN PASSWORD 'hidden'").format(Identifier(role)))
        try:
            name = Identifier(str(conninfo_to_dict(database)["dbname"]))
            connection.execute(SQL("GRANT CREATE ON DATABASE {} TO {}").format(name, Identifier(role)))
            with pytest.raises(StoreError, match="as a superuser: CREATE EXTENSION vector") as error:
                PostgresCatalog(make_conninfo(database, user=role, password="hidden"), EMBEDDER)
            assert "hidden" not in str(error.value)
            connection.execute(SQL("REVOKE CREATE ON DATABASE {} FROM {}").format(name, Identifier(role)))
        finally:
            connection.execute(SQL("DROP ROLE {}").format(Identifier(role)))


def test_commands_take_the_url_of_a_catalogue(url: str) -> None:
    with new_database(url) as database:
        empty = run("tools", "search", "send an e-mail", "--catalog", database)
        assert (empty.returncode, "is empty" in empty.stderr) == (2, True)
        added = run("tools", "add", "--bundled", "--catalog", database)
        assert "59 added" in added.stdout, added.stderr
        found = run("tools", "search", "send an e-mail", "-k", 1, "--catalog", database)
        assert "mail" in found.stdout.lower()
        assert run("tools", "list", "--catalog", database).returncode == 2


def test_service_searches_a_catalogue_in_postgres(url: str, tmp_path: Path) -> None:
    with new_database(url) as database:
        run("tools", "add", "--bundled", "--catalog", database)
        settings = ServiceSettings(tmp_path / "s.db", tmp_path / "t.json", database)
        assert ServiceSettings.from_json(settings.to_json()) == settings
        service = Service(settings, ServiceMetrics(lambda: 0), Tracer(), lambda _done, _total: None)
        try:
            service.put_me("ana", UserBody.model_validate({}))
            found = service.tools("ana", ToolsBody.model_validate({"text": "send an e-mail", "k": 1}))
            assert len(found["tools"]) == 1
        finally:
            service.close()


def test_password_of_an_unreachable_catalogue_is_not_printed() -> None:
    name = "postgresql://ana:hidden@127.0.0.1:1/x"
    for words in (("tools", "search", "x"), ("tools", "list"), ("serve",), ("tools", "index", "info")):
        done = run(*words, "--catalog", name)
        assert done.returncode == 2
        assert "hidden" not in done.stdout + done.stderr

# pyright: reportPrivateUsage=false
"""PostgreSQL: row-level security, migrations under a lock, and faults of the server."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, LiteralString
from uuid import uuid4

import numpy as np
import pytest
from tests.postgres_server import new_database

from contextune.errors import InvalidDataError, StoreError, UnknownUserError
from contextune.store import open_store
from contextune.types import Item, User

psycopg = pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")

from psycopg.conninfo import conninfo_to_dict, make_conninfo  # noqa: E402  # after the check
from psycopg.sql import SQL, Identifier  # noqa: E402

from contextune.store.postgres import PostgresStore, migrate, schema  # noqa: E402


def note(name: str, title: str = "") -> Item:
    return Item(name, "Notes", {"title": title})


@pytest.fixture
def ana(postgres_url: str) -> Iterator[PostgresStore]:
    with PostgresStore(postgres_url, timeout=10) as store:
        for user in ("ana", "rui"):
            store.put_user(User(user))
            store.put_items(user, [note("1", f"of {user}")])
        yield store


OLD_PUT_ITEM_VECTORS = """
    INSERT INTO contextune.portraits (owner, item, model, digest, vector) VALUES (1, '1', 'm', 'digest', %s)
    ON CONFLICT (owner, item, model) DO UPDATE SET digest = excluded.digest, vector = excluded.vector"""
"""As the fourth version writes them."""


def query(store: PostgresStore, statement: LiteralString, **user: str) -> list[Any]:
    """Rows that a transaction of the store sees; with the settings of a user, or without."""
    with store._transaction("BEGIN") as connection:
        for name, value in user.items():
            connection.execute("SELECT set_config(%s, %s, true)", (f"contextune.{name}", value))
        return connection.execute(statement).fetchall()


@pytest.mark.parametrize(
    "table",
    [
        "users",
        "user_ids",
        "items",
        "items_3",
        "uses",
        "vectors",
        "item_vectors",
        "item_vectors_3",
        "feedback",
        "secrets",
        "tokens",
        "rates",
    ],
)
def test_query_without_a_user_returns_nothing(ana: PostgresStore, table: LiteralString) -> None:
    assert query(ana, f"SELECT * FROM {table}") == []  # a fixed name


def test_query_sees_only_rows_of_its_user(ana: PostgresStore) -> None:
    key = query(ana, "SELECT key FROM users", user="ana")[0][0]
    assert query(ana, "SELECT fields FROM items", key=str(key)) == [('{"title":"of ana"}',)]
    assert query(ana, "UPDATE items SET app = 'x' RETURNING fields", key=str(key)) == [
        ('{"title":"of ana"}',)
    ]
    with pytest.raises(StoreError, match="InsufficientPrivilege"):
        query(ana, "INSERT INTO items VALUES (99, 'a', 'b', 'c', 1) RETURNING id", key=str(key))


def test_listing_users_shows_their_ids_only(ana: PostgresStore) -> None:
    assert query(ana, "SELECT * FROM user_ids ORDER BY id", list="ids") == [("ana",), ("rui",)]
    for table in ("users", "items", "uses", "vectors", "item_vectors", "feedback", "tombstones"):
        assert query(ana, f"SELECT * FROM {table}", list="ids") == [], table  # a fixed name


def test_listing_users_changes_nothing(ana: PostgresStore) -> None:
    assert query(ana, "DELETE FROM user_ids RETURNING id", list="ids") == []
    assert query(ana, "UPDATE user_ids SET id = 'x' RETURNING id", list="ids") == []
    with pytest.raises(StoreError, match="InsufficientPrivilege"):
        query(ana, "INSERT INTO user_ids VALUES ('eve') RETURNING id", list="ids")
    ana.forget("ana")
    ana.put_user(User("ana"))
    assert ana.users() == ["ana", "rui"]
    ana.forget("ana")
    assert ana.users() == ["rui"]


def earlier_version(url: str, version: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        migrate.prepare(connection, "the store", schema.MIGRATIONS[:version])


def test_users_of_an_earlier_version_are_listed(postgres_url: str, plain_role: str) -> None:
    earlier_version(plain_role, 3)
    with psycopg.connect(postgres_url) as connection:  # as superuser, beside the policies
        connection.execute(
            "INSERT INTO contextune.users (id, profile, places, contacts) VALUES ('ana', '{}', '{}', '{}')"
        )
        connection.execute("GRANT SELECT ON contextune.users TO pg_monitor")
    with PostgresStore(plain_role) as store:
        assert store.users() == ["ana"]
    with psycopg.connect(postgres_url) as connection:
        granted = connection.execute(
            "SELECT has_table_privilege('pg_monitor', 'contextune.user_ids', 'SELECT')"
        ).fetchone()
    assert granted == (True,)


def test_item_vectors_of_an_earlier_version_are_kept(postgres_url: str, plain_role: str) -> None:
    earlier_version(plain_role, 4)
    vector = np.array([0.5, -1.0], np.float32)
    with psycopg.connect(postgres_url) as connection:  # as superuser, beside the policies
        connection.execute(
            "INSERT INTO contextune.users (id, profile, places, contacts) VALUES ('ana', '{}', '{}', '{}')"
        )
        connection.execute("INSERT INTO contextune.items VALUES (1, '1', 'Notes', '{}', 1)")
        connection.execute(OLD_PUT_ITEM_VECTORS, (vector.tobytes(),))
        connection.execute("GRANT SELECT ON contextune.portraits TO pg_monitor")
    with PostgresStore(plain_role) as store:
        (stored,) = store.enriched_vectors("ana", "m").values()
        assert (stored[0], stored[1].tolist()) == (b"digest", [0.5, -1.0])
        names = "SELECT relname FROM pg_class WHERE relname LIKE 'portraits%' AND relkind IN ('r', 'p')"
        assert query(store, names) == []
    with psycopg.connect(postgres_url) as connection:
        granted = connection.execute(
            "SELECT has_table_privilege('pg_monitor', 'contextune.portraits', 'SELECT')"
        ).fetchone()
    assert granted == (True,)


def test_process_of_an_earlier_version_goes_on_with_item_vectors(plain_role: str) -> None:
    with PostgresStore(plain_role) as store:
        for user in ("ana", "rui"):
            store.put_user(User(user))
            store.put_items(user, [note("1", "tea")])
            store.put_enriched_vectors(user, "m", {"1": (b"old", np.zeros(2, np.float32))})
        vector = np.array([0.5, -1.0], np.float32)
        with store._writing("ana") as (connection, key):
            assert key == 1
            connection.execute(OLD_PUT_ITEM_VECTORS, (vector.tobytes(),))
            assert connection.execute("SELECT owner, digest FROM portraits").fetchall() == [(1, b"digest")]
        assert store.enriched_vectors("ana", "m")["1"][1].tolist() == [0.5, -1.0]
        assert store.enriched_vectors("rui", "m")["1"][0] == b"old"


def test_setting_of_a_user_ends_with_the_transaction(ana: PostgresStore) -> None:
    ana.items("ana")
    for _ in range(9):  # whichever connection of the pool
        assert query(ana, "SELECT * FROM items") == []


def test_newer_schema_is_refused_unchanged(ana: PostgresStore, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("INSERT INTO contextune.migrations (version) VALUES (99)")
    with pytest.raises(StoreError, match=r"version 99, written by a newer Contextune.*pip install -U"):
        PostgresStore(postgres_url)
    assert ana.items("ana") == [note("1", "of ana")]


def test_vectors_are_stored_uncompressed_in_every_partition(ana: PostgresStore, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(
            "SELECT attstorage, count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid "
            "WHERE attname = 'vector' AND relnamespace = 'contextune'::regnamespace "
            "AND relkind IN ('r', 'p') GROUP BY attstorage"
        ).fetchall()
    assert rows == [("e", 2 * (1 + schema.PARTITIONS))]


def test_migrations_use_no_syntax_newer_than_postgres_15() -> None:
    statements = [statement for migration in schema.MIGRATIONS for statement in migration]
    assert not [text for text in statements if text.startswith("CREATE TABLE") and " STORAGE " in text]


@pytest.fixture
def plain_role(postgres_url: str) -> Iterator[str]:
    """The URL of the database for a role that is no superuser and may create schemas in it."""
    name = f"plain_{uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(Identifier(name)))
        database = Identifier(connection.info.dbname)
        grant = SQL("GRANT CREATE ON DATABASE {} TO {}")
        connection.execute(grant.format(database, Identifier(name)))
        yield make_conninfo(postgres_url, user=name, password="secret")
        with connection.transaction():
            connection.execute(SQL("REASSIGN OWNED BY {} TO CURRENT_USER").format(Identifier(name)))
            connection.execute(SQL("DROP OWNED BY {}").format(Identifier(name)))
        connection.execute(SQL("DROP ROLE {}").format(Identifier(name)))


def test_superuser_opens_a_store_that_a_plain_role_has_made(postgres_url: str, plain_role: str) -> None:
    with PostgresStore(plain_role) as store:
        store.put_user(User("ana"))
    with PostgresStore(postgres_url) as store:
        assert store.users() == ["ana"]
        assert query(store, "SELECT * FROM users") == []  # row-level security holds for it


def test_plain_role_on_the_tables_of_another_is_told_who_grants_what(
    ana: PostgresStore, postgres_url: str, plain_role: str
) -> None:
    with pytest.raises(StoreError, match=r"tables belong to the role .* as a superuser: GRANT") as error:
        PostgresStore(plain_role)
    statement = str(error.value).partition("as a superuser: ")[2].partition(" (migrations")[0]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(statement)
    with PostgresStore(plain_role) as store:
        assert store.items("ana") == ana.items("ana")
        assert query(store, "SELECT * FROM users") == []


def test_role_that_may_not_create_tables_is_told_so(postgres_url: str, plain_role: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        name = Identifier(str(conninfo_to_dict(plain_role)["user"]))
        revoke = SQL("REVOKE CREATE ON DATABASE {} FROM {}")
        connection.execute(revoke.format(Identifier(connection.info.dbname), name))
    with pytest.raises(StoreError, match=r"may not create the tables; .* GRANT CREATE ON DATABASE"):
        PostgresStore(plain_role)


def test_databases_of_one_server_create_the_role_at_once(
    postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a name that no other test uses; half of the databases see the role only when they create it
    monkeypatch.setattr(migrate, "ROLE", f"role_{uuid4().hex}")
    barrier = threading.Barrier(4)

    def grant(url: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE SCHEMA contextune")
            barrier.wait(30)
            migrate.grant(connection)

    with ExitStack() as stack:
        urls = [stack.enter_context(new_database(postgres_server)) for _ in range(4)]
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(grant, urls))
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(SQL("DROP ROLE {}").format(Identifier(migrate.ROLE)))


def test_several_processes_migrate_at_once(postgres_url: str) -> None:
    def open_it(number: int) -> None:
        with PostgresStore(postgres_url) as store:
            store.put_user(User(str(number)))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(open_it, range(4)))
    with PostgresStore(postgres_url) as store:
        assert store.users() == ["0", "1", "2", "3"]


_KILLED_MIGRATION = """
import os, signal, sys
import psycopg
from contextune.store.postgres import migrate
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    original = connection.execute
    def execute(statement, *arguments):
        if "CREATE TABLE uses" in statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(statement, *arguments)
    connection.execute = execute
    migrate.prepare(connection, "the store")
"""


def test_migration_killed_half_way_is_repeated(postgres_url: str) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED_MIGRATION, postgres_url], check=False)
    assert killed.returncode == -signal.SIGKILL
    with PostgresStore(postgres_url) as store:
        store.put_user(User("ana"))
        assert store.users() == ["ana"]


def test_failed_migration_leaves_the_earlier_version(postgres_url: str) -> None:
    PostgresStore(postgres_url).close()
    broken = ("CREATE TABLE more (a int)", "SELECT nonsense")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        with pytest.raises(psycopg.Error):
            migrate.prepare(connection, "the store", (*schema.MIGRATIONS, broken))
        assert migrate.schema_version(connection, "the store", 99) == len(schema.MIGRATIONS)
        assert connection.execute("SELECT to_regclass('contextune.more')").fetchone() == (None,)


def _end_connections(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_store_reconnects_after_the_server_ended_its_connections(
    ana: PostgresStore, postgres_url: str
) -> None:
    _end_connections(postgres_url)
    assert ana.items("ana") == [note("1", "of ana")]


def test_connection_lost_in_a_write_writes_nothing(ana: PostgresStore, postgres_url: str) -> None:
    revision = ana.revision("ana")

    def write() -> None:
        with ana._writing("ana") as (connection, key):
            connection.execute("DELETE FROM items WHERE owner = %s", (key,))
            _end_connections(postgres_url)
            connection.execute("UPDATE users SET revision = 0 WHERE key = %s", (key,))

    with pytest.raises(StoreError, match="has ended the connection"):
        write()
    assert ana.items("ana") == [note("1", "of ana")]
    assert ana.revision("ana") == revision


def test_unreachable_server_is_a_store_error() -> None:
    with pytest.raises(StoreError, match=r"'nowhere' on 127\.0\.0\.1 cannot be reached") as error:
        open_store("postgresql://somebody:secret@127.0.0.1:1/nowhere")
    assert "secret" not in str(error.value)


def test_refusal_of_the_server_is_quoted(postgres_url: str) -> None:
    url = make_conninfo(postgres_url, dbname="nowhere", password="hidden")
    with pytest.raises(
        StoreError, match='refuses the connection: database "nowhere" does not exist'
    ) as error:
        PostgresStore(url)
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("postgresql://ana:hid den@127.0.0.1/x", "the password contains a character"),
        ("postgresql://ana:%hidden@127.0.0.1/x", "the password contains a character"),
        ("postgresql://ana:a@hidden@127.0.0.1/x", "the password contains a character"),
        ("postgresql://ana:a/hidden@127.0.0.1/x", "the password contains a character"),
        ("postgresql://ana:hidden@127.0.0.1:port/x", "invalid port 'port'"),
        ("postgresql://ana:hidden@127.0.0.1/x?colour=red", 'invalid URI query parameter: "colour"'),
        ("postgresql://ana:hidden@[::1/x", 'matching "]" in IPv6 host'),
        ("dbname=x colour=red password=hidden", 'invalid connection option "colour"'),
    ],
)
def test_malformed_part_of_a_url_is_named_without_the_password(url: str, part: str) -> None:
    with pytest.raises(StoreError, match="is malformed") as error:
        open_store(url)
    assert part in str(error.value)
    assert "hidden" not in str(error.value)
    assert "hidden" not in str(error.value.__cause__ or "")


def test_empty_pool_is_a_store_error(postgres_url: str) -> None:
    with PostgresStore(postgres_url, timeout=1, max_connections=1) as store:
        store.put_user(User("ana"))
        release, entered = threading.Event(), threading.Event()

        def hold() -> None:
            with store._reading("ana"):
                entered.set()
                release.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        entered.wait(30)
        try:
            with pytest.raises(StoreError, match="all 1 connections are in use"):
                store.items("ana")
        finally:
            release.set()
            thread.join()
        assert store.items("ana") == []


def test_text_with_nul_is_refused(ana: PostgresStore) -> None:
    with pytest.raises(InvalidDataError, match="NUL"):
        ana.put_items("ana", [note("a\0b")])
    ana.put_items("ana", [note("2", "a\0b")])  # in a field it is escaped
    assert ana.items("ana", ["2"]) == [note("2", "a\0b")]


def test_forgotten_user_leaves_no_row(ana: PostgresStore, postgres_url: str) -> None:
    ana.delete_items("ana", ["1"])
    ana.forget("ana")
    with pytest.raises(UnknownUserError):
        ana.items("ana")
    with psycopg.connect(postgres_url) as connection:  # as superuser, who sees all rows
        for table in ("users", "items", "tombstones"):
            statement = f"SELECT count(*) FROM contextune.{table}"  # fixed names
            count = connection.execute(statement).fetchone()
            assert count == ((0,) if table == "tombstones" else (1,)), table


def test_closed_store_says_so(ana: PostgresStore) -> None:
    ana.close()
    with pytest.raises(StoreError, match="is closed: open it again"):
        ana.users()

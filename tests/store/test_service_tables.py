"""Tables that the processes of a service share: tokens, rates, notifications; and one quota for all."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from queue import Queue
from time import monotonic
from typing import Any

import pytest
from tests.postgres_server import new_database
from tests.serve.waiting import wait_until

from contextune.errors import LimitError, StoreError
from contextune.serve.http.credentials import StoreCredentials
from contextune.serve.http.errors import ApiError
from contextune.serve.http.settings import ServiceLimits
from contextune.serve.http.tokens import TokenTable
from contextune.store import Quota
from contextune.types import Item, UsageEvent, User

psycopg = pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")

from contextune.store.postgres import PostgresStore  # noqa: E402  # after the check
from contextune.store.postgres.listen import ChangeListener, Notification  # noqa: E402
from contextune.store.postgres.service_tables import (  # noqa: E402
    ServiceTables,
    copy_tokens,
    user_digest,
)


@pytest.fixture
def tables(postgres_url: str) -> Iterator[ServiceTables]:
    with ServiceTables(postgres_url) as tables:
        yield tables


def processes(url: str, **limits: Any) -> list[StoreCredentials]:
    """The credentials of two processes."""
    return [StoreCredentials(ServiceTables(url), ServiceLimits(**limits)) for _ in range(2)]


def status(credentials: StoreCredentials, token: str) -> int:
    """The status that a request with the token gets."""
    try:
        asyncio.run(credentials.admit(token, 1.0))
    except ApiError as error:
        return error.status
    return 200


def test_only_digests_of_tokens_are_stored(tables: ServiceTables, postgres_url: str) -> None:
    tokens = TokenTable(tables)
    secret = tokens.add("ana").split("_", 2)[2]
    with psycopg.connect(postgres_url) as connection:  # as superuser, who sees all rows
        rows = connection.execute("SELECT * FROM contextune.tokens").fetchall()
    assert len(rows) == 1
    assert secret not in str(rows)
    assert [token.user for token in tokens.all()] == ["ana"]


def test_two_processes_share_one_rate_limit(tables: ServiceTables, postgres_url: str) -> None:
    token, other = (TokenTable(tables).add(user) for user in ("ana", "rui"))
    both = processes(postgres_url, rate=0.0001, burst=4)
    assert [status(both[number % 2], token) for number in range(6)] == [200] * 4 + [429] * 2
    assert status(both[0], other) == 200
    for process in both:
        process.close()


def test_leases_do_not_exceed_the_rate_limit(tables: ServiceTables, postgres_url: str) -> None:
    token = TokenTable(tables).add("ana")
    both = processes(postgres_url, rate=10, burst=80)
    start = monotonic()
    admitted = [status(both[number % 2], token) for number in range(150)].count(200)
    assert admitted <= 80 + 10 * (monotonic() - start)
    for process in both:
        process.close()


def test_removed_token_is_refused_without_a_notification(tables: ServiceTables, postgres_url: str) -> None:
    tokens = TokenTable(tables)
    token = tokens.add("ana")
    both = processes(postgres_url)
    assert [status(process, token) for process in both] == [200, 200]
    tokens.remove(tokens.all()[0].id)
    wait_until(lambda: [status(process, token) for process in both] == [401, 401])
    for process in both:
        process.close()


def test_invented_tokens_cost_no_query(tables: ServiceTables) -> None:
    token = TokenTable(tables).add("ana")
    credentials = StoreCredentials(tables, ServiceLimits())
    assert status(credentials, token) == 200
    tables.is_reachable = False  # a query would be answered by 503
    _, token_id, secret = token.split("_", 2)
    for invented in (
        "",
        "ctx",
        "ctx__",
        f"ctx_0123456789abcdef_{secret}",
        f"ctx_{token_id}_wrong",
        "ctx_é_x",
    ):
        assert status(credentials, invented) == 401, invented


class Received:
    """A subscriber that keeps what it gets."""

    def __init__(self) -> None:
        self.events: Queue[Notification | str] = Queue()

    def connected(self) -> None:
        self.events.put("connected")

    def disconnected(self, *, reachable: bool) -> None:
        self.events.put("disconnected" if reachable else "unreachable")

    def notified(self, notification: Notification) -> None:
        self.events.put(notification)

    def tick(self) -> None:
        pass


def test_notifications_name_users_by_digest(tables: ServiceTables, postgres_url: str) -> None:
    received, digest = Received(), user_digest(tables.key(), "ana é")
    listener = ChangeListener(postgres_url, received)
    listener.start()
    assert received.events.get(timeout=60) == "connected"
    tokens = TokenTable(tables)
    tokens.add("ana é")
    with PostgresStore(postgres_url) as store:
        store.put_user(User("ana é"))
        store.put_items("ana é", [Item("1", "Notes", {"title": "secret"})])
        revision = store.revision("ana é").items
        store.put_uses("ana é", [UsageEvent("1", datetime(2024, 5, 13, 9))])  # notifies nobody
        store.forget("ana é")
    tokens.remove(token_id := tokens.all()[0].id)
    messages = [received.events.get(timeout=60) for _ in range(4)]
    assert messages[1:] == [
        Notification("change", digest, revision),
        Notification("forget", digest),
        Notification("token", token_id),
    ]
    listener.close()


def test_listener_reconnects(postgres_url: str) -> None:
    PostgresStore(postgres_url).close()
    received = Received()
    listener = ChangeListener(postgres_url, received)
    listener.start()
    assert received.events.get(timeout=60) == "connected"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert received.events.get(timeout=60) in ("disconnected", "unreachable")
    assert received.events.get(timeout=60) == "connected"
    listener.close()


@pytest.mark.parametrize("payload", ["", "forget", "drop x", "change x y", "change x 1 2"])
def test_foreign_messages_are_ignored(payload: str) -> None:
    notification = Notification.parse(payload)
    assert notification is None or not notification.name


def test_two_processes_share_one_quota(postgres_url: str) -> None:
    def write(number: int) -> bool:
        with PostgresStore(postgres_url, quota=Quota(items=5)) as store:
            try:
                store.put_items("ana", [Item(f"{number}.{part}", "Notes", {}) for part in range(2)])
            except LimitError:
                return False
            return True

    with PostgresStore(postgres_url) as store:
        store.put_user(User("ana"))
        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(write, range(4))) == 2
        assert store.sizes("ana").items == len(store.items("ana")) == 4


def test_copied_tokens_and_rates_hold_in_the_other_store(tables: ServiceTables, postgres_server: str) -> None:
    token, other = (TokenTable(tables).add(user) for user in ("ana", "rui"))
    [process, _] = processes(tables.url, rate=0.001, burst=1)
    assert [status(process, token) for _ in range(2)] == [200, 429]
    with new_database(postgres_server) as url, ServiceTables(url) as target:
        assert [copy_tokens(tables, target) for _ in range(2)] == [2, 2]
        own = TokenTable(target).add("eva")
        [copied, _] = processes(url, rate=0.001, burst=1)
        assert [status(copied, each) for each in (token, other, own)] == [429, 200, 200]
        assert status(copied, f"{other}x") == 401
        [original, _] = processes(tables.url)
        assert status(original, own) == 401
        for each in (copied, original):
            each.close()
    process.close()


def test_other_token_of_the_same_id_is_not_replaced(tables: ServiceTables, postgres_server: str) -> None:
    TokenTable(tables).add("ana")
    [row] = tables.tokens()
    with new_database(postgres_server) as url, ServiceTables(url) as target:
        target.add_token(row._replace(user="rui"))
        with pytest.raises(StoreError, match="another token"):
            copy_tokens(tables, target)
        assert [token.user for token in target.tokens()] == ["rui"]

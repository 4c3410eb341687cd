"""The service on several machines: two processes over one PostgreSQL, and faults of both."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pytest
from tests.paths import ROOT
from tests.postgres_server import RestartableServer, new_database, restartable_server
from tests.serve.conftest import client_with_token, mail, running
from tests.serve.waiting import PATIENCE, free_port, wait_for_port, wait_until
from typer.testing import CliRunner

from contextune.cli import app
from contextune.context.index import UserState
from contextune.serve.http.settings import ServiceLimits
from contextune.serve.http.tokens import TokenTable
from contextune.store import open_store
from contextune_lab.bench.speed.cluster.invalidation import seconds_to_forget, seconds_to_revoke
from contextune_lab.bench.speed.load_client import LoadClient, LoadProfile, LoadRun

pytest.importorskip("psycopg", reason="needs the extra contextune[postgres]")

from contextune.store.postgres.service_tables import ServiceTables  # after the check

pytestmark = pytest.mark.timeout(900)  # the first test starts a server and two replicas
LIMITS = ServiceLimits(
    rate=10_000, burst=10_000, timeout=PATIENCE, waiting=10_000, max_wait=30, head_timeout=PATIENCE
)
MARK = "Zanzibarquartz"


@dataclass
class Cluster:
    """A replica in this process, one in a process of its own, and their database."""

    server: RestartableServer
    store: str
    near: str
    far: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def token(self, user: str) -> str:
        added = CliRunner().invoke(app, ["serve", "token", "add", user, "--store", self.store])
        assert added.exit_code == 0, added.output
        return added.stdout.strip()

    def tokens(self, count: int) -> list[str]:
        with ServiceTables(self.store) as tables:
            return [TokenTable(tables).add(f"user {number}") for number in range(count)]

    def clients(self, user: str) -> tuple[httpx.Client, httpx.Client]:
        token = self.token(user)
        return client_with_token(self.near, token), client_with_token(self.far, token)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    port = free_port()
    with restartable_server() as server, new_database(server.url) as store:
        open_store(store).close()
        command = [sys.executable, "-m", "contextune", "serve", "--store", store, "--port", str(port)]
        command += ["--rate", "10000", "--burst", "10000", "--timeout", "300", "--max-wait", "30"]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            with running(folder, LIMITS, store=store) as live:
                cluster = Cluster(
                    server, store, live.url, f"http://127.0.0.1:{port}", process, folder / "log"
                )

                def started() -> bool:
                    assert process.poll() is None, cluster.log.read_text()
                    return "Application startup complete" in cluster.log.read_text()

                wait_until(started)
                yield cluster
        finally:
            process.kill()
            process.wait()


def states(user: str) -> int:
    """Indexes of the user in the memory of this process."""
    gc.collect()
    return sum(isinstance(each, UserState) and each.index.user.id == user for each in gc.get_objects())


def context(client: httpx.Client, text: str = f"Where is {MARK}?") -> list[str]:
    reply = client.post("/v1/context", json={"text": text, "time": "2024-05-16T17:40"})
    assert reply.status_code == 200, reply.text
    return [hit["item"]["id"] for hit in reply.json()["context"]]


def test_change_in_one_process_is_seen_by_the_other(cluster: Cluster) -> None:
    near, far = cluster.clients("ana")
    assert near.put("/v1/me", json={}).is_success
    assert near.put("/v1/items", json={"items": [mail("1", MARK)]}).is_success
    assert context(far) == context(near) == ["1"]
    assert far.put("/v1/items", json={"items": [mail("2", MARK)]}).is_success
    assert sorted(context(near)) == ["1", "2"]


def test_forgotten_user_leaves_the_memory_of_the_other_process(cluster: Cluster) -> None:
    near, far = cluster.clients("perla")
    assert near.put("/v1/me", json={}).is_success
    assert near.put("/v1/items", json={"items": [mail("1", MARK)]}).is_success
    assert context(near) == ["1"]
    assert states("perla") == 1
    assert far.delete("/v1/me").status_code == 204
    wait_until(lambda: states("perla") == 0)
    assert near.get("/v1/me").status_code == 404
    log = cluster.log.read_text()
    assert MARK not in log
    assert "perla" not in log


def test_removed_token_is_refused_by_both(cluster: Cluster) -> None:
    token = cluster.token("otto")
    near, far = client_with_token(cluster.near, token), client_with_token(cluster.far, token)
    assert [client.put("/v1/me", json={}).status_code for client in (near, far)] == [204, 204]
    token_id = token.split("_")[1]
    removed = CliRunner().invoke(app, ["serve", "token", "remove", token_id, "--store", cluster.store])
    assert removed.exit_code == 0
    wait_until(lambda: [client.get("/v1/me").status_code for client in (near, far)] == [401, 401])
    listed = CliRunner().invoke(app, ["serve", "token", "list", "--store", cluster.store])
    assert token_id not in listed.stdout


def test_benchmark_times_forgetting_and_revoking(cluster: Cluster) -> None:
    ports = [int(url.rpartition(":")[2]) for url in (cluster.near, cluster.far)]
    client = LoadClient("lea", cluster.token("lea"), ({"text": f"Where is {MARK}?"},))
    with client_with_token(cluster.near, client.token) as near:
        assert near.put("/v1/me", json={}).is_success
        assert near.put("/v1/items", json={"items": [mail("1", MARK)]}).is_success
    load = LoadRun(ports, [replace(client, item="1")], LoadProfile(20, 2, writes=0.5)).run()
    assert (load.failures, load.bytes_sent > 0, load.bytes_received > 0) == (0, True, True)
    with client_with_token(cluster.far, client.token) as far:
        assert far.get("/v1/uses").json()["total"] > 0
        assert far.get("/v1/items").json()["total"] > 1
    assert seconds_to_forget(ports, client) >= 0
    with ServiceTables(cluster.store) as tables:
        assert seconds_to_revoke(ports, client, tables) >= 0
        assert tables.database_bytes() > 0
    with client_with_token(cluster.near, client.token) as near:
        assert near.get("/v1/me").status_code == 401


def test_database_gone_is_503_and_comes_back(cluster: Cluster) -> None:
    near, far = cluster.clients("rui")
    assert near.put("/v1/me", json={}).is_success
    assert near.put("/v1/items", json={"items": [mail("1", MARK)]}).is_success
    assert context(near) == context(far) == ["1"]
    cluster.server.crash()
    for client in (near, far):
        for _ in range(2):
            reply = client.put("/v1/items", json={"items": [mail("2", MARK), mail("3", MARK)]})
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "store")
            assert reply.headers["Retry-After"]
        assert client.get("/health").status_code == 503
        assert client.get("/live").status_code == 200
    cluster.server.start()
    for client in (near, far):
        wait_until(lambda client=client: client.get("/health").status_code == 200)
        assert context(client) == ["1"]  # nothing of the refused writes


def test_database_that_hangs_is_503_and_comes_back(cluster: Cluster) -> None:
    near, far = cluster.clients("noa")
    assert near.put("/v1/me", json={}).is_success
    assert near.put("/v1/items", json={"items": [mail("1", MARK)]}).is_success
    assert context(near) == context(far) == ["1"]
    with cluster.server.hanging():
        # a service that waited for the database would wait for as long as the test does
        for client in (near, far):
            waiting = [Thread(target=client.get, args=("/v1/items",)) for _ in range(4)]
            for thread in waiting:
                thread.start()
            for call in (client.get("/health"), client.get("/v1/me"), client.get("/health")):
                assert (call.status_code, call.json()["error"]["code"]) == (503, "store")
                assert call.headers["Retry-After"]
            for thread in waiting:
                thread.join()
            assert client.get("/live").status_code == 200
    for client in (near, far):
        wait_until(lambda client=client: client.get("/health").status_code == 200)
        assert context(client) == ["1"]


@dataclass
class Proxy:
    url: str
    log: Path


@pytest.fixture(scope="module")
def proxy(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy (nginx) with the configuration of the deployment, in front of both replicas."""
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    folder.chmod(0o777)  # workers run as another user
    text = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    for number, url in (("1", cluster.near), ("2", cluster.far)):
        text = text.replace(f"contextune-{number}:8765", url.removeprefix("http://"))
    text = text.replace("listen 8080", f"listen 127.0.0.1:{port}").replace("/tmp/", f"{folder}/")
    text = text.replace("/dev/stdout", f"{folder}/log")
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    command = [program, "-c", str(folder / "nginx.conf"), "-e", "stderr", "-g", "daemon off;"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_for_port(port, process)
    yield Proxy(f"http://127.0.0.1:{port}", folder / "log")
    process.terminate()
    process.wait()


def test_proxy_sends_a_user_to_one_replica(cluster: Cluster, proxy: Proxy) -> None:
    def replicas(tokens: list[str], **headers: str) -> list[str]:
        before = len(proxy.log.read_text().splitlines())
        for token in tokens:
            with client_with_token(proxy.url, token) as client:
                client.get("/v1/me", headers=headers)
        wait_until(lambda: len(proxy.log.read_text().splitlines()) == before + len(tokens))
        return [json.loads(line)["replica"] for line in proxy.log.read_text().splitlines()[before:]]

    users = cluster.tokens(12)
    first = replicas(users)
    assert replicas(users) == first
    assert len(set(first)) == 2
    assert len(set(replicas(users, **{"X-Contextune-Route": "one user"}))) == 1
    with client_with_token(proxy.url, users[0]) as client:
        assert [client.get(path).status_code for path in ("/metrics", "/live", "/health")] == [404, 404, 200]


def test_replica_killed_in_its_writes_leaves_whole_ones(cluster: Cluster) -> None:
    near, far = cluster.clients("eva")
    assert near.put("/v1/me", json={}).is_success
    killed, answered = Event(), [0]

    def write() -> None:
        with suppress(httpx.TransportError):
            for number in range(10_000):
                items = [mail(f"{number}.{part}", "Kiln") for part in range(50)]
                body: dict[str, Any] = {"items": items}
                answered[0] += far.put("/v1/items", json=body).is_success
                if killed.is_set():
                    return

    thread = Thread(target=write)
    thread.start()
    wait_until(lambda: answered[0] >= 2)
    os.kill(cluster.process.pid, signal.SIGKILL)
    killed.set()
    thread.join()
    assert near.put("/v1/items", json={"items": [mail("new", MARK)]}).is_success  # waits for no lock
    total = near.get("/v1/items").json()["total"]
    assert total % 50 == 1
    assert total >= 50 * answered[0]


def test_proxy_goes_on_without_a_killed_replica(cluster: Cluster, proxy: Proxy) -> None:
    assert cluster.process.wait() == -signal.SIGKILL, "killed by the test before"
    for token in cluster.tokens(8):  # half of them had their data there
        with client_with_token(proxy.url, token) as client:
            assert client.put("/v1/me", json={}).status_code == 204

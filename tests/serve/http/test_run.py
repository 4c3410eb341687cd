"""`contextune serve` as a program: worker processes, logs, metrics, spans and shutdown."""

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.conftest import client_with_token, mail
from tests.serve.waiting import PATIENCE, free_port, wait_until
from typer.testing import CliRunner

from contextune.cli import app
from contextune.errors import InvalidRequestError
from contextune.serve.http.observability import JsonFormatter
from contextune.serve.http.tokens import TokenFile

MARK = "Zanzibarquartz"
"""Personal data: must not appear in logs, metrics, spans or errors."""
PROGRAM = Path(sys.executable).with_name("contextune")
ASKED = 24
"""Requests to /v1/ask that `traffic` makes."""


class Collector(BaseHTTPRequestHandler):
    """An OpenTelemetry collector that keeps what it receives."""

    received: list[bytes] = []  # noqa: RUF012  # shared by all requests

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # signature of the base class
        pass


SLOW_START = """
import sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    time.sleep(6)
"""
"""A `sitecustomize` module that delays worker processes, as a slow machine does."""


@dataclass
class Program:
    process: "subprocess.Popen[bytes]"
    folder: Path
    url: str
    tokens: list[str]

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def connect(self) -> socket.socket:
        address = urlsplit(self.url)
        return socket.create_connection((address.hostname or "", address.port or 0), PATIENCE)


@pytest.fixture(scope="module")
def collector() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, collector: str) -> Iterator[Program]:
    """The program with two workers; all tests of this module share it."""
    folder = tmp_path_factory.mktemp("program")
    files = ["--tokens", str(folder / "tokens.json")]
    added = CliRunner().invoke(app, ["serve", "token", "add", MARK, *files], catch_exceptions=False)
    tokens = [added.stdout.strip(), TokenFile(folder / "tokens.json").add("otto")]
    port = free_port()
    options = ["--store", str(folder / "store.db"), "--port", str(port), "--workers", "2", *files]
    options += ["--timeout", str(PATIENCE), "--max-wait", str(PATIENCE)]
    options += ["--head-timeout", str(PATIENCE), "--grace", str(int(PATIENCE))]
    (folder / "slow").mkdir()
    (folder / "slow" / "sitecustomize.py").write_text(SLOW_START)
    path = os.pathsep.join([str(folder / "slow"), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = {
        "PYTHONPATH": path,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector,
        "FASTAPI_OTEL_AUTO_CONFIGURE": "true",
    }
    with (folder / "log").open("wb") as log:
        command = [PROGRAM, "serve", *options]
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **variables})
    program = Program(process, folder, f"http://127.0.0.1:{port}", tokens)

    def started() -> bool:
        assert process.poll() is None, program.log()
        return program.log().count("Application startup complete") == 2

    wait_until(started, program.log)
    yield program
    if process.poll() is None:
        process.kill()
    process.wait()


@pytest.fixture(scope="module")
def traffic(program: Program) -> tuple[list[int], list[int]]:
    """Requests by two users over many connections; the number of items in each answer."""
    request = {"text": f"Where is {MARK}?", "time": "2024-05-16T17:40", "place": MARK}
    for token in program.tokens:
        with client_with_token(program.url, token) as client:
            assert client.put("/v1/me", json={"places": {MARK: [1, 2]}, "profile": {"name": MARK}}).is_success
            assert client.put("/v1/items", json={"items": [mail(MARK, f"{MARK} slots")]}).is_success

    def ask(number: int) -> int:
        with client_with_token(program.url, program.tokens[number % 2]) as client:  # a new connection
            return len(client.post("/v1/ask", json=request).json()["context"])

    with ThreadPoolExecutor(4) as pool:
        before = list(pool.map(ask, range(16)))
        with client_with_token(program.url, program.tokens[0]) as client:
            client.put("/v1/items", json={"items": [mail("other", f"{MARK} again")]})
        after = list(pool.map(ask, range(0, 16, 2)))
    return before, after


@pytest.fixture(scope="module")
def last_response(program: Program, traffic: object) -> bytes:
    """Stops the program; returns the response to a request that was in flight."""
    body = json.dumps({"text": f"Where is {MARK}?", "time": "2024-05-16T17:40"}).encode()
    head = (
        f"POST /v1/context HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {program.tokens[0]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with program.connect() as connection:
        connection.sendall(head.encode())
        assert b"100 Continue" in connection.recv(1000)  # the service is waiting for the body
        program.process.send_signal(signal.SIGTERM)
        wait_until(lambda: "Shutting down" in program.log(), program.log)
        connection.sendall(body)
        response = b""
        while part := connection.recv(65536):
            response += part
    program.process.wait(PATIENCE)
    return response


def test_workers_that_start_slowly_are_not_replaced(program: Program) -> None:
    assert program.log().count("Started server process") == 2
    assert "died" not in program.log()


def test_worker_processes_share_data(traffic: tuple[list[int], list[int]]) -> None:
    before, after = traffic
    assert before == [1] * 16
    assert after == [2] * 8  # an item that one process stored is found by both


def test_foreign_hosts_and_origins_are_refused_on_localhost(program: Program) -> None:
    with client_with_token(program.url, program.tokens[0]) as client:
        for headers in ({"Host": "evil.example.org"}, {"Origin": "http://evil.example.org"}):
            refused = client.get("/v1/me", headers=headers)
            assert (refused.status_code, refused.json()["error"]["code"]) == (421, "unknown_host")
        assert client.get("/v1/me", headers={"Origin": program.url}).status_code != 421


def test_metrics_sum_over_processes(program: Program, traffic: object) -> None:
    metrics = httpx.get(f"{program.url}/metrics", timeout=PATIENCE).text
    assert re.search(rf'contextune_requests_total\{{.*route="/v1/ask",status="200"\}} {ASKED}\.0', metrics)
    assert MARK not in metrics


def test_logs_have_no_personal_data(program: Program, traffic: object) -> None:
    with client_with_token(program.url, program.tokens[0]) as client:
        headers = {"X-Request-ID": MARK, "User-Agent": MARK, "Referer": MARK, "Cookie": MARK}
        for response in (
            client.get(f"/v1/{MARK}", params={MARK: MARK}, headers=headers),
            client.get("/v1/items", params={"app": MARK, "start": MARK}),
            client.post("/v1/context", json={"text": MARK, "place": f"not {MARK}"}),
            client.post("/v1/context", content=f'{{"text": "{MARK}'.encode()),
            client.post("/v1/feedback", json={"text": MARK, "used": [f"no {MARK}"]}),
            client.request(MARK, f"/{MARK}"),
            client.get("/v1/me", headers={"Authorization": f"Bearer {MARK}"}),
        ):
            assert 400 <= response.status_code < 500
        assert client.post("/v1/feedback", json={"text": MARK, "used": [MARK]}).status_code == 204
    with program.connect() as connection:
        connection.sendall(f"{MARK} {MARK}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert MARK not in httpx.get(f"{program.url}/metrics", timeout=PATIENCE).text
    log = program.log()
    lines = [cast("dict[str, Any]", json.loads(line)) for line in log.splitlines()]
    assert MARK not in log
    assert not [token for token in program.tokens if token in log or token.split("_", 2)[2] in log]
    ask_lines = [line for line in lines if line.get("route") == "/v1/ask"]
    assert len(ask_lines) == ASKED
    assert {"request", "method", "status", "ms", "user", "time", "level"} < {*ask_lines[0]}
    assert len({line["user"] for line in ask_lines}) == 2


def test_shutdown_answers_requests_in_flight(program: Program, last_response: bytes) -> None:
    assert last_response.startswith(b"HTTP/1.1 200")
    assert MARK.encode() in last_response
    assert program.process.returncode in (0, -signal.SIGTERM)
    assert program.log().count("Application shutdown complete") == 2
    assert not (program.folder / "store.db-wal").exists(), "the store was not closed"


@pytest.mark.usefixtures("last_response")  # remaining spans are exported on shutdown
def test_spans_have_routes_and_no_personal_data() -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    assert Collector.received
    spans: list[Any] = []
    for message in Collector.received:
        assert MARK.encode() not in message
        export: Any = ExportTraceServiceRequest.FromString(message)
        spans += [
            span
            for resource in export.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
    routes = [
        attribute.value.string_value
        for span in spans
        for attribute in span.attributes
        if attribute.key == "http.route"
    ]
    assert routes.count("/v1/ask") == ASKED
    parents = {span.name: span.parent_span_id for span in spans}
    assert parents["ask"] in {span.span_id for span in spans}


def test_exceptions_are_logged_without_their_message() -> None:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger("some.library")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        raise ValueError(MARK)
    except ValueError:
        logger.exception("cannot read %s", MARK)
    line = json.loads(stream.getvalue())
    assert MARK not in stream.getvalue()
    assert (line["error"], line["event"], line["from"]) == ("ValueError", "cannot read %s", "some.library")
    assert line["at"][-1].endswith("test_exceptions_are_logged_without_their_message")


def test_warnings_of_the_connection_pool_are_formatted_without_passwords() -> None:
    url = "postgresql://ana:secret@127.0.0.1/x"
    arguments = ("pool-1", f"connection to {url} failed: FATAL: no")
    record = logging.LogRecord(
        "psycopg.pool", logging.WARNING, "", 0, "error connecting in %r: %s", arguments, None
    )
    line = json.loads(JsonFormatter().format(record))
    assert line["event"].startswith("error connecting in 'pool-1': connection to postgresql://ana:***@127")
    assert line["event"].endswith("FATAL: no")


def test_missing_libraries_name_the_extra(tmp_path: Path) -> None:
    libraries = ["fastapi", "starlette", "uvicorn", "prometheus_client", "opentelemetry", "filelock"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({libraries})); from contextune.cli import main; main()"
    )
    tokens = str(tmp_path / "t")
    command = [sys.executable, "-c", code, "serve", "--store", str(tmp_path / "s.db"), "--tokens", tokens]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert "contextune[serve]" in finished.stderr


def test_certificate_without_key_is_an_error(tmp_path: Path) -> None:
    options = ["--certificate", "cert.pem", "--store", str(tmp_path / "s.db")]
    result = CliRunner().invoke(app, ["serve", *options])
    assert isinstance(result.exception, InvalidRequestError)
    assert "--key" in str(result.exception)

"""The program as it is started: two processes, their logs, figures and spans, and how it ends."""

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
from time import monotonic, sleep
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.conftest import mail, with_token

from contextune.serve.http.json_logs import JsonFormatter
from contextune.serve.http.tokens import TokenFile

MARK = "Zanzibarquartz"
PROGRAM = Path(sys.executable).with_name("contextune")


class Collector(BaseHTTPRequestHandler):
    """What spans are sent to."""

    received: list[bytes] = []  # noqa: RUF012  # of all its requests

    def do_POST(self) -> None:
        self.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as it is called there
        pass


@dataclass
class Program:
    process: "subprocess.Popen[bytes]"
    folder: Path
    url: str
    tokens: list[str]

    def log(self) -> str:
        return (self.folder / "log").read_text()


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
    folder = tmp_path_factory.mktemp("program")
    files = ["--tokens", str(folder / "tokens.json")]
    command = [PROGRAM, "serve", "token", "add", MARK, *files]
    added = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    tokens = [added, TokenFile(folder / "tokens.json").add("otto")]
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    options = ["--store", str(folder / "store.db"), "--port", str(port), "--workers", "2", *files]
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector, "FASTAPI_OTEL_AUTO_CONFIGURE": "true"}
    with (folder / "log").open("wb") as log:
        command = [PROGRAM, "serve", *options]
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **told})
    running = Program(process, folder, f"http://127.0.0.1:{port}", tokens)
    end = monotonic() + 120
    while running.log().count("Application startup complete") < 2:
        assert process.poll() is None, running.log()
        assert monotonic() < end, running.log()
        sleep(0.1)
    yield running
    if process.poll() is None:
        process.kill()
    process.wait()


def test_two_processes_answer_as_one(program: Program) -> None:
    asked = {"text": f"Where is {MARK}?", "time": "2024-05-16T17:40", "place": MARK}
    for token in program.tokens:
        with with_token(program.url, token) as client:
            assert client.put("/v1/me", json={"places": {MARK: [1, 2]}, "profile": {"name": MARK}}).is_success
            assert client.put("/v1/items", json={"items": [mail(MARK, f"{MARK} slots")]}).is_success

    def ask(number: int) -> int:
        with with_token(program.url, program.tokens[number % 2]) as client:  # a new connection each time
            found = client.post("/v1/ask", json=asked).json()["context"]
            return len(found)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(16))) == [1] * 16
    # changes made by one process are seen by the other
    with with_token(program.url, program.tokens[0]) as client:
        client.put("/v1/items", json={"items": [mail("other", f"{MARK} again")]})
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(0, 16, 2))) == [2] * 8
    figures = httpx.get(f"{program.url}/metrics").text
    assert re.search(r'contextune_requests_total\{.*route="/v1/ask",status="200"\} 24\.0', figures)
    assert MARK not in figures


def test_logs_hold_nothing_of_anybodys(program: Program) -> None:
    with with_token(program.url, program.tokens[0]) as client:
        strange = {"X-Request-ID": MARK, "User-Agent": MARK, "Referer": MARK, "Cookie": MARK}
        for answer in (
            client.get(f"/v1/{MARK}", params={MARK: MARK}, headers=strange),
            client.get("/v1/items", params={"app": MARK, "start": MARK}),
            client.post("/v1/context", json={"text": MARK, "place": f"not {MARK}"}),
            client.post("/v1/context", content=f'{{"text": "{MARK}'.encode()),
            client.post("/v1/feedback", json={"text": MARK, "used": [f"no {MARK}"]}),
            client.request(MARK, f"/{MARK}"),
            client.get("/v1/me", headers={"Authorization": f"Bearer {MARK}"}),
        ):
            assert 400 <= answer.status_code < 500
        assert client.post("/v1/feedback", json={"text": MARK, "used": [MARK]}).status_code == 204
    address = urlsplit(program.url)
    with socket.create_connection((address.hostname or "", address.port or 0), 30) as line:
        line.sendall(f"{MARK} {MARK}\r\n\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.1 400")
    assert MARK not in httpx.get(f"{program.url}/metrics").text
    log = program.log()
    lines = [cast("dict[str, Any]", json.loads(line)) for line in log.splitlines()]
    assert MARK not in log
    assert not [token for token in program.tokens if token in log or token.split("_", 2)[2] in log]
    asked = [line for line in lines if line.get("route") == "/v1/ask"]
    assert len(asked) == 24
    assert {"request", "method", "status", "ms", "user", "time", "level"} < {*asked[0]}
    assert len({line["user"] for line in asked}) == 2


def test_it_ends_when_what_is_in_flight_has_ended(program: Program) -> None:
    address = urlsplit(program.url)
    body = json.dumps({"text": f"Where is {MARK}?", "time": "2024-05-16T17:40"}).encode()
    head = (
        f"POST /v1/context HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {program.tokens[0]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    with socket.create_connection((address.hostname or "", address.port or 0), 60) as line:
        line.sendall(head.encode())
        assert b"100 Continue" in line.recv(1000)  # it is being read by now
        program.process.send_signal(signal.SIGTERM)
        end = monotonic() + 60
        while program.log().count("Shutting down") < 1:
            assert monotonic() < end, program.log()
            sleep(0.05)
        line.sendall(body)
        answer = b""
        while part := line.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200")
    assert MARK.encode() in answer
    assert program.process.wait(60) in (0, -signal.SIGTERM)
    assert program.log().count("Application shutdown complete") == 2
    assert not (program.folder / "store.db-wal").exists(), "the store was not closed"


def test_spans_tell_of_routes_and_of_nobody(program: Program) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    program.process.wait(60)  # what is left is sent when it ends
    assert Collector.received
    spans: list[Any] = []
    for sent in Collector.received:
        assert MARK.encode() not in sent
        read: Any = ExportTraceServiceRequest.FromString(sent)
        spans += [span for one in read.resource_spans for scope in one.scope_spans for span in scope.spans]
    routes = [
        attribute.value.string_value
        for span in spans
        for attribute in span.attributes
        if attribute.key == "http.route"
    ]
    assert routes.count("/v1/ask") == 24
    stages = {span.name: span.parent_span_id for span in spans}
    assert stages["context"] in {span.span_id for span in spans}


def test_an_exception_is_written_without_its_words() -> None:
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
    assert line["at"][-1].endswith("test_an_exception_is_written_without_its_words")


def test_without_fastapi_it_says_what_to_install(tmp_path: Path) -> None:
    libraries = ["fastapi", "starlette", "uvicorn", "prometheus_client", "opentelemetry"]
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({libraries})); from contextune.cli import main; main()"
    )
    tokens = str(tmp_path / "t")
    command = [sys.executable, "-c", code, "serve", "--store", str(tmp_path / "s.db"), "--tokens", tokens]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "contextune[serve]" in done.stderr


def test_both_halves_of_a_certificate(tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "serve", "--certificate", "cert.pem", "--store", str(tmp_path / "s.db")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--key" in done.stderr

"""Clients that disconnect before they are answered: their questions are dropped, their changes are kept."""

import json
import socket
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import pytest
from tests.serve.conftest import LiveService, mail, running
from tests.serve.waiting import PATIENCE, wait_until

from contextune.serve.http import requests, responses
from contextune.serve.http.service import Service
from contextune.serve.http.tokens import TokenFile


def send(service: LiveService, token: str, method: str, path: str, body: object) -> socket.socket:
    """Send a request without waiting for the response."""
    address = urlsplit(service.url)
    content = json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    connection = socket.create_connection((address.hostname or "", address.port or 0), PATIENCE)
    connection.sendall(head.encode() + content)
    return connection


def test_question_of_an_absent_client_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    started, released = Event(), Event()

    def context(_: Service, user: str, body: requests.ContextBody) -> responses.ContextReply:
        asked.append(body.text)
        started.set()
        released.wait(PATIENCE)
        return {"context": [], "people": [], "words_only": False}

    monkeypatch.setattr(Service, "context", context)
    with running(tmp_path, threads=1) as service:
        token = TokenFile(service.tokens).add("ines")
        with service.client("ines") as client:
            client.put("/v1/me", json={}).raise_for_status()
        first = send(service, token, "POST", "/v1/context", {"text": "first"})
        started.wait(PATIENCE)
        second = send(service, token, "POST", "/v1/context", {"text": "second"})
        change = send(service, token, "PUT", "/v1/items", {"items": [mail("1", "Kiln")]})

        def open_requests(number: int) -> bool:
            with service.anonymous_client() as client:
                return f"contextune_open_requests {number}.0" in client.get("/metrics").text

        wait_until(lambda: open_requests(3))
        second.close()
        change.close()
        wait_until(lambda: open_requests(2))  # the change stays
        with service.anonymous_client() as client:
            assert 'route="/v1/context",status="499"} 1.0' in client.get("/metrics").text
        released.set()
        assert first.recv(100).startswith(b"HTTP/1.1 200")
        first.close()
        with service.client("ines") as client:
            wait_until(lambda: client.get("/v1/items").json()["total"] == 1)
    assert asked == ["first"]

"""Real servers on this machine: Radicale for calendars and contacts, pymap for mail."""

import imaplib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import httpx

USERNAME, PASSWORD = "ines", "open sesame"
_START_SECONDS = 120


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as in the base class
        pass


class DavServer:
    """A Radicale server; counts requests by method."""

    def __init__(self, url: str, methods: list[str]) -> None:
        self.url = url
        self.methods = methods
        self._client = httpx.Client(base_url=url, auth=(USERNAME, PASSWORD), timeout=60)

    def make(self, name: str, kind: str, title: str) -> str:
        """Create a calendar or an address book; its path."""
        spaces = (
            'xmlns="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav" xmlns:A="urn:ietf:params:xml:ns:carddav"'
        )
        element = "C:calendar" if kind == "calendar" else "A:addressbook"
        body = (
            f"<mkcol {spaces}><set><prop><resourcetype><collection/><{element}/></resourcetype>"
            f"<displayname>{title}</displayname></prop></set></mkcol>"
        )
        path = f"/{USERNAME}/{name}/"
        self._client.request("MKCOL", path, content=body).raise_for_status()
        return path

    def put(self, path: str, content: str) -> None:
        """Create or replace a resource."""
        kind = "text/calendar" if path.endswith(".ics") else "text/vcard"
        headers = {"Content-Type": f"{kind}; charset=utf-8"}
        self._client.put(path, content=content.encode(), headers=headers).raise_for_status()

    def delete(self, path: str) -> None:
        """Delete a resource or collection."""
        self._client.delete(path).raise_for_status()


@contextmanager
def dav_server(folder: Path) -> Generator[DavServer]:
    """A running Radicale server."""
    from radicale import config
    from radicale.app import Application

    users = folder / "users"
    users.write_text(f"{USERNAME}:{PASSWORD}\n")
    configuration: Any = config.load()
    configuration.update(
        {
            "auth": {"type": "htpasswd", "htpasswd_filename": str(users), "htpasswd_encryption": "plain"},
            "storage": {"filesystem_folder": str(folder / "collections")},
            "logging": {"level": "critical"},
        },
        "test",
    )
    application: Any = Application(configuration)
    methods: list[str] = []

    def counted(environ: dict[str, Any], start_response: Any) -> Any:
        methods.append(str(environ["REQUEST_METHOD"]))
        return application(environ, start_response)

    server: WSGIServer = make_server("127.0.0.1", 0, counted, handler_class=_QuietHandler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield DavServer(f"http://127.0.0.1:{server.server_port}/", methods)
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def imap_server() -> Generator[int]:
    """A running IMAP server without mails; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    program = "from pymap.main import main; main()"
    options = ["--no-tls", "--host", "127.0.0.1", "--port", str(port)]
    users = ["dict", "--demo-user", USERNAME, "--demo-password", PASSWORD]
    server = subprocess.Popen([sys.executable, "-c", program, *options, *users], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "the IMAP server did not start"
                assert time.monotonic() < deadline, "the IMAP server does not answer"
                time.sleep(0.1)
        yield port
    finally:
        server.kill()
        server.wait()


def imap_connection(port: int) -> imaplib.IMAP4:
    """A connection that may write."""
    connection = imaplib.IMAP4("127.0.0.1", port, timeout=60)
    connection.login(USERNAME, PASSWORD)
    return connection

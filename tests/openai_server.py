"""A local server with the HTTP interface of OpenAI, for tests of clients."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Self

Reply = tuple[int, Any]


class OpenAIServer(ThreadingHTTPServer):
    """Records the body of every request in `asked`; a subclass answers it in `reply`."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []
        self.released = Event()

    def reply(self, body: dict[str, Any]) -> Reply:
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: OpenAIServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append({**body, "path": self.path, "key": self.headers["Authorization"]})
        status, reply = self.server.reply(body)
        content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        html = content.startswith(b"<")
        self.send_header("Content-Type", "text/html" if html else "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it
        """Print no log."""

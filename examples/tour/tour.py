"""A tour of Contextune, from an empty machine to answers: `make tour`.

Everything happens in a temporary home folder with the files of an invented user: set up, import, ask,
converse, look at what is stored, serve it over HTTP, and call a tool of an MCP server through the gateway.
It prints the commands and what they print. Needs the extras `serve` and `mcp`.
"""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError
from urllib.request import Request, urlopen

from home_folder import write_home
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent
from phone_exports import write_exports

PROGRAM = [sys.executable, "-m", "contextune"]
PATIENCE = 300.0
"""Seconds to wait for the service to start."""


QUESTIONS = (
    "When does the glaze night begin?",
    "What did Marta say about the kiln slots?",
    "What does my note about the wifi at the studio say?",
    "When is renewing the library card due?",
    "Who called last?",
    "Which song did I play last?",
    "What's on tomorrow?",
    "When does the boat leave on Sunday?",
    "What is Rui's number?",
    "What is the gate code of the boathouse?",
)


class Completed(NamedTuple):
    """Exit status and output of a command."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[[Sequence[str], Mapping[str, str], Path, str], Completed]
"""Runs a command with its words, environment, folder and input."""


def run_process(words: Sequence[str], env: Mapping[str, str], folder: Path, stdin: str) -> Completed:
    """Run a command in a process of its own."""
    command = [*PROGRAM, *words]
    done = subprocess.run(  # noqa: S603  # our own program
        command, input=stdin, env=env, cwd=folder, capture_output=True, text=True
    )
    return Completed(done.returncode, done.stdout, done.stderr)


def main(run: Run = run_process) -> None:
    """Walk through everything a newcomer does."""
    with tempfile.TemporaryDirectory(prefix="contextune-tour-") as folder:
        tour = Tour(Path(folder), run)
        now = datetime.now()
        write_home(tour.home, now)
        write_exports(tour.home / "phone", now)
        tour.set_up()
        tour.ask()
        tour.look_and_correct()
        tour.use_service()
        asyncio.run(tour.use_gateway())
        tour.forget()


class Tour:
    """Runs commands in a home folder of its own and prints what a person would see."""

    def __init__(self, home: Path, run: Run) -> None:
        self.home = home
        self._run_command = run
        self._env = _environment(home)

    def set_up(self) -> None:
        """Answer the questions of `init` by flags, and import what it finds."""
        self._title("Set up: who you are, and what is on this machine")
        self._run("init", "--yes", "--name", "Ines Duarte", "--email", "ines@example.com",
                  "--zone", "Europe/Lisbon", "--place", "home=41.15,-8.63")  # fmt: skip
        self._title("Import what the phone and the services export")
        self._run("import", "phone")

    def ask(self) -> None:
        """Ask single requests, and converse."""
        self._title("Ask")
        self._run("ask", "Call my brother.", "--why")
        self._title("Ten questions")
        self._run("chat", stdin="\n".join(QUESTIONS) + "\n")
        self._title("Converse")
        self._run("chat", stdin="Read me the last mail from Marta.\nAnd the one before?\n")
        self._run("chat", stdin="Remind me to pack the thermos tomorrow at 7\nthanks\nmake it 8 pm\n")

    def look_and_correct(self) -> None:
        """List, show, correct and count what is stored."""
        self._title("Look at what is stored, and correct it")
        self._run("items", "--app", "Mail")
        self._run("place", "add", "studio", "41.145,-8.611")
        self._run("contact", "list")
        self._run("stats")
        self._run("config", "set", "place", "home")

    def use_service(self) -> None:
        """Ask over HTTP."""
        self._title("Serve it over HTTP")
        token = self._run("serve", "token", "add", "me", quiet=True).strip()
        self._say("(a token, shown once)")
        port = _free_port()
        with self._service(port) as url:
            request = {"text": "When does the glaze night begin?"}
            self._say(f"\n$ curl {url}/v1/ask -H 'Authorization: Bearer …' -d '{json.dumps(request)}'")
            answer = json.loads(_http(f"{url}/v1/ask", token, request))
            plan = answer["plan"]
            values = {name: argument["value"] for name, argument in plan["arguments"].items()}
            self._say(f"{plan['tool']} {json.dumps(values, ensure_ascii=False)}: {plan['decision']}")
            self._say(f"first item: {answer['context'][0]['item']['fields']['event_name']}")
            page = _http(f"{url}/inspector/", token)
            self._say(f"The inspector is at {url}/ ({len(page):,} bytes).")

    async def use_gateway(self) -> None:
        """Find and call a tool of an MCP server."""
        self._title("Tools of MCP servers, through the gateway")
        server = str(Path(__file__).with_name("studio_server.py"))
        config = {"mcpServers": {"studio": {"command": sys.executable, "args": [server]}}}
        (self.home / "mcp.json").write_text(json.dumps(config), encoding="utf-8")
        words = ["mcp", "--user", "me", "--catalog", str(self.home / "mcp.json"), "--policy", "trust=studio"]
        self._say("\n$ contextune mcp --user me --catalog mcp.json --policy trust=studio")
        parameters = StdioServerParameters(
            command=PROGRAM[0], args=[*PROGRAM[1:], *words], env=self._env, cwd=self.home
        )
        with (self.home / "gateway.log").open("w", encoding="utf-8") as log:
            await self._call_tool(stdio_client(parameters, errlog=log))

    async def _call_tool(self, gateway: Any) -> None:
        async with Client(gateway) as client:
            query = {"query": "how hot is the kiln?", "k": 1}
            self._say(f"search_tools {json.dumps(query)}")
            found = await client.call_tool("search_tools", query)
            tools: dict[str, Any] = found.structured_content or {}
            name = str(tools["tools"][0]["name"])
            self._say(f"  {name}")
            self._say(f"call_tool {name}")
            result = await client.call_tool("call_tool", {"name": name, "arguments": {}})
            for block in result.content:
                if isinstance(block, TextContent):
                    self._say(f"  {block.text}")

    def forget(self) -> None:
        """Erase everything."""
        self._title("Erase everything")
        self._run("forget", "me", "--yes")

    def _say(self, text: str) -> None:
        """Print a line at once, also into a pipe."""
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def _title(self, text: str) -> None:
        self._say(f"\n== {text}")

    def _run(self, *words: str, stdin: str = "", quiet: bool = False) -> str:
        """Run a command; print it, its input and its output."""
        shown = " ".join(word if word.replace("-", "").isalnum() else f"'{word}'" for word in words)
        self._say(f"\n$ contextune {shown}")
        for line in stdin.splitlines():
            self._say(f"> {line}")
        done = self._run_command(words, self._env, self.home, stdin)
        if done.returncode:
            sys.exit(f"contextune {words[0]} ended with {done.returncode}: {done.stderr}")
        if not quiet:
            self._say(done.stdout.rstrip())
        return done.stdout

    @contextmanager
    def _service(self, port: int) -> Generator[str]:
        """Run the service; yields its address."""
        self._say(f"\n$ contextune serve --port {port}")
        url = f"http://127.0.0.1:{port}"
        command = [*PROGRAM, "serve", "--port", str(port)]
        with (
            (self.home / "service.log").open("w", encoding="utf-8") as log,
            subprocess.Popen(  # noqa: S603  # our own program
                command, env=self._env, cwd=self.home, stdout=log, stderr=log
            ) as process,
        ):
            try:
                _wait_for(url, process)
                yield url
            finally:
                process.terminate()
                process.wait()


def _environment(home: Path) -> dict[str, str]:
    """The environment without settings of Contextune, and with all folders of the user under `home`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "CONTEXTUNE_THREADS" or not name.startswith(("CONTEXTUNE_", "OTEL_"))
    }
    folders = {"CONFIG": ".config", "DATA": ".local/share", "CACHE": ".cache"}
    xdg = {f"XDG_{name}_HOME": str(home / folder) for name, folder in folders.items()}
    return {**kept, **xdg, "HOME": str(home), "USERPROFILE": str(home), "COLUMNS": "100"}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def _wait_for(url: str, process: "subprocess.Popen[Any]") -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            _http(f"{url}/health")
        except (URLError, ConnectionError):
            time.sleep(0.1)
        else:
            return
    sys.exit("the service did not start")


def _http(url: str, token: str = "", body: dict[str, Any] | None = None) -> str:
    """The answer of the service on this machine."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = json.dumps(body).encode() if body else None
    with urlopen(Request(url, data, headers), timeout=PATIENCE) as reply:  # noqa: S310  # a fixed http address
        return reply.read().decode()


if __name__ == "__main__":
    main()

"""The command that looks whether all is well: installation, models, extras, store, zone, and speed."""

import json
import platform
import re
import sqlite3
import sys
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackageNotFoundError, PackagePath, distribution, version
from pathlib import Path
from statistics import median
from typing import NamedTuple
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.assets import asset
from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.datasets import load_persona, read_persona
from contextune.errors import ContextuneError
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner

OK, NOTE, BROKEN = "ok", "note", "broken"
_SIGNS = {OK: "[green]✓[/]", NOTE: "[dim]–[/]", BROKEN: "[bold red]✗[/]"}
_NEEDED = ("lightgbm", "numpy", "onnxruntime", "pydantic", "scipy", "tokenizers", "yaml")
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*; *extra == ['\"]([\w-]+)['\"]")
_GIVES = {
    "anthropic": "tool search for Anthropic's models",
    "big": "quick search among hundreds of thousands of items",
    "fastmcp": "tools of FastMCP servers",
    "import": "calendars and tasks (.ics)",
    "langchain": "a hook for LangChain",
    "langgraph": "a hook for LangGraph",
    "llama-index": "a hook for LlamaIndex",
    "llm": "language models: a server's, or a small one on this machine",
    "mcp": "tools of MCP servers, and Contextune as one",
    "otel": "traces of the service",
    "plot": "figures of the benchmarks",
    "pydantic-ai": "a hook for Pydantic AI",
    "sentence-transformers": "other embedding models on this machine",
    "serve": "the HTTP service",
    "train": "tuning the embedder",
}
_AGAIN = "pip install --force-reinstall contextune"
_SLOW = 1.0
"""Seconds for one request over a few dozen items that are worth a remark."""


class DoctorFinding(NamedTuple):
    """What was looked at, how it is, and what to say of it."""

    what: str
    state: str
    said: str


def add_to(app: typer.Typer) -> None:
    """Hang this module's command on the program."""
    app.command()(doctor)


def doctor(store: output.StorePath = None) -> None:
    """Look whether all is well: installation, models, extras, store, zone, and the speed of a request.

    Exit status: 0 if nothing is broken, 1 if something is.
    """
    checks: tuple[tuple[str, Callable[[], Iterator[DoctorFinding]]], ...] = (
        ("installation", _installation),
        ("models", models),
        ("extras", _extras),
        ("zone", _zone),
        ("store", lambda: _store(output.store_path(store))),
        ("speed", _speed),
    )
    found: list[DoctorFinding] = []
    with output.err.status("Looking"):
        for name, check in checks:
            found += _safely(name, check)
    table = Table("", "what", "how it is", header_style="dim")
    for one in found:
        table.add_row(_SIGNS[one.state], one.what, Text(neutralize(one.said)))
    output.out.print(table)
    if broken := sum(one.state == BROKEN for one in found):
        output.error(f"{broken} {'thing is' if broken == 1 else 'things are'} broken")
        raise typer.Exit(1)


def _safely(name: str, check: Callable[[], Iterator[DoctorFinding]]) -> list[DoctorFinding]:
    """All that a check found; where it fails itself, something is broken."""
    found: list[DoctorFinding] = []
    try:
        found.extend(check())
    except ContextuneError as error:
        found.append(DoctorFinding(name, BROKEN, str(error)))
    except Exception as error:
        # whatever goes wrong on a broken machine is what is looked for; no text of anybody's is in it
        found.append(DoctorFinding(name, BROKEN, f"{type(error).__name__}: {error}"))
    return found


def _installation() -> Iterator[DoctorFinding]:
    said = f"contextune {version('contextune')}, Python {platform.python_version()}, {platform.platform()}"
    yield DoctorFinding("installation", OK if sys.version_info >= (3, 11) else BROKEN, said)
    missing: list[str] = []
    for name in _NEEDED:
        try:
            import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    if missing:
        yield DoctorFinding(
            "libraries",
            BROKEN,
            f"cannot be loaded: {', '.join(missing)}; pip install --force-reinstall contextune",
        )
    else:
        yield DoctorFinding("libraries", OK, "all that are needed can be loaded")


def models() -> Iterator[DoctorFinding]:
    """What is in the package, against the checksums it was packed with."""
    folder = asset("embedder")
    card = json.loads((folder / "embedder.json").read_text(encoding="utf-8"))
    wrong = [name for name, digest in card["sha256"].items() if _digest(folder / name).hex() != digest]
    if wrong:
        yield DoctorFinding("embedder", BROKEN, f"{', '.join(wrong)}: not what was packed; {_AGAIN}")
    else:
        yield DoctorFinding(
            "embedder", OK, f"{card['name']}, {card['dimensions']} dimensions, checksums are right"
        )
    packed = [file for file in distribution("contextune").files or () if file.hash and "assets" in file.parts]
    differing = [file.name for file in packed if not _as_packed(file)]
    if differing:
        yield DoctorFinding("assets", BROKEN, f"{', '.join(differing[:5])}: not what was packed; {_AGAIN}")
    elif packed:
        yield DoctorFinding("assets", OK, f"{pluralize(len(packed), 'file')}, checksums are right")
    else:
        yield DoctorFinding("assets", NOTE, "run from their sources, which have no checksums of their own")


def _as_packed(file: PackagePath) -> bool:
    """Whether a file is what the wheel says it is."""
    path = Path(str(file.locate()))
    if not path.is_file():
        return False
    digest = urlsafe_b64encode(_digest(path)).rstrip(b"=").decode()
    return file.hash is None or file.hash.mode != "sha256" or digest == file.hash.value


def _digest(path: Path) -> bytes:
    return sha256(path.read_bytes()).digest()


def _extras() -> Iterator[DoctorFinding]:
    extras: dict[str, list[str]] = {}
    for requirement in distribution("contextune").requires or ():
        found = _REQUIREMENT.match(requirement)
        if found and found[1] != "contextune" and found[2] != "dev":
            extras.setdefault(found[2], []).append(found[1])
    there = [extra for extra, names in extras.items() if all(map(_installed, names))]
    yield DoctorFinding("extras", OK, f"installed: {', '.join(there) or 'none'}")
    for extra in extras:
        if extra not in there:
            gives = f" would give {_GIVES[extra]}" if extra in _GIVES else ""
            yield DoctorFinding("extras", NOTE, f"pip install 'contextune[{extra}]'{gives}")


def _installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _zone() -> Iterator[DoctorFinding]:
    ZoneInfo("Europe/Lisbon")  # fails where the machine has no table of zones
    now = datetime.now().astimezone()
    yield DoctorFinding("zone", OK, f"this machine's clock says {now:%Y-%m-%d %H:%M %Z (UTC%z)}")


def _store(path: Path) -> Iterator[DoctorFinding]:
    if not path.exists():
        yield DoctorFinding("store", NOTE, f"none yet at {path}: contextune import PATH… makes it")
        return
    with SQLiteStore(path) as store:
        users = [store.user(user) for user in store.users()]
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        yield DoctorFinding(
            "store", BROKEN, f"{path} is damaged ({state}): restore it, or import into a new one"
        )
        return
    size = path.stat().st_size / 2**20
    yield DoctorFinding("store", OK, f"{path}: {pluralize(len(users), 'user')}, {size:,.1f} MB")
    for user in users[:3]:
        zone = (
            f"clock in {user.zone}" if user.zone else "clock of this machine: import with --zone sets another"
        )
        yield DoctorFinding("store", OK, f"user {user.id}: {zone}")


def _speed() -> Iterator[DoctorFinding]:
    """One request over a persona of the package, from the items to the call: it needs all models."""
    persona = read_persona(asset("personas/b05.json"))
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "doctor.db") as store:
        load_persona(store, persona)
        tools = bundled_toolbox()
        tuner = Tuner(store, tools=tools)
        tuner.prepare(persona.id)
        took: list[float] = []
        planned = 0
        for query in (persona.queries[0], *persona.queries):
            start = time.perf_counter()
            planned += tuner.answer(persona.request(query)).plan is not None
            took.append(time.perf_counter() - start)
    usual = median(took[1:])
    if not planned:
        yield DoctorFinding("speed", BROKEN, "requests are answered, but no call is planned for any")
        return
    slow = "; slow: is something else running?" if usual > _SLOW else ""
    yield DoctorFinding(
        "speed",
        NOTE if slow else OK,
        f"one request takes {usual * 1000:.0f} ms ({len(persona.items)} items, {len(tools)} tools){slow}",
    )

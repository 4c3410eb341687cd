"""`contextune doctor`: check the installation, models, extras, time zone, store and speed."""

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
from typing import Annotated, NamedTuple
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from contextune import __version__
from contextune._internal.assets import asset
from contextune._internal.plural import pluralize
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.options import StoreName, store_location
from contextune.errors import ContextuneError

OK, NOTE, BROKEN = "ok", "note", "broken"
_SIGNS = {OK: "[green]✓[/]", NOTE: "[dim]–[/]", BROKEN: "[bold red]✗[/]"}
_LIBRARIES = (
    "dateutil",
    "icalendar",
    "jsonschema_rs",
    "lightgbm",
    "numpy",
    "onnxruntime",
    "pydantic",
    "recurring_ical_events",
    "scipy",
    "selectolax",
    "tokenizers",
    "yaml",
)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)[^;]*; *extra == ['\"]([\w-]+)['\"]")
_EXTRAS = {
    "anthropic": "tool search for Anthropic models",
    "big": "fast search of hundreds of thousands of items",
    "fastmcp": "tools of FastMCP servers",
    "langchain": "LangChain integration",
    "langgraph": "LangGraph integration",
    "llama-index": "LlamaIndex integration",
    "llm": "language models: an endpoint, or a small local one",
    "mcp": "tools of MCP servers, and Contextune as an MCP server",
    "otel": "OpenTelemetry traces of the service",
    "plot": "plots of the benchmarks",
    "pydantic-ai": "Pydantic AI integration",
    "sentence-transformers": "other local embedding models",
    "serve": "the HTTP service",
    "train": "fine-tuning the embedder",
}
_REINSTALL = "pip install --force-reinstall contextune"
_SLOW = 1.0
"""Seconds per request over a few dozen items above which `speed` is a note."""


class DoctorFinding(NamedTuple):
    """One row of the report."""

    what: str
    state: str
    message: str


def doctor(
    store: StoreName = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="Read the whole store and check every row; slow for a large one.")
    ] = False,
) -> None:
    """Check the installation, models, extras, time zone, store and speed.

    Exit status: 0 if nothing is broken, 1 otherwise.
    """
    checks: tuple[tuple[str, Callable[[], Iterator[DoctorFinding]]], ...] = (
        ("installation", _installation),
        ("models", models),
        ("extras", _extras),
        ("zone", _zone),
        ("store", lambda: _store(store_location(store), deep=deep)),
        ("speed", _speed),
    )
    findings: list[DoctorFinding] = []
    with output.err.status("Checking"):
        for name, check in checks:
            findings += _run_check(name, check)
    table = Table("", "what", "state", header_style="dim")
    for finding in findings:
        table.add_row(_SIGNS[finding.state], finding.what, Text(neutralize(finding.message)))
    output.out.print(table)
    if broken := sum(finding.state == BROKEN for finding in findings):
        output.print_error(f"{pluralize(broken, 'check')} failed: see the lines marked ✗")
        raise typer.Exit(1)


def _run_check(name: str, check: Callable[[], Iterator[DoctorFinding]]) -> list[DoctorFinding]:
    """The findings of a check; an exception is a finding too."""
    findings: list[DoctorFinding] = []
    try:
        findings.extend(check())
    except ContextuneError as error:
        findings.append(DoctorFinding(name, BROKEN, str(error)))
    except Exception as error:
        # anything may go wrong on a broken machine; no check reads personal data into messages
        findings.append(DoctorFinding(name, BROKEN, f"{type(error).__name__}: {error}"))
    return findings


def _installation() -> Iterator[DoctorFinding]:
    versions = f"contextune {__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield DoctorFinding("installation", OK if sys.version_info >= (3, 11) else BROKEN, versions)
    missing: list[str] = []
    for name in _LIBRARIES:
        try:
            import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    if missing:
        yield DoctorFinding(
            "libraries",
            BROKEN,
            f"cannot be imported: {', '.join(missing)}; {_REINSTALL}",
        )
    else:
        yield DoctorFinding("libraries", OK, "all required libraries can be imported")


def models() -> Iterator[DoctorFinding]:
    """Compare the bundled models and other assets with their checksums."""
    folder = asset("embedder")
    card = json.loads((folder / "embedder.json").read_text(encoding="utf-8"))
    wrong = [name for name, digest in card["sha256"].items() if _digest(folder / name).hex() != digest]
    if wrong:
        yield DoctorFinding("embedder", BROKEN, f"{', '.join(wrong)}: checksum differs; {_REINSTALL}")
    else:
        yield DoctorFinding(
            "embedder", OK, f"{card['name']}, {card['dimensions']} dimensions, checksums match"
        )
    packed = [file for file in distribution("contextune").files or () if file.hash and "assets" in file.parts]
    differing = [file.name for file in packed if not _matches_checksum(file)]
    if differing:
        yield DoctorFinding("assets", BROKEN, f"{', '.join(differing[:5])}: checksum differs; {_REINSTALL}")
    elif packed:
        yield DoctorFinding("assets", OK, f"{pluralize(len(packed), 'file')}, checksums match")
    else:
        yield DoctorFinding("assets", NOTE, "run from a source checkout, which has no checksums")


def _matches_checksum(file: PackagePath) -> bool:
    """Whether a file has the checksum that the wheel recorded."""
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
        match = _REQUIREMENT.match(requirement)
        if match and match[1] != "contextune" and match[2] not in ("dev", "docs"):
            extras.setdefault(match[2], []).append(match[1])
    installed = [extra for extra, names in extras.items() if all(map(_is_installed, names))]
    yield DoctorFinding("extras", OK, f"installed: {', '.join(installed) or 'none'}")
    for extra in extras:
        if extra not in installed:
            purpose = f" adds {_EXTRAS[extra]}" if extra in _EXTRAS else ""
            yield DoctorFinding("extras", NOTE, f"pip install 'contextune[{extra}]'{purpose}")


def _is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


def _zone() -> Iterator[DoctorFinding]:
    ZoneInfo("Europe/Lisbon")  # fails on machines without a time zone database
    now = datetime.now().astimezone()
    yield DoctorFinding("zone", OK, f"local time is {now:%Y-%m-%d %H:%M %Z (UTC%z)}")


def _store(path: str | Path, *, deep: bool) -> Iterator[DoctorFinding]:
    if isinstance(path, str):
        from contextune.store import open_store

        with open_store(path) as opened:
            number = len(opened.users())
        yield DoctorFinding("store", OK, f"in PostgreSQL: {pluralize(number, 'user')}")
        return
    if not path.exists():
        yield DoctorFinding("store", NOTE, f"none yet at {path}: contextune import PATH… creates it")
        return
    from contextune.store import SQLiteStore

    with SQLiteStore(path) as store:
        users = [store.user(user) for user in store.users()]
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
    problems = () if state == "ok" else (state,)
    if deep:
        from contextune.store.verify import verify

        problems = verify(path).problems
    for problem in problems:
        yield DoctorFinding(
            "store",
            BROKEN,
            f"{path} is damaged ({problem}): restore it from a backup (contextune store restore), "
            "or import into a new store",
        )
    if problems:
        return
    if deep:
        yield DoctorFinding("store", OK, "structure, checksums and numbers of rows are right")
    size = path.stat().st_size / 2**20
    yield DoctorFinding("store", OK, f"{path}: {pluralize(len(users), 'user')}, {size:,.1f} MB")
    for user in users[:3]:
        zone = (
            f"time zone {user.zone}" if user.zone else "time zone of this machine: set it with import --zone"
        )
        yield DoctorFinding("store", OK, f"user {user.id}: {zone}")


def _speed() -> Iterator[DoctorFinding]:
    """Answer the requests of a demo persona, from items to call; this loads every model."""
    from contextune.datasets import load_persona, read_persona
    from contextune.store import SQLiteStore
    from contextune.tools import bundled_toolbox
    from contextune.tuner import Tuner

    persona = read_persona(asset("personas/b05.json"))
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "doctor.db") as store:
        load_persona(store, persona)
        tools = bundled_toolbox()
        tuner = Tuner(store, tools=tools)
        tuner.prepare(persona.id)
        seconds: list[float] = []
        plans = 0
        for query in (persona.queries[0], *persona.queries):
            start = time.perf_counter()
            plans += tuner.answer(persona.request(query)).plan is not None
            seconds.append(time.perf_counter() - start)
    typical = median(seconds[1:])  # the first request warms up
    if not plans:
        yield DoctorFinding("speed", BROKEN, "requests are answered, but no call is planned for any")
        return
    slow = "; slow: is another program busy?" if typical > _SLOW else ""
    yield DoctorFinding(
        "speed",
        NOTE if slow else OK,
        f"one request takes {typical * 1000:.0f} ms ({len(persona.items)} items, {len(tools)} tools){slow}",
    )

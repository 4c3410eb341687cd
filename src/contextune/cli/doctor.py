"""`contextune doctor`: check the installation, settings, models, extras, time zone, store and speed."""

import json
import platform
import sqlite3
import sys
import tempfile
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from importlib import import_module
from importlib.metadata import PackagePath, distribution
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, NamedTuple
from zoneinfo import ZoneInfo

import typer
from rich.table import Table
from rich.text import Text

from contextune import __version__
from contextune._internal.assets import asset
from contextune._internal.plural import pluralize
from contextune._internal.postgres_url import hide_passwords
from contextune._internal.untrusted import neutralize
from contextune.cli import output
from contextune.cli.options import StoreName, store_location
from contextune.cli.setup.extras import all_extras, uses_of_extras
from contextune.cli.setup.settings import config_path, read_settings
from contextune.errors import ContextuneError

if TYPE_CHECKING:
    from contextune.types import User

OK, NOTE, NEEDED, BROKEN = "ok", "note", "needed", "broken"
_SIGNS = {OK: "[green]✓[/]", NOTE: "[dim]–[/]", NEEDED: "[yellow]![/]", BROKEN: "[bold red]✗[/]"}
_GROUPS = (
    ("What is wrong", (BROKEN,)),
    ("What is missing for things you use", (NEEDED,)),
    ("What works", (OK,)),
    ("Notes", (NOTE,)),
)
_LIBRARIES = ("numpy", "onnxruntime", "yaml")
"""Those that every installation has; the others belong to extras."""
_REINSTALL = "pip install --force-reinstall contextune"
_MAX_USERS = 3
"""Users whose profile is checked."""
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
    """Check the installation, settings, models, extras, time zone, store and speed.

    What is wrong comes first, then what is missing for things you use, then the rest. Exit status: 0 if
    nothing is wrong, 1 otherwise.
    """
    checks: tuple[tuple[str, Callable[[], Iterator[DoctorFinding]]], ...] = (
        ("installation", _installation),
        ("settings", _settings),
        ("models", models),
        ("extras", lambda: _extras(store_location(store))),
        ("zone", _zone),
        ("store", lambda: check_store(store_location(store), deep=deep)),
        ("speed", _speed),
    )
    findings: list[DoctorFinding] = []
    with output.progress("Checking", len(checks)) as update:
        for number, (name, check) in enumerate(checks, 1):
            findings += _run_check(name, check)
            update(number, len(checks))
    _print_groups(findings)
    if broken := sum(finding.state == BROKEN for finding in findings):
        output.print_error(f"{pluralize(broken, 'check')} failed: see the lines marked ✗")
        raise typer.Exit(1)


def _print_groups(findings: Sequence[DoctorFinding]) -> None:
    for title, states in _GROUPS:
        rows = [finding for finding in findings if finding.state in states]
        if not rows:
            if BROKEN in states:
                output.print_line("[bold]Nothing is wrong.[/]")
            continue
        output.print_line(f"[bold]{title}[/]")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        for finding in rows:
            table.add_row(
                _SIGNS[finding.state], finding.what, Text(neutralize(hide_passwords(finding.message)))
            )
        output.out.print(table)


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


def _settings() -> Iterator[DoctorFinding]:
    path = config_path()
    settings = read_settings(path)
    if settings:
        yield DoctorFinding("settings", OK, f"{path}: {', '.join(settings)}")
    else:
        yield DoctorFinding("settings", NOTE, f"none yet at {path}: contextune config set NAME VALUE")


def _extras(store: Path | str) -> Iterator[DoctorFinding]:
    import platformdirs

    extras = {extra.name: extra for extra in all_extras()}
    installed = [name for name, extra in extras.items() if not extra.missing]
    yield DoctorFinding("extras", OK, f"installed: {', '.join(installed) or 'none'}")
    data = platformdirs.user_data_path("contextune", appauthor=False)
    cache = platformdirs.user_cache_path("contextune", appauthor=False)
    reasons: dict[str, str] = {}
    for name, reason in uses_of_extras(_count_items(store), data, cache):
        reasons.setdefault(name, reason)
    for name, extra in extras.items():
        if not extra.missing:
            continue
        if name in reasons:
            yield DoctorFinding("extras", NEEDED, f"{reasons[name]}: {extra.command}")
        else:
            purpose = f" adds {extra.purpose}" if extra.purpose else ""
            yield DoctorFinding("extras", NOTE, f"{extra.command}{purpose}")


def _count_items(store: Path | str) -> int:
    """The number of items; 0 if the store cannot be read, which its own check reports."""
    if isinstance(store, str):
        from contextune.store import open_store

        try:
            with open_store(store) as opened:
                return sum(opened.sizes(user).items for user in opened.users())
        except ContextuneError:
            return 0
    if not store.exists():
        return 0
    try:
        with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT count(*) FROM items").fetchone()[0])
    except sqlite3.Error:
        return 0


def _zone() -> Iterator[DoctorFinding]:
    ZoneInfo("Europe/Lisbon")  # fails on machines without a time zone database
    now = datetime.now().astimezone()
    yield DoctorFinding("zone", OK, f"local time is {now:%Y-%m-%d %H:%M %Z (UTC%z)}")


def check_store(path: Path | str, *, deep: bool) -> Iterator[DoctorFinding]:
    if isinstance(path, str):
        yield from _postgres_store(path)
        return
    if not path.exists():
        yield DoctorFinding("store", NOTE, f"none yet at {path}: contextune import PATH… creates it")
        return
    from contextune.store import SQLiteStore
    from contextune.store.verify import verify_snapshots

    with SQLiteStore(path) as store:
        users = [store.user(user) for user in store.users()]
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
        (state,) = database.execute("PRAGMA quick_check(1)").fetchone()
        snapshots = verify_snapshots(path.absolute(), database, deep=deep)
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
    for problem in snapshots.problems:
        yield DoctorFinding("snapshots", BROKEN, f"{problem}; {snapshots.remedy}")
    if snapshots.count and not snapshots.problems:
        what = "checksums match" if deep else "sizes are right"
        yield DoctorFinding("snapshots", OK, f"{pluralize(snapshots.count, 'snapshot')} of indexes, {what}")
    size = path.stat().st_size / 2**20
    yield DoctorFinding("store", OK, f"{path}: {pluralize(len(users), 'user')}, {size:,.1f} MB")
    for user in users[:_MAX_USERS]:
        yield from _user(user)


def _postgres_store(url: str) -> Iterator[DoctorFinding]:
    from contextune.store import open_store

    with open_store(url) as store:
        names = store.users()
        users = [store.user(user) for user in names[:_MAX_USERS]]
    yield DoctorFinding("store", OK, f"in PostgreSQL: {pluralize(len(names), 'user')}")
    for user in users:
        yield from _user(user)


def _user(user: "User") -> Iterator[DoctorFinding]:
    """What is missing in a user's profile."""
    if user.zone:
        yield DoctorFinding("user", OK, f"{user.id}: time zone {user.zone}")
    else:
        yield DoctorFinding("user", NEEDED, f"{user.id} has no time zone: contextune init --zone ZONE")
    if not user.addresses:
        message = f"{user.id} has no mail address, so own mails are not recognised: contextune init --email"
        yield DoctorFinding("user", NEEDED, message)
    if not user.places:
        message = f"{user.id} has no places: contextune place add home 41.15,-8.63"
        yield DoctorFinding("user", NOTE, message)


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

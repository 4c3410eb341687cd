"""Time from `contextune init` to the first answer, over a generated mailbox, as a new user would wait for it.

Every command is a process of its own with an empty home folder: nothing is loaded, computed or cached before.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from contextune.errors import ContextuneError
from contextune.types import Progress
from contextune_lab.bench.speed.import_mail import write_mails

_INIT = ("--yes", "--name", "Ines Duarte", "--email", "ines@example.com", "--zone", "Europe/Lisbon")
_SUGGESTED = re.compile(r"^ *contextune ask '(.+)'$")
_QUESTION = "Read me the last mail about the kiln."
"""Asked if no question is suggested."""


class BenchCommandError(ContextuneError):
    """A command that is measured failed."""


@dataclass(frozen=True, slots=True)
class FirstAnswer:
    """Seconds of each part."""

    mails: int
    megabytes: float
    scan: float
    """Start of the program, and search for files on this machine."""
    importing: float
    embedding: float
    """Embed the items, load the models, and find questions to try."""
    first: float
    """The first `contextune ask`, a process of its own."""
    second: float

    @property
    def init(self) -> float:
        """The whole `contextune init`."""
        return self.scan + self.importing + self.embedding

    @property
    def total(self) -> float:
        """From `init` to the first answer."""
        return self.init + self.first


def measure(mails: int = 1000, progress: Progress | None = None) -> FirstAnswer:
    """Write a mailbox, set up from it, and ask twice; `progress` is called with the mails written."""
    with tempfile.TemporaryDirectory() as folder:
        mailbox = Path(folder) / "Inbox.mbox"
        size = write_mails(mailbox, mails, progress)
        home = Path(folder) / "home"
        home.mkdir()
        environ = _environment(home)
        start = perf_counter()
        lines = list(_timed_lines(["init", str(mailbox), *_INIT], environ))
        # the report of what was found, the report of the import, and the questions
        scanned, imported, done = lines[0][0], _time_of(lines, "new"), lines[-1][0]
        question = next((match[1] for _, line in lines if (match := _SUGGESTED.match(line))), _QUESTION)
        asked = [_seconds(["ask", question], environ) for _ in range(2)]
    return FirstAnswer(mails, size / 1e6, scanned - start, imported - scanned, done - imported, *asked)


def _time_of(lines: list[tuple[float, str]], text: str) -> float:
    return next(time for time, line in lines if text in line)


def _seconds(words: list[str], environ: Mapping[str, str]) -> float:
    start = perf_counter()
    return list(_timed_lines(words, environ))[-1][0] - start


def _timed_lines(words: list[str], environ: Mapping[str, str]) -> Iterator[tuple[float, str]]:
    """The lines that a command prints, each with its time, and an empty one for the end of the process."""
    command = [sys.executable, "-u", "-m", "contextune", *words]
    with subprocess.Popen(  # noqa: S603  # our own program
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        output, errors = process.stdout, process.stderr
        if output is None or errors is None:  # never: both are pipes
            return
        for line in output:
            yield perf_counter(), line.rstrip("\n")
        message = errors.read()
        if process.wait():
            raise BenchCommandError(f"contextune {words[0]} failed: {message.strip()[-500:]}")
    yield perf_counter(), ""


def _environment(home: Path) -> dict[str, str]:
    """The environment of a user with nothing in the home folder and no settings."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "CONTEXTUNE_THREADS" or not name.startswith(("CONTEXTUNE_", "XDG_"))
    }
    folders = dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"), str(home))
    return {**kept, **folders, "COLUMNS": "200"}

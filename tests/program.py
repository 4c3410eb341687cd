"""Run the `contextune` command in this process, which loads each model only once."""

import os
import sys
from collections.abc import Generator, Mapping
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from contextune.cli import main, output

PROGRAM = Path(sys.executable).with_name("contextune")
"""The installed program, for the tests that need a process of its own."""
_SETTINGS = ("CONTEXTUNE_LLM", "CONTEXTUNE_STORE", "CONTEXTUNE_CATALOG", "CONTEXTUNE_TOKENS", "OPENAI_")


@dataclass(frozen=True)
class Completed:
    """Exit status and output of a command; the fields of `subprocess.CompletedProcess`."""

    returncode: int
    stdout: str
    stderr: str


def run(
    *words: str | Path | int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    width: int = 160,
) -> Completed:
    """Run `contextune` as its console script does, with no settings but those of `env`."""
    out, err = StringIO(), StringIO()
    with (
        _environment(env or {}),
        chdir(cwd or Path.cwd()),
        patch.object(sys, "argv", ["contextune", *map(str, words)]),
        patch.object(sys, "stdin", StringIO(stdin)),
        patch.object(sys, "excepthook"),  # typer replaces it
        patch.object(output, "out", output.Terminal(width=width)),
        patch.object(output, "err", output.Terminal(stderr=True, width=width)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
        else:
            code = 0
    return Completed(code if isinstance(code, int) else int(code is not None), out.getvalue(), err.getvalue())


@contextmanager
def _environment(env: Mapping[str, str]) -> Generator[None]:
    """The environment without settings of Contextune and of language models, and with `env`."""
    with patch.dict(os.environ):
        for name in list(os.environ):
            if name.startswith(_SETTINGS):
                del os.environ[name]
        os.environ.update(env)
        yield

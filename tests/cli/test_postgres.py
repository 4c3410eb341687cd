"""Commands work on a store in PostgreSQL, or say that they need a file."""

from pathlib import Path

import pytest
from tests.program import Completed, run

NOTE = "Thursday evening, cone 6.\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Kiln slots.md").write_text(NOTE, encoding="utf-8")
    return folder


@pytest.fixture
def config(tmp_path: Path, postgres_url: str) -> Path:
    """A configuration file that names a store in PostgreSQL."""
    file = tmp_path / "config.toml"
    done = run("config", "set", "store", postgres_url, env={"CONTEXTUNE_CONFIG": str(file)})
    assert done.stdout.strip() == f"store = {postgres_url}"
    return file


def command(config: Path, *words: str | Path) -> Completed:
    done = run(*words, env={"CONTEXTUNE_CONFIG": str(config)})
    assert done.returncode == 0, done.stderr
    return done


def test_commands_use_the_store_in_postgres_that_the_configuration_names(config: Path, notes: Path) -> None:
    dry_run = command(config, "import", notes, "--dry-run", "--zone", "Europe/Lisbon")
    assert "nothing is written: 1 file" in dry_run.stdout
    command(config, "import", notes, "--zone", "Europe/Lisbon", "--no-embed")
    command(config, "place", "add", "studio", "41.145,-8.611")
    assert "studio" in command(config, "place", "list").stdout
    assert "Kiln slots" in command(config, "items").stdout
    assert "Kiln slots" in command(config, "search", "when is the kiln free", "--method", "bm25").stdout
    assert command(config, "stats").stdout
    assert "erased" in command(config, "forget", "me", "--yes").stdout


def test_store_of_init_is_written_to_the_configuration(
    postgres_url: str, notes: Path, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    flags = ("--yes", "--source", "none", "--no-embed", "--zone", "Europe/Lisbon")
    command(file, "init", notes, *flags, "--store", postgres_url)
    assert "Kiln slots" in command(file, "items").stdout


def test_doctor_checks_a_store_in_postgres(
    config: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contextune.cli.doctor._speed", lambda: iter(()))
    command(config, "import", notes, "--zone", "Europe/Lisbon", "--no-embed")
    printed = command(config, "doctor").stdout
    assert "in PostgreSQL: 1 user" in printed
    assert "me: time zone Europe/Lisbon" in printed


@pytest.mark.parametrize(
    "words",
    [
        ("sync", "list"),
        ("sync", "add", "https://dav.example.org", "--username", "ines"),
        ("store", "backup", "copy.db"),
        ("store", "verify"),
    ],
)
def test_commands_that_need_a_file_say_so(words: tuple[str, ...]) -> None:
    done = run(*words, "--store", "postgresql://ines:secret@127.0.0.1:1/contextune")
    assert (done.returncode, "needs a store in a file, not in PostgreSQL" in done.stderr) == (2, True)
    assert "secret" not in done.stderr

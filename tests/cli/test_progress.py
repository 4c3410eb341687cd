"""Commands that take a while count what they do."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.setup.homes import linux_home
from tests.program import run

from contextune.cli import output
from contextune.cli.personal import stats
from contextune.cli.setup.sources import find_sources
from contextune.store import SQLiteStore
from contextune.types import Item, Progress, UsageEvent, User


@dataclass
class Bars:
    """The updates of each progress bar, by its title."""

    updates: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])

    @contextmanager
    def progress(self, title: str, *_: Any, **__: Any) -> Generator[Progress]:
        calls = self.updates.setdefault(title, [])
        yield lambda done, of: calls.append((done, of))

    def last(self, title: str) -> tuple[int, int]:
        return self.updates[title][-1]


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Bars:
    bars = Bars()
    monkeypatch.setattr(output, "progress", bars.progress)
    return bars


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SQLiteStore(tmp_path / "store.db") as store:
        store.put_user(User("me"))
        notes = [Item(f"n{number}", "Notes", {"title": f"Note {number}"}) for number in range(300)]
        store.put_items("me", notes)
        store.put_uses("me", [UsageEvent("n1", datetime(2024, 2, day)) for day in range(1, 8)])
    return tmp_path / "store.db"


def test_stats_counts_items_and_uses(path: Path, bars: Bars, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run("stats", "--json", "--store", path).stdout
    assert bars.updates.pop("Reading") == [(307, 307)]
    monkeypatch.setattr(stats, "_PAGE", 150)
    assert run("stats", "--json", "--store", path).stdout == whole
    assert bars.updates["Reading"] == [(157, 307), (307, 307)]


def test_forget_counts_the_bytes_it_rewrites(path: Path, bars: Bars) -> None:
    assert run("forget", "me", "--yes", "--store", path).returncode == 0
    done, total = bars.last("Erasing")
    assert done == total > 0


def test_init_counts_its_searches_and_questions(tmp_path: Path, bars: Bars) -> None:
    home = linux_home(tmp_path / "home")
    words = ("init", "--yes", "--zone", "Europe/Lisbon", "--store", tmp_path / "store.db")
    assert run(*words, env={"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}).returncode == 0
    assert bars.last("Looking for mail, calendars, messages, notes and exports") == (7, 7)
    assert bars.last("Looking for questions to try") == (3, 3)


def test_sources_are_the_same_with_progress(tmp_path: Path) -> None:
    home = linux_home(tmp_path)
    calls: list[tuple[int, int]] = []
    counted = find_sources(home, "linux", {}, lambda done, of: calls.append((done, of)))
    assert counted == find_sources(home, "linux", {})
    assert calls == [(number, 7) for number in range(1, 8)]


def test_tools_add_counts_its_sources_and_tools(tmp_path: Path, bars: Bars) -> None:
    good, broken = tmp_path / "studio.json", tmp_path / "broken.json"
    good.write_text('[{"name": "fire_kiln", "description": "Heats up a kiln.", "input_schema": {}}]')
    broken.write_text("{")
    done = run("tools", "add", good, broken, "--catalog", tmp_path / "tools.db")
    assert done.returncode == 0
    assert "studio.json: 1 added." in done.stdout
    assert "broken.json" in done.stderr
    assert bars.updates["Reading"] == [(1, 2), (2, 2)]
    assert bars.last("Embedding") == (1, 1)

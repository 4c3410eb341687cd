"""From `contextune init` to the first answer, measured over a few mails."""

from pathlib import Path

import pytest
from tests.importers.reading_files import items_in

from contextune_lab.bench.speed import first_answer
from contextune_lab.bench.speed.first_answer import BenchCommandError, measure
from contextune_lab.bench.speed.import_mail import write_mails


def test_mailbox_has_the_number_of_mails(tmp_path: Path) -> None:
    file = tmp_path / "Inbox.mbox"
    assert write_mails(file, 25) == file.stat().st_size
    assert len(items_in(file)) == 25


def test_parts_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTUNE_STORE", str(tmp_path / "mine.db"))
    written: list[tuple[int, int]] = []
    times = measure(5, lambda done, total: written.append((done, total)))
    assert written[-1] == (5, 5)
    assert min(times.scan, times.importing, times.embedding, times.first, times.second) > 0
    assert times.total == pytest.approx(times.init + times.first)
    assert not list(tmp_path.iterdir())  # the settings of the user are not used


def test_failed_command_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_answer, "_INIT", ("--zone", "Nowhere"))
    with pytest.raises(BenchCommandError, match="init failed"):
        measure(1)

"""The tour of `make tour`: from an empty machine to answers, the service and the gateway."""

import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.paths import ROOT
from tests.program import Completed, run

TOUR = ROOT / "examples" / "tour"


def run_here(words: Sequence[str], env: Mapping[str, str], folder: Path, stdin: str) -> Completed:
    """Run a command in this process, which loads each model only once."""
    return run(*words, cwd=folder, env={"CONTEXTUNE_CONFIG": "", **env}, stdin=stdin, width=100)


def test_tour_answers_requests_over_files_service_and_gateway(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [str(TOUR), *sys.path])
    monkeypatch.delenv("CONTEXTUNE_APPROVALS", raising=False)
    runpy.run_path(str(TOUR / "tour.py"))["main"](run_here)
    lines = capsys.readouterr().out.splitlines()
    expected = [
        "  1. Thunderbird, profile x.default (1 file, 0.0 MB)",
        "5 files with 0.0 MB read, 8 items (8 new, 0 changed), 1 contact (1 new), 1 skipped.",
        "  contextune ask 'When does “Glaze night” begin?'",
        "5 files with 0.0 MB read, 10 items (10 new, 0 changed), 3 uses (3 new)",
        'call_contact(contact="Rui Duarte")',
        "Thursday evening is yours if you want it.",
        "Network: barro. Password: celadon-1280.",
        "due ",
        "get_call_history()",
        "list_events(date=",
        "Rui Duarte: phone ",
        "The gate code of the boathouse is 4417",
        "1  Mail  Clay order ",
        'create_reminder(title="pack the thermos',
        "You're welcome.",
        'create_reminder(title="pack the thermos',
        "4 items of 18.",
        "studio is at 41.145,-8.611.",
        "18 items of 7 applications, 3 uses, 1 contact, 2 places",
        'Calendar/get_event {"event_name": "Glaze night"}: ',
        "  studio/kiln_temperature",
        "  1,187 °C",
        "All data of 'me' is erased.",
    ]
    remaining = iter(lines)
    for wanted in expected:  # in this order
        assert any(line.startswith(wanted) for line in remaining), f"{wanted}\n" + "\n".join(lines)

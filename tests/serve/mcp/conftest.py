"""Commands in tests leave the user's data folder alone."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_approvals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXTUNE_APPROVALS", str(tmp_path / "approvals.db"))

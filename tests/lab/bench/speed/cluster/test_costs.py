"""Costs of a user and a request: written as JSON, read back, and checked."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.bench.speed.cluster.test_growth import COSTS

from contextune.errors import InvalidDataError
from contextune_lab.bench.speed.cluster.costs import read_costs, write_costs


def test_measurements_are_read_back_and_checked(tmp_path: Path) -> None:
    path = tmp_path / "costs.json"
    write_costs(replace(COSTS, users=7), path)
    assert read_costs(path).users == 7
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(InvalidDataError, match="has no measurements"):
        read_costs(path)

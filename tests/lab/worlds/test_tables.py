"""Tables of worlds: how far the probabilities of calls mean what they say."""

from dataclasses import replace

import pytest
from tests.lab.worlds.scripted_planner import SCRIPTS, ScriptedPlanner

from contextune.types import Plan
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune_lab.worlds.load import LoadedWorld
from contextune_lab.worlds.tables import BUNDLED, WorldResults, calibration_table, world_tables


@pytest.fixture
def result(loaded_bakery: LoadedWorld) -> RequestResult:
    options = AskOptions({"planner": ScriptedPlanner(SCRIPTS["right"])}, only={"bakery-001"})
    (result,) = ask_world(loaded_bakery, options)
    assert result.call_right
    return result


def test_probabilities_of_shown_calls_are_compared_with_the_share_that_is_right(
    result: RequestResult,
) -> None:
    def called(probability: float, *, right: bool, decision: str = "act") -> RequestResult:
        plan = Plan("Notes/read_note", confidence=probability, decision=decision)  # pyright: ignore[reportArgumentType]
        return replace(result, plan=plan, call_right=right)

    results = [
        *(called(0.91, right=number < 4) for number in range(5)),
        called(1.0, right=True),
        called(0.31, right=False),
        called(0.39, right=True, decision="ask"),
        called(0.05, right=False, decision="none"),  # not shown
        replace(result, plan=None),
    ]
    part = WorldResults(BUNDLED, results)
    table = calibration_table(part)
    values = {path.removeprefix(f"{table.id}/"): value for path, value in table.values()}
    assert [row.name for row in table.rows] == ["30 to 40", "90 to 100", "all"]
    assert (values["90 to 100/calls"], values["30 to 40/calls"], values["all/calls"]) == (6, 2, 8)
    assert values["90 to 100/predicted"] == pytest.approx(100 * (5 * 0.91 + 1) / 6)
    assert values["90 to 100/right"] == pytest.approx(100 * 5 / 6)
    assert values["30 to 40/right"] == 50
    assert values["30 to 40/error"] == pytest.approx(15)
    high = abs((5 * 0.91 + 1) / 6 - 5 / 6)
    assert values["all/error"] == pytest.approx(100 * (6 * high + 2 * 0.15) / 8)
    assert table.id in [table.id for table in world_tables([part])]


def test_calibration_without_calls_is_empty(result: RequestResult) -> None:
    assert calibration_table(WorldResults(BUNDLED, [replace(result, plan=None)])).rows == []

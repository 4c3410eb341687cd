"""Tests of the reader with its model: what it reads, when it is asked, and plans without it."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.plan.calls.tiny_ranker import inputs_for, tool_hits

from contextune import SQLiteStore, Tuner
from contextune.datasets import Persona, bundled_personas, load_persona
from contextune.plan import CallPlanner
from contextune.plan.calls import planner as planner_module
from contextune.plan.calls.planner import in_doubt
from contextune.plan.calls.ranker import default_call_ranker
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.readings import Readings
from contextune.plan.reader import model as model_module
from contextune.plan.reader.model import RequestReader, default_reader
from contextune.tools import bundled_toolbox
from contextune.types import Tool, ToolHit

pytestmark = pytest.mark.skipif(
    default_reader() is None, reason="needs contextune-reader, which a checkout has"
)


@pytest.fixture(scope="module")
def reader() -> RequestReader:
    reader = default_reader()
    assert reader is not None
    return reader


@pytest.fixture
def forgotten_reader() -> Iterator[None]:
    model_module.load_reader.cache_clear()
    yield
    model_module.load_reader.cache_clear()


def test_gives_a_probability_to_every_bundled_tool(reader: RequestReader) -> None:
    read = reader.read(inputs_for("Give Marta a ring"))
    assert set(read) == {tool.name for tool in bundled_toolbox()}
    assert sum(read.values()) == pytest.approx(1)
    assert max(read, key=lambda name: read[name]) == "call_contact"


def test_knows_the_bundled_tools_and_no_others(reader: RequestReader) -> None:
    own = [ToolHit(Tool(name, "Billing", "Does something."), 1.0) for name in ("pay_invoice", "add_payer")]
    assert reader.knows(tool_hits("call_contact", "play_song"))
    assert reader.knows([*tool_hits("call_contact"), own[0]])
    assert not reader.knows([*tool_hits("call_contact"), *own])
    assert not reader.knows([])


def asked_plans(persona: Persona, store: SQLiteStore) -> list[tuple[bool, bool]]:
    """For each request of the persona whether its plan is in doubt, and whether the reader changes it."""
    load_persona(store, persona)
    outcomes: list[tuple[bool, bool]] = []
    seen: list[tuple[PlanningInput, list[ToolHit], float | None]] = []

    class Recording(CallPlanner):
        def readings(
            self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
        ) -> Readings:
            seen.append((inputs, list(tools), fits))
            return super().readings(inputs, tools, fits)

    tuner = Tuner(store, tools=bundled_toolbox(), planner=Recording())
    for query in persona.queries:
        tuner.answer(persona.request(query))
    ranker = default_call_ranker()
    assert ranker is not None
    for inputs, tools, fits in seen:
        alone = CallPlanner(asks_reader=False)
        _, ranked = alone.rank(ranker, inputs, tools, fits)
        without, with_reader = (
            alone.readings(inputs, tools, fits),
            CallPlanner().readings(inputs, tools, fits),
        )
        outcomes.append((in_doubt(ranked), without != with_reader))
    return outcomes


def test_is_asked_where_the_calls_are_in_doubt_and_nowhere_else(tmp_path: Path) -> None:
    outcomes: list[tuple[bool, bool]] = []
    with SQLiteStore(tmp_path / "store.db") as store:
        for persona in bundled_personas()[:4]:
            outcomes += asked_plans(persona, store)
    doubtful, sure = [c for d, c in outcomes if d], [c for d, c in outcomes if not d]
    assert doubtful
    assert sure
    assert not any(sure)
    assert sum(doubtful) > len(doubtful) / 2


def test_planner_with_a_ranker_of_its_own_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> RequestReader | None:
        raise AssertionError("the reader was asked for")

    monkeypatch.setattr(planner_module, "default_reader", fail)
    inputs, hits = inputs_for("The usual, please"), tool_hits("call_contact", "play_song")
    CallPlanner(ranker=default_call_ranker()).readings(inputs, hits, 0.5)
    CallPlanner(asks_reader=False).readings(inputs, hits, 0.5)
    with pytest.raises(AssertionError, match="asked for"):
        CallPlanner().readings(inputs, hits, 0.5)


@pytest.mark.usefixtures("forgotten_reader")
def test_plans_go_on_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "reader_installed", lambda: False)
    assert default_reader() is None
    assert CallPlanner().plan(inputs_for("Call Marta Reis"), tool_hits("call_contact"), 0.9) is not None


@pytest.mark.usefixtures("forgotten_reader")
def test_reader_of_another_version_is_left_out_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reader"
    shutil.copytree(model_module.model_folder("reader"), folder)
    (folder / "calls" / "card.json").write_text("{}", encoding="utf-8")

    def copied(_name: str) -> Path:
        return folder

    monkeypatch.setattr(model_module, "model_folder", copied)
    with pytest.warns(UserWarning, match="the reader is not used"):
        assert default_reader() is None

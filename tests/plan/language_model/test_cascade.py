"""`CascadePlanner` with a fake server: when it asks, what it costs, and what happens if the model fails."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.llm.chat_server import ChatServer, said

from contextune import Tuner
from contextune.errors import InvalidRequestError
from contextune.llm import EndpointChat
from contextune.plan import CallBudget, CascadePlanner, PlanningInput, Policy, Readings
from contextune.plan.language_model.planner import call_json
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import Argument, Contact, Plan, Request, ToolHit, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User("ines", contacts=(Contact("Marta Reis", "marta@example.org", "555-0150", "pottery teacher"),))
INPUTS = PlanningInput(Request("Call Marta", "ines", datetime(2024, 5, 16, 17, 40)), USER)
HITS = [ToolHit(TOOLS[name], float(-n)) for n, name in enumerate(["call_contact", "send_email"])]
RIGHT = call_json("PhoneCall/call_contact", {"contact": "Marta Reis"})


@dataclass
class Light:
    """Calls Marta by her first name, with a probability."""

    sure: float
    name: str = "call_contact"

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        del inputs, tools, fits
        tool = TOOLS[self.name]
        argument = Argument("Marta", confidence=self.sure)
        return Plan(tool.id, {"contact": argument}, self.sure, name=tool.name)


class PlanServer(ChatServer):
    """Gives its answers in turn, then the last one again."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)
        self.answer = self._next

    def _next(self, body: dict[str, Any]) -> Any:
        del body
        text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return said(text, usage={"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930})


def cascade(server: ChatServer, light: Light, **options: Any) -> CascadePlanner:
    chat = EndpointChat("tiny", base_url=server.url, api_key="none", timeout=5, retries=0)
    return CascadePlanner.with_chat(chat, light, **options)


def readings(planner: CascadePlanner) -> Readings:
    return planner.readings(INPUTS, HITS)


def test_sure_plan_needs_no_model() -> None:
    with PlanServer(RIGHT) as server:
        plan = cascade(server, Light(0.97)).plan(INPUTS, HITS)
        assert not server.asked
    assert plan is not None
    assert plan.args == {"contact": "Marta"}


def test_model_is_asked_where_the_light_plan_is_in_doubt() -> None:
    with PlanServer(RIGHT) as server:
        plan = cascade(server, Light(0.3)).plan(INPUTS, HITS)
        assert len(server.asked) == 1
        content = server.asked[0]["messages"][1]["content"]
    assert plan is not None
    assert plan.args == {"contact": "Marta Reis"}
    assert plan.arguments["contact"].sources[0].kind == "contact"
    assert "<suggestion 30%>" in content
    assert "Thursday 2024-05-16" in content


def test_threshold_decides_what_is_in_doubt() -> None:
    with PlanServer(RIGHT) as server:
        policy = Policy(act={"read": 0, "write": 0, "send": 0})
        eager = CascadePlanner(cascade(server, Light(0.5)).model, Light(0.5), policy, threshold=0.4)
        careful = CascadePlanner(eager.model, Light(0.5), policy, threshold=0.6)
        readings(eager)
        assert not server.asked
        readings(careful)
        assert len(server.asked) == 1


def test_unknown_tool_is_repaired_once() -> None:
    with PlanServer(call_json("Door/unlock", {}), call_json("Door/unlock", {}), RIGHT) as server:
        plan = cascade(server, Light(0.3)).plan(INPUTS, HITS)
        asked = [request["messages"][-1]["content"] for request in server.asked]
    assert plan is not None
    assert plan.args == {"contact": "Marta Reis"}
    assert "This cannot be called" in asked[-1]


def test_unknown_value_is_repaired_once() -> None:
    with PlanServer(call_json("PhoneCall/call_contact", {"contact": "Ana Lima"}), RIGHT) as server:
        plan = cascade(server, Light(0.3)).plan(INPUTS, HITS)
        assert len(server.asked) == 2
        assert "'Ana Lima' is not found" in server.asked[1]["messages"][-1]["content"]
    assert plan is not None
    assert plan.args == {"contact": "Marta Reis"}


def test_value_that_stays_unknown_is_asked_about() -> None:
    with PlanServer(call_json("PhoneCall/call_contact", {"contact": "Ana Lima"})) as server:
        found = readings(cascade(server, Light(0.3)))
        assert len(server.asked) == 2
    decided = Policy().decide(found, lambda _: TOOLS["call_contact"])
    assert decided is not None
    assert decided.decision == "ask"
    assert decided.args == {}
    assert decided.question is not None
    assert decided.question.argument == "contact"


def test_offline_model_is_logged_and_the_light_plan_used(caplog: pytest.LogCaptureFixture) -> None:
    with PlanServer(RIGHT) as server:
        planner = cascade(server, Light(0.3))
    with caplog.at_level(logging.WARNING):
        first, second = planner.plan(INPUTS, HITS), planner.plan(INPUTS, HITS)
    assert first == second == Light(0.3).plan(INPUTS, HITS)
    assert "did not answer" in caplog.messages[0]
    assert "asked again in" in caplog.messages[1]
    assert not any("Marta" in message for message in caplog.messages)


def test_spent_budget_means_the_light_plan(caplog: pytest.LogCaptureFixture) -> None:
    with PlanServer(RIGHT) as server:
        planner = cascade(server, Light(0.3), budget=CallBudget(10, 900))
        first, second = planner.plan(INPUTS, HITS), planner.plan(INPUTS, HITS)
        assert len(server.asked) == 1
    assert first is not None
    assert first.args == {"contact": "Marta Reis"}
    assert second == Light(0.3).plan(INPUTS, HITS)
    assert "900 tokens in this minute are spent" in caplog.text


def test_tuner_asks_the_configured_model_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with SQLiteStore(tmp_path / "ines.db") as store, PlanServer(RIGHT) as server:
        store.put_user(USER)
        monkeypatch.setenv("CONTEXTUNE_LLM_MODEL", "tiny")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        # never sure enough to act without the model
        policy = Policy(act={"read": 2, "write": 2, "send": 2})
        tools = [TOOLS["call_contact"], TOOLS["send_email"]]
        tuner = Tuner(store, tools=tools, planner="cascade", policy=policy)
        plan = tuner.answer(Request("Call my pottery teacher", "ines", datetime(2024, 5, 16, 17, 40))).plan
        assert server.asked
        assert json.dumps(server.asked[0]["messages"]).count("<suggestion") == 1
    assert plan is not None
    assert plan.args == {"contact": "Marta Reis"}
    assert plan.decision in ("confirm", "ask")


def test_unknown_planner_is_refused(tmp_path: Path) -> None:
    with SQLiteStore(tmp_path / "s.db") as store, pytest.raises(InvalidRequestError, match="cascade"):
        Tuner(store, planner="big")  # pyright: ignore[reportArgumentType]

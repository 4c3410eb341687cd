"""Decisions over HTTP: how sure, whether to act, and the question with its options."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import TypeAdapter

from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.errors import InvalidRequestError
from contextune.plan.plan_json import PlanJson
from contextune.plan.policy.policy import LIKELY
from contextune.serve.http.app import create_app
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.store import SQLiteStore

PERSONA = read_persona(asset("personas/a08.json"))
QUERY = next(query for query in PERSONA.queries if query.id == "q6")
REQUEST = {"text": QUERY.text, "time": QUERY.time.isoformat(), "place": QUERY.place}


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    with SQLiteStore(tmp_path / "store.db") as store:
        load_persona(store, PERSONA)
    return ServiceSettings(tmp_path / "store.db", tmp_path / "tokens.json", threads=1)


def plans(settings: ServiceSettings, policy: str) -> list[dict[str, Any]]:
    """The plan of /v1/plan, of /v1/ask and of the inspector."""
    token = TokenFile(settings.tokens or "").add(PERSONA.id)
    service = ServiceSettings(settings.store, settings.tokens, threads=1, policy=policy)
    with TestClient(create_app(service), headers={"Authorization": f"Bearer {token}"}) as client:
        return [
            client.post("/v1/plan", json=REQUEST).json()["plan"],
            client.post("/v1/ask", json=REQUEST).json()["plan"],
            client.post("/v1/inspect", json=REQUEST).json()["plans"][0],
        ]


def test_policy_of_the_service_decides_on_every_reply(settings: ServiceSettings) -> None:
    never, always, refusing = (
        plans(settings, policy)
        for policy in ("act.read=2,act.write=2,act.send=2,none=2", "act.read=0,act.write=0,none=2", "none=0")
    )
    for plan in always:
        is_likely = plan["confidence"] >= LIKELY  # whatever the policy
        assert (plan["ready"], plan["decision"] == "act", plan["question"] is None) == (is_likely,) * 3
    for plan in never:
        assert plan["decision"] in ("confirm", "ask")
        assert not plan["ready"]
        assert plan["question"]["text"].endswith("?")
        (option, *_) = plan["question"]["options"]
        assert option["tool"] == plan["tool"]
        assert option["arguments"] == {name: value["value"] for name, value in plan["arguments"].items()}
        assert option["confidence"] == plan["confidence"]
    for plan in refusing:
        assert (plan["decision"], plan["ready"]) == ("none", False)
        assert plan["question"]["text"].startswith(("No tool here can do that.", "No call here is sure"))
    for plan in (*never[:2], *always[:2], *refusing[:2]):
        TypeAdapter(PlanJson).validate_python(plan, strict=True)


def test_invalid_policy_stops_the_service_from_starting(settings: ServiceSettings) -> None:
    with pytest.raises(InvalidRequestError, match="unknown policy setting"):
        plans(settings, "act=0.5")

"""The inspector's files, their headers, and its replies."""

import re
from typing import Any, get_args

from pydantic import TypeAdapter
from tests.paths import ROOT
from tests.serve.conftest import LiveService, client_with_token, mail
from tests.serve.http.inspector_browser import REQUEST

from contextune.context import METHODS
from contextune.context.signals import FAMILIES
from contextune.serve.http.inspector import InspectReply
from contextune.serve.http.requests import ContextMethod
from contextune.serve.http.web import INSPECTOR_PATHS

WEB = ROOT / "src/contextune/serve/http/web"


def test_page_is_public_with_a_strict_content_security_policy(service: LiveService) -> None:
    with service.anonymous_client() as client:
        for path in INSPECTOR_PATHS - {"/", "/inspector"}:
            response = client.get(path)
            assert response.status_code == 200
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert client.get("/", follow_redirects=True).headers["Content-Type"].startswith("text/html")
        assert client.get("/inspector/../__init__.py").status_code == 401
        page = client.get("/inspector/").text
    assert "<style" not in page
    assert re.findall(r"<script[^>]*>[^<]", page) == []
    assert "style=" not in page
    assert "http" not in page


def test_scripts_parse_no_html_and_load_nothing_external() -> None:
    for script in WEB.glob("*.js"):
        text = script.read_text(encoding="utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "localStorage",
        ):
            assert word not in text, f"{word} in {script.name}"
        assert text.count("http") == text.count("http://www.w3.org/2000/svg"), script.name
    served = {path.rpartition("/")[2] for path in INSPECTOR_PATHS}
    assert {file.name for file in WEB.glob("*.[jc]s*")} <= served


def test_inspect_equals_the_answer_with_details(service: LiveService, elin: str) -> None:
    with client_with_token(service.url, elin) as client:
        reply = client.post("/v1/inspect", json=REQUEST)
        assert reply.headers["Cache-Control"] == "no-store"
        found: dict[str, Any] = reply.json()
        answer = client.post("/v1/ask", json=REQUEST).json()
        alone = client.post("/v1/tools", json={**REQUEST, "context": False}).json()
    TypeAdapter(InspectReply).validate_python(found, strict=True)
    parts = ("item", "score", "probability", "reasons")
    assert [{part: hit[part] for part in parts} for hit in found["context"]] == answer["context"]
    assert found["tools"] == answer["tools"]
    assert found["words_only"] is answer["words_only"] is False
    assert found["preparation"] == {"ready": 33, "total": 33}
    assert [hit["id"] for hit in found["alone"]["tools"]] == [hit["id"] for hit in alone["tools"]]
    assert {name: found["plans"][0][name] for name in answer["plan"]} == answer["plan"]
    assert {*found["plans"][0]["why"]} == {*answer["plan"]["arguments"]}
    signals = [hit["signals"] for hit in found["context"]]
    assert all({*weights} == {*FAMILIES} for weights in signals)
    # contributions are relative to the mean of these hits
    assert all(abs(sum(weights[family] for weights in signals)) < 1e-6 for family in FAMILIES)
    assert found["clock"] == "2022-11-17T20:30:00"
    assert found["plans"][0]["sentence"].startswith("Create a reminder “")
    assert found["context"][0]["title"] == "Rauk booster"
    assert found["context"][0]["when"] == "2022-11-18T16:15:00"
    assert found["context"][0]["when_text"] == "Fri 18 Nov 16:15"


def test_inspect_ranks_by_the_chosen_method(service: LiveService, elin: str) -> None:
    assert {*get_args(ContextMethod)} == {*METHODS}
    with client_with_token(service.url, elin) as client:
        learned = client.post("/v1/inspect", json=REQUEST).json()
        by_words = client.post("/v1/inspect", json={**REQUEST, "method": "bm25"}).json()
        assert client.post("/v1/inspect", json={**REQUEST, "method": "magic"}).status_code == 422
        assert client.post("/v1/inspect", json=REQUEST).json()["context"] == learned["context"]
    assert by_words["context"][0]["reasons"] == ["shares the words: me"]
    assert by_words["context"][0]["item"]["id"] != learned["context"][0]["item"]["id"]


def test_untitled_item_is_named_by_its_first_words(service: LiveService) -> None:
    with service.client("ana") as client:
        client.put("/v1/me", json={})
        client.put("/v1/items", json={"items": [mail("m1", "", "The kiln is free on Thursday, come then.")]})
        reply = client.post("/v1/inspect", json={"text": "the kiln", "time": "2024-05-16T17:40"}).json()
    assert reply["context"][0]["title"] == "The kiln is free on Thursday, come then."

"""The HTTP API over real connections: answers, authentication, isolation and errors."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter
from tests.serve.conftest import LiveService, client_with_token, mail, running

from contextune import InvalidDataError, Item, Request, SQLiteStore, StoreError, Tuner
from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.serve.http import responses
from contextune.serve.http.app import create_app
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.types import parse_time

MARK = "Zanzibarquartz"
"""Personal data: must not appear in errors."""


@pytest.fixture
def ines(service: LiveService) -> Iterator[httpx.Client]:
    with service.client("ines") as client:
        assert client.put(
            "/v1/me", json={"zone": "Europe/Lisbon", "places": {"home": [41.1, -8.6]}}
        ).is_success
        yield client
        client.delete("/v1/me")


def error(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_missing_or_invalid_token_is_401(service: LiveService) -> None:
    paths = [
        ("GET", "/v1/me"),
        ("PUT", "/v1/items"),
        ("POST", "/v1/ask"),
        ("DELETE", "/v1/me"),
        ("GET", "/x"),
    ]
    with service.anonymous_client() as nobody:
        for method, path in paths:
            answer = nobody.request(method, path)
            assert error(answer) == (401, "unauthorized")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        for header in ("Basic abc", "Bearer", "Bearer ctx_00_00", "ctx_00_00"):
            assert nobody.get("/v1/me", headers={"Authorization": header}).status_code == 401


def test_two_authorization_headers_are_401(service: LiveService, ines: httpx.Client) -> None:
    header = ("Authorization", ines.headers["Authorization"])
    with service.anonymous_client() as client:
        assert client.get("/v1/me", headers=[header, header]).status_code == 401


def test_monitoring_and_openapi_need_no_token(service: LiveService) -> None:
    with service.anonymous_client() as client:
        assert client.get("/health").json()["status"] == "ok"
        assert "contextune_requests_total" in client.get("/metrics").text
        document = client.get("/openapi.json").json()
    assert {"/v1/ask", "/v1/context", "/v1/tools", "/v1/plan", "/v1/feedback", "/v1/uses"} < {
        *document["paths"]
    }


def test_answer_equals_the_library(service: LiveService, tmp_path: Path) -> None:
    persona = read_persona(asset("personas/a08.json"))
    with SQLiteStore(service.settings.store) as store:
        load_persona(store, persona)
        query = next(query for query in persona.queries if query.id == "q6")
        request = {"text": query.text, "time": query.time.isoformat(), "place": query.place}
        with service.client(persona.id) as client:
            answer = client.post("/v1/ask", json=request).json()
            alone = client.post("/v1/context", json={**request, "k": 3, "why": True}).json()
            tools = client.post("/v1/tools", json={**request, "k": 2}).json()
            plan = client.post("/v1/plan", json=request).json()
            chosen = client.post("/v1/plan", json={**request, "tools": ["create_reminder"]}).json()
        hits = Tuner(store).context(persona.request(query))
        people = Tuner(store).people(persona.request(query), hits)
    assert [hit["item"]["id"] for hit in answer["context"]] == [hit.item.id for hit in hits]
    assert [hit["reasons"] for hit in answer["context"]] == [list(hit.reasons) for hit in hits]
    assert [hit["item"]["id"] for hit in alone["context"]] == [hit.item.id for hit in hits[:3]]
    assert [person["name"] for person in answer["people"]] == [person.name for person in people]
    assert alone["context"][0]["reasons"] == list(hits[0].reasons)
    assert answer["context"][0]["item"]["fields"] == dict(hits[0].item.fields)
    assert [hit["id"] for hit in tools["tools"]] == [hit["id"] for hit in answer["tools"]][:2]
    assert plan["plan"] == answer["plan"]
    assert answer["plan"]["ready"] == (answer["plan"]["decision"] == "act")
    assert (answer["plan"]["question"] is None) == answer["plan"]["ready"]
    assert chosen["plan"]["name"] == answer["plan"]["name"] == "create_reminder"
    assert answer["request"]["place"] == query.place
    assert {"context", "tools", "plan"} == {*answer["seconds"]}
    for kind, reply in (
        (responses.AnswerReply, answer),
        (responses.ContextReply, alone),
        (responses.ToolsReply, tools),
    ):
        TypeAdapter(kind).validate_python(reply, strict=True)


def test_compound_request_has_several_steps(service: LiveService, ines: httpx.Client) -> None:
    ines.put("/v1/items", json={"items": [mail("m1", "Kiln slots")]})
    request = {"text": "Set an alarm for 7 and play some jazz", "time": "2024-05-16T17:40"}
    steps = ines.post("/v1/ask", json=request).json()["steps"]
    assert len(steps) == 2
    assert all(step["name"] for step in steps)


def test_items_round_trip(ines: httpx.Client) -> None:
    put = [mail(f"m{n}", f"Kiln {n}") for n in range(5)] + [
        {
            "id": "n1",
            "app": "Recipes",
            "fields": {"title": "Bread", "time": "20 min", "for": [1, None, {"a": 1.5}]},
        }
    ]
    assert ines.put("/v1/items", json={"items": put}).json() == {"count": 6, "unread_times": []}
    first = ines.get("/v1/items", params={"limit": 4}).json()
    rest = ines.get("/v1/items", params={"start": first["next"], "limit": 4}).json()
    assert (first["total"], first["next"], rest["next"]) == (6, 4, None)
    assert first["items"] + rest["items"] == sorted(put, key=lambda item: str(item["id"]))
    assert ines.get("/v1/items", params={"app": "Recipes"}).json()["items"] == put[5:]
    assert ines.post("/v1/items/delete", json={"ids": ["m1", "none"]}).json() == {"count": 1}
    assert "m1" not in [item["id"] for item in ines.get("/v1/items").json()["items"]]


def test_user_round_trips(ines: httpx.Client) -> None:
    me: dict[str, Any] = {
        "profile": {"name": "Ines Duarte", "email": ["ines@example.com"]},
        "places": {"home": [41.15, -8.63]},
        "contacts": [
            {"name": "Marta", "email": "m@example.org", "phone": None, "relation": "sister", "more": {}}
        ],
        "zone": "Europe/Lisbon",
    }
    assert ines.put("/v1/me", json=me).status_code == 204
    assert ines.get("/v1/me").json() == me


def test_times_that_cannot_be_read_are_reported_without_their_values(ines: httpx.Client) -> None:
    fields = {"title": "Paint", "due": "when Rui is back"}
    items = [{"id": f"t{n}", "app": "Tasks", "fields": fields} for n in range(2)]
    reply = ines.put("/v1/items", json={"items": items}).json()
    assert reply == {"count": 2, "unread_times": [{"app": "Tasks", "field": "due", "count": 2}]}


def test_duplicate_uses_are_ignored(ines: httpx.Client) -> None:
    ines.put("/v1/items", json={"items": [mail("m1", "Kiln slots")]})
    uses = [
        {"item": "m1", "time": "2024-05-14T08:00:00", "place": "home"},
        {"item": "m1", "time": "2024-05-15T08:00:00+01:00", "place": None},
    ]
    assert ines.post("/v1/uses", json={"uses": uses}).json() == {"count": 2}
    assert ines.post("/v1/uses", json={"uses": uses}).json() == {"count": 0}
    assert ines.get("/v1/uses").json() == {"uses": uses, "total": 2, "next": None}
    strange = ines.post("/v1/uses", json={"uses": [{"item": "x", "time": "2024-05-14T08:00"}]})
    assert error(strange) == (422, "invalid")


def test_feedback_changes_the_ranking(ines: httpx.Client) -> None:
    played = {"artist": "The Band", "played_time": "2024-05-01T08:00"}
    songs = [
        {"id": f"s{n}", "app": "Music", "fields": {"song_name": name, **played}}
        for n, name in enumerate(["Slow river", "Tall hills", "Old stones", "Deep woods", "Red roofs"])
    ]
    ines.put("/v1/items", json={"items": songs})
    request: dict[str, Any] = {"text": "Put on what I run to", "place": "home"}

    def ranked(time: str) -> list[str]:
        answer = ines.post("/v1/context", json={**request, "time": time}).json()
        return [hit["item"]["id"] for hit in answer["context"]]

    last = ranked("2024-05-20T07:30")[-1]
    for day in range(10, 20):
        feedback = {**request, "time": f"2024-05-{day}T07:30", "used": [last]}
        assert ines.post("/v1/feedback", json=feedback).status_code == 204
    assert ranked("2024-05-20T07:30")[0] == last


def test_feedback_on_a_tool_raises_it(service: LiveService, ines: httpx.Client) -> None:
    ines.put("/v1/items", json={"items": [mail("m1", "Kiln slots")]})
    request = {"text": "the usual please", "time": "2024-05-16T17:40"}
    tools = ines.post("/v1/tools", json={**request, "k": 20}).json()["tools"]
    last = tools[-1]["id"]
    for day in range(10, 16):
        feedback = {**request, "time": f"2024-05-{day}T17:40", "tool": last}
        assert ines.post("/v1/feedback", json=feedback).status_code == 204
    tools = ines.post("/v1/tools", json={**request, "k": 10}).json()["tools"]
    assert last in [tool["id"] for tool in tools]
    assert error(ines.post("/v1/feedback", json={**request, "tool": "no such tool"})) == (422, "invalid")
    assert error(ines.post("/v1/feedback", json={**request, "used": ["no such item"]})) == (422, "invalid")
    assert error(ines.post("/v1/feedback", json=request)) == (422, "invalid")


def test_concurrent_users_see_only_their_own_data(service: LiveService) -> None:
    """All users have the same item ids and make the same requests, concurrently."""
    users = [f"user{n}" for n in range(6)]
    clients = [service.client(user) for user in users]
    for user, client in zip(users, clients, strict=True):
        client.put("/v1/me", json={"profile": {"name": user}})
        client.put("/v1/items", json={"items": [mail(f"m{n}", f"Kiln slots of {user}") for n in range(4)]})

    def ask(number: int) -> bool:
        place = number % len(users)
        request = {"text": "Which kiln slots?", "time": "2024-05-16T17:40"}
        route = ("context", "ask")[number % 4 == 0]
        found = clients[place].post(f"/v1/{route}", json=request).json()["context"]
        titles = {hit["item"]["fields"]["subject"] for hit in found}
        return len(found) == 4 and titles == {f"Kiln slots of {users[place]}"}

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(72)))
    forgotten = clients[0].delete("/v1/me")
    assert forgotten.status_code == 204
    assert all(client.get("/v1/items").json()["total"] == 4 for client in clients[1:])
    for client in clients:
        client.delete("/v1/me")
        client.close()


@pytest.mark.parametrize("named", ["user", "id", "user_id", "owner"])
def test_a_client_cannot_name_another_user(ines: httpx.Client, service: LiveService, named: str) -> None:
    with service.client("otto") as otto:
        otto.put("/v1/me", json={})
        otto.put("/v1/items", json={"items": [mail("o1", "Otto's")]})
        ines.put("/v1/items", json={"items": [mail("i1", "Ines's")]})
        request = {"text": "mails", "time": "2024-05-16T17:40"}
        assert error(ines.post("/v1/context", json={**request, named: "otto"})) == (422, "invalid")
        found = ines.get("/v1/items", params={named: "otto"}, headers={"X-User": "otto"}).json()["items"]
        assert [item["id"] for item in found] == ["i1"]
        assert ines.post("/v1/items/delete", json={"ids": ["o1"]}).json() == {"count": 0}
        assert error(ines.post("/v1/feedback", json={**request, "used": ["o1"]})) == (422, "invalid")
        assert otto.get("/v1/items").json()["total"] == 1
        otto.delete("/v1/me")


def test_forget_erases_all_bytes_until_the_user_is_created_again(service: LiveService) -> None:
    folder = Path(service.settings.store).parent
    with service.client("forgotten") as ines:
        ines.put("/v1/me", json={"profile": {"name": MARK}})
        ines.put("/v1/items", json={"items": [mail("m1", MARK)]})
        ines.post("/v1/feedback", json={"text": MARK, "time": "2024-05-16T17:40", "used": ["m1"]})
        assert ines.post("/v1/context", json={"text": MARK, "time": "2024-05-16T17:40"}).json()["context"]
        assert MARK.encode() in b"".join(file.read_bytes() for file in folder.iterdir())
        assert ines.delete("/v1/me").status_code == 204
        assert MARK.encode() not in b"".join(file.read_bytes() for file in folder.iterdir())
        # a client that keeps sending does not recreate the user
        assert error(ines.put("/v1/items", json={"items": [mail("m1", MARK)]})) == (404, "unknown_user")
        assert error(ines.get("/v1/items")) == (404, "unknown_user")
        assert error(ines.delete("/v1/me")) == (404, "unknown_user")
        ines.put("/v1/me", json={})
        assert ines.post("/v1/context", json={"text": MARK}).json()["context"] == []


def test_revoked_token_is_401_at_once(service: LiveService) -> None:
    tokens = TokenFile(service.tokens)
    with client_with_token(service.url, tokens.add("gone")) as client:
        assert client.get("/v1/me").status_code == 404
        tokens.remove(next(token.id for token in tokens.all() if token.user == "gone"))
        assert client.get("/v1/me").status_code == 401


BAD: list[tuple[str, str, Any]] = [
    ("POST", "/v1/context", {"text": MARK, "place": MARK}),
    ("POST", "/v1/context", {"text": MARK, "time": MARK}),
    ("POST", "/v1/context", {"text": MARK, MARK: MARK}),
    ("POST", "/v1/context", {"text": MARK, "history": [{"speaker": MARK}]}),
    ("POST", "/v1/context", {"text": MARK, "state": {"call": MARK}}),
    ("POST", "/v1/context", {"text": MARK, "k": MARK}),
    ("POST", "/v1/context", {"text": MARK * 1000}),
    ("POST", "/v1/context", MARK),
    ("POST", "/v1/plan", {"text": MARK, "tools": [MARK]}),
    ("PUT", "/v1/me", {"places": {MARK: [91, 0]}}),
    ("PUT", "/v1/me", {"zone": MARK}),
    ("PUT", "/v1/me", {"profile": {MARK: 2**70}}),
    ("PUT", "/v1/items", {"items": [{"id": MARK, "app": "Mail", "fields": {"date": MARK}}]}),
    ("PUT", "/v1/items", {"items": [{"id": MARK, "app": MARK, "fields": {"place": [MARK]}}]}),
    ("PUT", "/v1/items", {"items": [{"id": MARK, "app": MARK, "fields": {"a": 2**64}}]}),
    ("POST", "/v1/uses", {"uses": [{"item": MARK, "time": "2024-05-16T17:40"}]}),
    ("POST", "/v1/feedback", {"text": MARK, "used": [MARK]}),
    ("POST", "/v1/feedback", {"text": MARK, "used": [MARK], "rejected": [MARK]}),
    ("POST", "/v1/feedback", {"text": MARK, "tool": MARK}),
]


@pytest.mark.parametrize(("method", "path", "body"), BAD)
def test_validation_errors_have_no_personal_data(
    ines: httpx.Client, method: str, path: str, body: object
) -> None:
    answer = ines.request(method, path, json=body)
    assert error(answer) == (422, "invalid")
    assert MARK not in answer.text
    assert "ines" not in answer.text
    assert answer.json()["error"]["where"]
    assert answer.json()["error"]["request"] == answer.headers["X-Request-ID"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"text": ' + b"9" * 5000 + b"}", b'{"text": NaN}', b"null"],
)
def test_malformed_body_is_400_or_422(ines: httpx.Client, body: bytes) -> None:
    answer = ines.post("/v1/context", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


def test_lone_surrogate_is_rejected_but_can_be_read(service: LiveService, ines: httpx.Client) -> None:
    half = rb'{"items": [{"id": "m1", "app": "Mail", "fields": {"subject": "\ud800"}}]}'
    answer = ines.put("/v1/items", content=half, headers={"Content-Type": "application/json"})
    assert error(answer) == (422, "invalid")
    with SQLiteStore(service.settings.store) as store:  # as the import of a broken mail does
        store.put_items("ines", [Item("m1", "Mail", {"subject": "Kiln \ud800 slots"})])
    assert ines.get("/v1/items").json()["items"][0]["fields"]["subject"] == "Kiln \ud800 slots"
    assert len(ines.post("/v1/ask", json={"text": "kiln?"}).json()["context"]) == 1


def test_unknown_path_and_method(ines: httpx.Client) -> None:
    assert error(ines.get("/v1/elsewhere")) == (404, "not_here")
    assert error(ines.get("/v1/ask")) == (405, "not_here")
    assert ines.get("/v1/me").headers["Cache-Control"] == "no-store"


def test_broken_store_is_503(tmp_path: Path) -> None:
    with running(tmp_path) as service, service.client("ines") as ines:
        Path(service.settings.store).write_bytes(b"no store at all" * 1000)  # before the first connection
        answer = ines.put("/v1/items", json={"items": [mail("m1", MARK)]})
        assert error(answer) == (503, "store")
        assert answer.headers["Retry-After"]
        assert str(tmp_path) not in answer.text
        assert error(ines.get("/health")) == (503, "store")


def test_times_without_offset_are_local_to_the_user(service: LiveService, ines: httpx.Client) -> None:
    """A mail of nine o'clock in Lisbon does not exist yet at half past eight there."""
    ines.put("/v1/items", json={"items": [mail("m1", "Kiln", date="2024-05-13T09:00")]})
    early = ines.post("/v1/context", json={"text": "kiln", "time": "2024-05-13T08:30"}).json()
    later = ines.post("/v1/context", json={"text": "kiln", "time": "2024-05-13T08:30+00:00"}).json()
    assert (len(early["context"]), len(later["context"])) == (0, 1)
    with SQLiteStore(service.settings.store) as store:
        library_request = Request("kiln", "ines", parse_time("2024-05-13T08:30+00:00"))
        assert len(Tuner(store).context(library_request)) == 1


def test_invalid_settings_are_errors(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no such folder"):
        create_app(ServiceSettings(tmp_path / "none" / "store.db", tmp_path / "tokens.json"))
    with pytest.raises(InvalidDataError, match="at least one"):
        ServiceSettings(tmp_path / "store.db", tmp_path / "tokens.json", threads=0)

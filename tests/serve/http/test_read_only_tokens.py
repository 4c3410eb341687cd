"""A read-only token asks questions and changes nothing."""

from typing import Any

import pytest
from tests.serve.conftest import LiveService, client_with_token, mail

from contextune.serve.http.tokens import TokenFile

WRITES: list[tuple[str, str, Any]] = [
    ("PUT", "/v1/me", {}),
    ("DELETE", "/v1/me", None),
    ("PUT", "/v1/items", {"items": []}),
    ("POST", "/v1/items/delete", {"ids": ["m1"]}),
    ("POST", "/v1/uses", {"uses": []}),
    ("POST", "/v1/feedback", {"text": "x", "item": "m1", "ok": True}),
]


def test_read_only_token_reads(service: LiveService) -> None:
    with service.client("rosa") as writer:
        assert writer.put("/v1/me", json={}).status_code == 204
        assert writer.put("/v1/items", json={"items": [mail("m1", "Lease")]}).status_code == 200
    token = TokenFile(service.tokens).add("rosa", read_only=True)
    with client_with_token(service.url, token) as reader:
        assert reader.get("/v1/me").status_code == 200
        assert reader.get("/v1/items").json()["items"]
        assert reader.post("/v1/context", json={"text": "the lease"}).status_code == 200


@pytest.mark.parametrize(("method", "path", "body"), WRITES, ids=lambda value: str(value))
def test_read_only_token_changes_nothing(service: LiveService, method: str, path: str, body: Any) -> None:
    token = TokenFile(service.tokens).add("rosa", read_only=True)
    with client_with_token(service.url, token) as reader:
        reply = reader.request(method, path, json=body)
        assert reply.status_code == 403
        assert reply.json()["error"]["code"] == "read_only"

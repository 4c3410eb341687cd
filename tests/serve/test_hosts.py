"""Host names that services answer for."""

import asyncio
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import LiveService

from contextune import SQLiteStore, Tuner
from contextune.serve.hosts import AllowedHosts, allowed_hosts
from contextune.serve.http.app import create_app
from contextune.serve.http.settings import ServiceSettings
from contextune.serve.http.tokens import TokenFile
from contextune.serve.mcp.http_transport import http_app
from contextune.serve.mcp.lazy_tuner import LazyTuner
from contextune.serve.mcp.server import mcp_server


@pytest.mark.parametrize("bound", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_loopback_addresses_refuse_foreign_names(bound: str) -> None:
    hosts = allowed_hosts(bound)
    own = f"[{bound}]" if ":" in bound else bound
    for name in (own, "localhost", "LOCALHOST:80", "127.0.0.1:8765", "[::1]:8765"):
        assert hosts.allow_host(name), name
        assert hosts.allow_origin(f"http://{name}"), name
    for name in ("evil.example.org", "localhost.evil.example.org", "127.0.0.1.evil.org", "127.0.0.3", ""):
        assert not hosts.allow_host(name), name
        assert not hosts.allow_origin(f"http://{name}"), name
    assert not hosts.allow_host(None)
    assert hosts.allow_origin(None)
    for origin in (
        "null",
        "http://localhost@evil.example.org",
        "http://[::1",
        "http://localhost:x",
        "file://",
    ):
        assert not hosts.allow_origin(origin), origin


def test_other_addresses_allow_every_name_unless_some_are_given() -> None:
    assert allowed_hosts("0.0.0.0").allow_host("anything")
    assert allowed_hosts("127.0.0.1", ["*"]).allow_host("anything")
    hosts = allowed_hosts("192.0.2.1", ["Example.org", "*.example.com"])
    allowed = ("example.org:443", "www.example.com", "192.0.2.1", "localhost")
    assert all(hosts.allow_host(name) for name in allowed)
    assert not any(hosts.allow_host(name) for name in ("www.example.org", "example.com", "evilexample.com"))


def test_slash_at_the_end_is_no_redirect(service: LiveService) -> None:
    with service.client("ines") as ines:
        for path in ("/v1/me/", "/v1/items/", "/health/"):
            response = ines.put(path, json={}, headers={"Host": "evil.example.org"})
            assert response.status_code == 404, path
            assert "location" not in response.headers


def test_inspector_redirects_to_a_relative_path(service: LiveService) -> None:
    with service.anonymous_client() as client:
        response = client.get("/inspector", headers={"Host": "evil.example.org"})
    assert response.headers["location"] == "inspector/"


def test_service_answers_for_its_hosts_only(tmp_path: Path) -> None:
    settings = ServiceSettings(tmp_path / "store.db", tmp_path / "tokens.json", hosts=("example.org",))
    token = TokenFile(tmp_path / "tokens.json").add("ines")
    with TestClient(create_app(settings), "http://example.org") as client:
        authorization = {"Authorization": f"Bearer {token}"}
        assert client.get("/v1/me", headers=authorization).status_code == 404  # unknown user
        for headers in ({"Host": "other.org"}, {"Origin": "https://other.org"}):
            refused = client.get("/v1/me", headers={**authorization, **headers})
            assert (refused.status_code, refused.json()["error"]["code"]) == (421, "unknown_host")
            assert client.get("/openapi.json", headers=headers).status_code == 421
        assert client.get("/health", headers={"Host": "10.0.0.7:8765"}).status_code == 200  # of a probe


@pytest.mark.parametrize("path", ["/", "/docs", "/health", "/openapi.json", "/v1/me", "/inspector/api.js"])
def test_every_response_has_a_content_security_policy(service: LiveService, path: str) -> None:
    with service.anonymous_client() as client:
        headers = client.get(path).headers
    (policy,) = headers.get_list("content-security-policy")
    assert policy.startswith("default-src 'none'")
    assert headers.get_list("x-content-type-options") == ["nosniff"]


@pytest.mark.parametrize("bound", ["127.0.0.1", "127.0.0.2"])
def test_mcp_refuses_foreign_hosts_and_origins_on_loopback(store: SQLiteStore, bound: str) -> None:
    server = mcp_server("ines", LazyTuner(lambda progress: Tuner(store, progress=progress)))
    token = "t" * 20
    transport = httpx.ASGITransport(http_app(server, token, allowed_hosts(bound)))

    async def statuses() -> list[int]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{bound}:8765") as client:
            return [
                (await client.get("/nowhere", headers={**headers, **extra})).status_code
                for extra in ({}, {"Host": "evil.example.org"}, {"Origin": "http://evil.example.org"})
            ]

    assert asyncio.run(statuses()) == [404, 421, 421]


def test_no_names_allow_everything() -> None:
    assert AllowedHosts().allow_host(None)
    assert AllowedHosts().allow_origin("https://anything")

"""A user of the inspector, and a service whose items have no vectors yet."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.context.test_preparation import MANY, PausedEmbedder
from tests.serve.conftest import LiveService, mail, running

from contextune import SQLiteStore
from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.serve.http import service as service_module
from contextune.serve.http.tokens import TokenFile


@pytest.fixture(scope="module")
def elin(service: LiveService) -> str:
    """The token of a user with many items."""
    with SQLiteStore(service.settings.store) as store:
        load_persona(store, read_persona(asset("personas/a08.json")))
    return TokenFile(service.tokens).add("a08")


@dataclass(frozen=True)
class PreparingService:
    """A service, and a user of it with `MANY` mails, the eighth titled "Glaze"; `embedder.go` goes on."""

    service: LiveService
    client: httpx.Client
    embedder: PausedEmbedder


@pytest.fixture
def preparing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PreparingService]:
    """A service that does not wait for vectors, whose embedder pauses before the items."""
    embedder = PausedEmbedder()
    embedder.go.set()  # the tools are embedded at once

    def paused(threads: int | None = None) -> PausedEmbedder:
        del threads
        return embedder

    for name in ("default_embedder", "OnnxEmbedder"):
        monkeypatch.setattr(service_module, name, paused)
    with running(tmp_path, wait=False) as service, service.client("ines") as client:
        client.put("/v1/me", json={}).raise_for_status()
        embedder.go.clear()
        mails = [mail(f"m{n}", "Glaze" if n == 7 else f"Clay {n}") for n in range(MANY)]
        client.put("/v1/items", json={"items": mails}).raise_for_status()
        yield PreparingService(service, client, embedder)

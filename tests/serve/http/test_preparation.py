"""A service that answers by words until the vectors of new items are there."""

from pathlib import Path

import pytest
from tests.context.test_preparation import MANY, PausedEmbedder
from tests.serve.conftest import mail, running
from tests.serve.waiting import wait_until

from contextune.serve.http import service as service_module

REQUEST = {"text": "Where was the glaze?", "time": "2024-05-16T17:40"}


def test_service_without_waiting_answers_by_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        assert client.get("/v1/preparation").json() == {"ready": 0, "total": MANY}
        for route in ("/v1/context", "/v1/ask"):
            answer = client.post(route, json=REQUEST).json()
            assert answer["words_only"] is True
            assert answer["context"][0]["item"]["id"] == "m7"
        embedder.go.set()
        wait_until(lambda: client.get("/v1/preparation").json() == {"ready": MANY, "total": MANY})
        wait_until(lambda: not client.post("/v1/context", json=REQUEST).json()["words_only"])

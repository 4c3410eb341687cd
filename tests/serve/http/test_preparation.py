"""A service that answers by words until the vectors of new items are there."""

from tests.context.test_preparation import MANY
from tests.serve.http.conftest import PreparingService
from tests.serve.waiting import wait_until

REQUEST = {"text": "Where was the glaze?", "time": "2024-05-16T17:40"}


def test_service_without_waiting_answers_by_words(preparing: PreparingService) -> None:
    client, embedder = preparing.client, preparing.embedder
    assert client.get("/v1/preparation").json() == {"ready": 0, "total": MANY}
    for route in ("/v1/context", "/v1/ask"):
        answer = client.post(route, json=REQUEST).json()
        assert answer["words_only"] is True
        assert answer["context"][0]["item"]["id"] == "m7"
    embedder.go.set()
    wait_until(lambda: client.get("/v1/preparation").json() == {"ready": MANY, "total": MANY})
    wait_until(lambda: not client.post("/v1/context", json=REQUEST).json()["words_only"])

"""`contextune train ranker` for another embedder, from end to end: train, load, ask in another language."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import WordEmbedder
from tests.embed import tiny_bert
from tests.lab.train.tiny_tools import QUICK
from tests.openai_server import OpenAIServer, Reply
from typer.testing import CliRunner

from contextune import datasets
from contextune.cli.lab import train
from contextune.context.ranker import ContextRanker
from contextune.embed import EndpointEmbedder, SentenceTransformersEmbedder, readability
from contextune.errors import ContextuneError
from contextune.lab.train.rankers.context import examples as context_examples
from contextune.lab.train.rankers.context import train as recipe
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Item, Request, User

NOW = datetime(2024, 5, 16, 19)
NOTES = {
    "ru": ("Рецепт борща", "свёкла, капуста, картофель"),
    "zh": ("牛肉面的做法", "牛肉、面条、青菜"),
    "el": ("Συνταγή για μουσακά", "μελιτζάνες, πατάτες, κιμάς"),
    "ar": ("وصفة الكسكس", "سميد وخضار ولحم"),
}
REQUESTS = {
    "ru": "Открой рецепт борща",
    "zh": "牛肉面怎么做？",
    "el": "Άνοιξε τη συνταγή για μουσακά",
    "ar": "افتح وصفة الكسكس",
}


class EmbeddingServer(OpenAIServer):
    """Embeds words of any language."""

    def reply(self, body: dict[str, Any]) -> Reply:
        rows = WordEmbedder().embed(body["input"]).tolist()
        return 200, {"data": [{"index": number, "embedding": row} for number, row in enumerate(rows)]}


@pytest.fixture(autouse=True)
def few_personas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three personas of three folds, some pairs and few rounds."""
    personas, pairs = datasets.bundled_personas()[:3], datasets.bundled_pairs()[:150]
    monkeypatch.setattr(datasets, "bundled_personas", lambda: personas)
    monkeypatch.setattr(datasets, "training_personas", list)
    monkeypatch.setattr(context_examples, "bundled_pairs", lambda: pairs)
    monkeypatch.setattr(context_examples, "training_pairs", list)
    monkeypatch.setattr(recipe, "FIRST_PASS", QUICK)
    monkeypatch.setattr(recipe, "SECOND_PASS", QUICK)
    monkeypatch.setattr(recipe, "GRID", {"ranker": (1.0,), "meaning": (0.0, 0.2)})


def _train(out: Path, *options: str) -> ContextRanker:
    done = CliRunner().invoke(train.app, ["ranker", "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return ContextRanker.load(out)


def _ask(store: SQLiteStore, tuner: Tuner, language: str) -> list[str]:
    store.put_user(User("u"))
    notes = [
        Item.note(title=title, content=content, modified=NOW, id=name)
        for name, (title, content) in NOTES.items()
    ]
    store.put_items("u", notes)
    return [hit.item.id for hit in tuner.context(Request(REQUESTS[language], "u", NOW))]


def test_endpoint(tmp_path: Path, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with EmbeddingServer() as server:
        ranker = _train(tmp_path / "ranker", "--endpoint", server.url, "--model", "words")
        embedder = EndpointEmbedder("words", base_url=server.url)
        assert ranker.has_classifier_for(embedder.name)
        learned = Tuner(store, embedder=embedder, ranker=ranker)
        hybrid = Tuner(store, embedder=embedder, method="hybrid")
        for language in NOTES:
            assert sorted(_ask(store, learned, language)) == sorted(NOTES)
            assert _ask(store, hybrid, language)[0] == language


def test_sentence_transformers(tmp_path: Path, store: SQLiteStore) -> None:
    folder = str(tiny_bert.make(tmp_path / "model"))
    ranker = _train(tmp_path / "ranker", "--sentence-transformers", folder)
    embedder = SentenceTransformersEmbedder(folder)
    assert ranker.has_classifier_for(embedder.name)
    assert readability(embedder, REQUESTS["ru"]) == 0
    assert sorted(_ask(store, Tuner(store, embedder=embedder, ranker=ranker), "ru")) == sorted(NOTES)


def test_public_sets_are_for_the_bundled_embedder(tmp_path: Path) -> None:
    options = [
        "ranker",
        "--out",
        str(tmp_path / "r"),
        "--sentence-transformers",
        "m",
        "--public",
        str(tmp_path),
    ]
    result = CliRunner().invoke(train.app, options)
    assert result.exit_code != 0
    assert isinstance(result.exception, ContextuneError)
    assert "bundled embedder" in str(result.exception)

"""`contextune train ranker` for another embedder, from end to end: train, load, ask in another language."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import WordEmbedder
from tests.embed import tiny_bert
from tests.lab.public_data.test_context_sets import ITEMS, QUERIES, write_set
from tests.lab.train.tiny_tools import QUICK
from tests.openai_server import OpenAIServer, Reply
from typer.testing import CliRunner

from contextune import datasets
from contextune.context.ranker import ContextRanker
from contextune.context.retriever import ContextRetriever
from contextune.embed import (
    EndpointEmbedder,
    Matrix,
    OnnxEmbedder,
    SentenceTransformersEmbedder,
    default_embedder,
    readability,
)
from contextune.errors import ContextuneError
from contextune.rank import RankerSettings
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Item, Request, User
from contextune_lab.bench.untuned_embedder import untuned_embedder
from contextune_lab.cli import train, training_data
from contextune_lab.public_data.context_sets import ContextSet, read_workbench
from contextune_lab.train.rankers.context import embedded_personas, mixture
from contextune_lab.train.rankers.context import train as recipe
from contextune_lab.train.rankers.context.authored_stores import authored_stores

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
    german = ContextSet("authored", [user for user in authored_stores().users if user.id == "language de"])
    monkeypatch.setattr(training_data, "bundled_personas", lambda: personas)
    monkeypatch.setattr(training_data, "training_personas", list)
    monkeypatch.setattr(embedded_personas, "bundled_pairs", lambda: pairs)
    monkeypatch.setattr(embedded_personas, "training_pairs", list)
    monkeypatch.setattr(mixture, "authored_stores", lambda: german)
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
        ranker = _train(tmp_path / "ranker", "--quick", "--endpoint", server.url, "--model", "words")
        embedder = EndpointEmbedder("words", base_url=server.url)
        assert ranker.has_classifier_for(embedder.name)
        learned = Tuner(store, embedder=embedder, ranker=ranker)
        hybrid = Tuner(store, embedder=embedder, method="hybrid")
        for language in NOTES:
            assert sorted(_ask(store, learned, language)) == sorted(NOTES)
            assert _ask(store, hybrid, language)[0] == language


def test_sentence_transformers(tmp_path: Path, store: SQLiteStore) -> None:
    folder = str(tiny_bert.make(tmp_path / "model"))
    ranker = _train(tmp_path / "ranker", "--quick", "--sentence-transformers", folder)
    embedder = SentenceTransformersEmbedder(folder)
    assert ranker.has_classifier_for(embedder.name)
    assert readability(embedder, REQUESTS["ru"]) == 0
    assert sorted(_ask(store, Tuner(store, embedder=embedder, ranker=ranker), "ru")) == sorted(NOTES)


class CountingEmbedder(WordEmbedder):
    """Counts the texts it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.texts += texts
        return super().embed(texts)


def test_all_parts_of_the_mixture_are_made_for_another_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbench = read_workbench(write_set(tmp_path / "workbench", ITEMS, QUERIES))

    def sets(_folder: Path) -> list[ContextSet]:
        return [workbench]

    monkeypatch.setattr(training_data, "training_sets", sets)
    embedder, cache = CountingEmbedder(), tmp_path / "vectors.db"
    examples, _ = training_data.ranker_data(embedder, tmp_path, cache=cache)
    parts = {name.partition("/")[0] for name in (example.name for example in examples)}
    assert {"late", "bare", "large", "recast", "blind", "said", "authored", "WorkBench"} < parts
    assert len(embedder.texts) == len(set(embedder.texts))
    again = CountingEmbedder()
    repeated, _ = training_data.ranker_data(again, tmp_path, cache=cache)
    assert again.texts == []
    assert [example.name for example in repeated] == [example.name for example in examples]


def test_ranker_of_another_embedder_answers_explicit_requests(
    tmp_path: Path, store: SQLiteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = RankerSettings(rounds=20, seeds=1, smallest_leaf=10)
    monkeypatch.setattr(recipe, "FIRST_PASS", settings)
    monkeypatch.setattr(recipe, "SECOND_PASS", settings)
    monkeypatch.setattr(mixture, "authored_stores", lambda: ContextSet("authored", []))

    def untuned(*_options: str | None) -> OnnxEmbedder:
        return untuned_embedder()

    monkeypatch.setattr(train, "_embedder", untuned)
    ranker = _train(tmp_path / "ranker")
    assert ranker.has_classifier_for(untuned_embedder().name)
    unseen = datasets.bundled_personas()[4]
    datasets.load_persona(store, unseen)
    request = unseen.request(unseen.queries[0])
    own, other = (ContextRetriever(store, e, ranker=ranker) for e in (untuned_embedder(), default_embedder()))
    assert own.app_probabilities(request)
    assert not other.app_probabilities(request)
    tuner = Tuner(store, embedder=untuned_embedder(), ranker=ranker)
    explicit = [
        query
        for query in datasets.training_requests()[unseen.id]
        if query.gold.kind == "explicit" and query.gold.relevant
    ]
    found = [
        {hit.item.id for hit in tuner.context(unseen.request(query), 3)} & query.gold.relevant.keys()
        for query in explicit
        if query.gold.relevant
    ]
    assert len(found) > 2
    assert all(found)


def test_quick_training_takes_no_public_sets(tmp_path: Path) -> None:
    options = ["ranker", "--out", str(tmp_path / "r"), "--quick", "--public", str(tmp_path)]
    result = CliRunner().invoke(train.app, options)
    assert isinstance(result.exception, ContextuneError)
    assert "--quick" in str(result.exception)

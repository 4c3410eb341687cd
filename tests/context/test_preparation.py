"""Requests that do not wait for the vectors of new items."""

import threading
from collections.abc import Sequence
from datetime import datetime
from threading import Event

import pytest
from tests.conftest import WordEmbedder

from contextune import Item, Request, SQLiteStore, Tuner, User, bundled_toolbox
from contextune.context.preparation import FEW_ITEMS, BackgroundEmbedding, Preparation
from contextune.embed import Matrix
from contextune.errors import EmbedderError

NOW = datetime(2024, 5, 16, 17, 40)
MANY = FEW_ITEMS + 10


class PausedEmbedder(WordEmbedder):
    """Embeds many texts at once only after `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.go = Event()
        self.error: Exception | None = None

    def embed(self, texts: Sequence[str]) -> Matrix:
        if len(texts) > FEW_ITEMS:
            assert self.go.wait(600)  # a browser on a busy machine is slow
            if self.error:
                raise self.error
        return super().embed(texts)


@pytest.fixture
def many(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ines"))
    notes = [
        Item.note(id=f"n{n}", title=f"Note {n}", content="glaze" if n == 7 else "clay", modified=NOW)
        for n in range(MANY)
    ]
    store.put_items("ines", notes)
    return store


def join_threads() -> None:
    for thread in threading.enumerate():
        if thread.name == "contextune-embed":
            thread.join(60)


def test_requests_are_answered_by_words_until_vectors_are_there(many: SQLiteStore) -> None:
    embedder = PausedEmbedder()
    tuner = Tuner(many, embedder=embedder, wait=False)
    request = Request("Where was the glaze?", "ines", NOW)
    assert tuner.preparation("ines") == Preparation(0, MANY)
    assert tuner.context(request, 1)[0].item.id == "n7"
    assert tuner.preparation("ines") == Preparation(0, MANY)
    embedder.go.set()
    join_threads()
    assert tuner.preparation("ines") == Preparation(MANY, MANY)
    expected = Tuner(many, embedder=WordEmbedder()).context(request, 3)
    assert [(hit.item, hit.score) for hit in tuner.context(request, 3)] == [
        (hit.item, hit.score) for hit in expected
    ]


def test_tools_and_plans_do_not_wait_for_vectors(many: SQLiteStore) -> None:
    embedder = PausedEmbedder()
    tuner = Tuner(many, embedder=embedder, tools=bundled_toolbox()[:9], wait=False)
    answer = tuner.answer(Request("Where was the glaze?", "ines", NOW), 3)
    assert answer.context[0].item.id == "n7"
    assert answer.tools
    assert not tuner.preparation("ines").done
    assert tuner.tools(Request("Where was the glaze?", "ines", NOW), context=[]).hits
    embedder.go.set()
    join_threads()


def test_few_new_items_are_embedded_at_once(many: SQLiteStore) -> None:
    embedder = PausedEmbedder()
    embedder.go.set()
    tuner = Tuner(many, embedder=embedder, wait=False)
    tuner.prepare("ines")
    assert tuner.preparation("ines").done
    embedder.go.clear()
    many.put_items("ines", [Item.note(id="new", title="Kiln", content="cone 6", modified=NOW)])
    assert tuner.preparation("ines") == Preparation(MANY, MANY + 1)
    assert tuner.context(Request("What about the kiln?", "ines", NOW), 1)[0].item.id == "new"
    assert tuner.preparation("ines").done


def test_error_of_the_embedder_reaches_the_next_request(many: SQLiteStore) -> None:
    embedder = PausedEmbedder()
    embedder.error = EmbedderError("the server is gone")
    tuner = Tuner(many, embedder=embedder, wait=False)
    request = Request("Where was the glaze?", "ines", NOW)
    assert tuner.context(request, 1)
    embedder.go.set()
    join_threads()
    with pytest.raises(EmbedderError, match="the server is gone"):
        tuner.context(request, 1)
    assert tuner.context(request, 1)  # tries again
    join_threads()


def test_forgotten_user_leaves_no_vectors(many: SQLiteStore) -> None:
    embedder = PausedEmbedder()
    tuner = Tuner(many, embedder=embedder, wait=False)
    assert tuner.context(Request("Where was the glaze?", "ines", NOW), 1)
    tuner.forget("ines")
    embedder.go.set()
    many.put_user(User("ines"))
    join_threads()
    assert many.enriched_vectors("ines", embedder.name, None) == {}


def test_a_user_is_embedded_by_one_thread() -> None:
    background, started, go = BackgroundEmbedding(), list[int](), Event()

    def embed() -> None:
        started.append(1)
        assert go.wait(60)

    for _ in range(3):
        background.start("ines", 10, embed)
    background.report("ines", 4)
    assert background.pending("ines") == 6
    assert background.is_running("ines")
    go.set()
    join_threads()
    assert not background.is_running("ines")
    assert started == [1]
    assert background.pending("ines") == 0


def test_answer_says_that_vectors_are_missing(many: SQLiteStore) -> None:
    embedder = PausedEmbedder()
    tuner = Tuner(many, embedder=embedder, wait=False)
    request = Request("Where was the glaze?", "ines", NOW)
    assert tuner.answer(request).words_only
    assert tuner.context(request).words_only
    embedder.go.set()
    join_threads()
    assert not tuner.answer(request).words_only
    assert not tuner.context(request).words_only

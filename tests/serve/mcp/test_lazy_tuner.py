"""LazyTuner: models load in the background, and loading can fail or be cancelled."""

import asyncio

import pytest
from tests.serve.waiting import PATIENCE

from contextune import Tuner
from contextune._internal.assets import asset
from contextune.datasets import read_persona
from contextune.embed import Embedder
from contextune.errors import InvalidRequestError
from contextune.serve.mcp.lazy_tuner import CancellableProgress, LazyTuner
from contextune.store import SQLiteStore
from contextune.types import Progress, User


def test_models_load_before_the_client_connects(store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    store.put_items("ines", read_persona(asset("personas/a01.json")).items[:2])
    lazy = LazyTuner(lambda progress: Tuner(store, embedder=word_embedder, progress=progress))
    tuner = lazy.start("ines").result(PATIENCE)  # without an event loop
    assert tuner.preparation("ines").ready == 2
    assert asyncio.run(lazy()) is tuner
    lazy.close()


def test_failed_build_is_tried_again(store: SQLiteStore, word_embedder: Embedder) -> None:
    failures = [InvalidRequestError("no model")]

    def build(progress: Progress) -> Tuner:
        if failures:
            raise failures.pop()
        return Tuner(store, embedder=word_embedder, progress=progress)

    lazy = LazyTuner(build)
    with pytest.raises(InvalidRequestError, match="no model"):
        asyncio.run(lazy())
    assert isinstance(asyncio.run(lazy()), Tuner)
    lazy.close()


def test_cancelled_progress_aborts_the_job() -> None:
    progress_callback = CancellableProgress()
    progress_callback(1, 2)
    progress_callback.cancel()
    with pytest.raises(Exception, match="cancelled after 1 of 2"):
        progress_callback(1, 2)

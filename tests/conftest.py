"""Fixtures of all tests: a store in a file, and an embedder whose similarity is word overlap."""

import gc
import os
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pytest
from hypothesis import settings
from tests import model_memo
from tests.postgres_server import new_database, running_server

from contextune.embed import Embedder, Matrix
from contextune.embed.protocol import normalize_rows
from contextune.search import tokenize
from contextune.store import SQLiteStore
from contextune.types import app_schema
from contextune.types.app_description import DESCRIBED_APPS

# in CI every run tries the same examples: a change is to blame for what fails there
settings.register_profile("contextune", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("contextune")


_SLOW_FILES = (
    "fleet/test_postgres.py",
    "fleet/test_ray_cluster.py",
    "plan/test_injections.py",
    "bench/speed/cluster/test_benchmark.py",
    "mcp/test_hostile_servers.py",
    "http/test_inspector_page.py",
    "e2e/test_tour.py",
    "e2e/test_wheel.py",
    "context/test_sequences.py",
    "plan/test_requests.py",
    "policy/test_personal_values.py",
    "multi_step/test_tuner_steps.py",
    "cli/test_bench_context.py",
    "tests/test_docs.py",
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage among the million objects of imported modules: it takes a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of few tests that take long come first, or one process would be left with them at the end."""
    items.sort(key=lambda item: not item.path.as_posix().endswith(_SLOW_FILES))


class WordEmbedder:
    """A bag of hashed words: fast, deterministic, and easy to reason about."""

    name = "hashed words"

    def embed(self, texts: Sequence[str]) -> Matrix:
        rows = np.zeros((len(texts), 512), np.float32)
        rows[:, 0] = 1e-3  # a text without words needs a direction too
        for row, text in zip(rows, texts, strict=True):
            for word in tokenize(text):
                row[1 + crc32(word.encode()) % 511] += 1
        return normalize_rows(rows, texts=len(texts), source=self.name)


@pytest.fixture(autouse=True, scope="session")
def no_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands in tests, also in processes of their own, read no configuration of the machine."""
    with patch.dict(os.environ, CONTEXTUNE_CONFIG=str(tmp_path_factory.mktemp("config") / "config.toml")):
        yield


@pytest.fixture(autouse=True, scope="session")
def memoized_models() -> Iterator[None]:
    with model_memo.models_run_once_per_text():
        yield


@pytest.fixture
def models_run_each_time() -> Iterator[None]:
    with model_memo.models_run_each_time():
        yield


@pytest.fixture(autouse=True)
def own_descriptions() -> Iterator[None]:
    """What a test describes, also by running the example of a page, is not described for the next."""
    with patch.object(app_schema, "_descriptions", dict(DESCRIBED_APPS)):
        yield


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path / "store.db") as store:
        yield store


@pytest.fixture
def word_embedder() -> Embedder:
    return WordEmbedder()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    with new_database(postgres_server) as url:
        yield url

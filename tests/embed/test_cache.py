"""Each text is embedded once, and vectors are not mixed up."""

import gc
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import numpy as np
import pytest

from contextune.embed import CachedEmbedder, Matrix, embed_items
from contextune.store import SQLiteStore
from contextune.types import User


class CountingEmbedder:
    """Deterministic vectors, and a record of all texts embedded."""

    def __init__(self, name: str = "counting", sign: int = 1) -> None:
        self.name = name
        self.texts: list[str] = []
        self.calls = 0
        self.latest: weakref.ref[Matrix] | None = None
        self._sign = sign

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.calls += 1
        self.texts += texts
        rows = np.array([self.row(text) for text in texts], np.float32).reshape(len(texts), 4)
        self.latest = weakref.ref(rows)
        return rows

    def row(self, text: str) -> list[float]:
        angle = sum(map(ord, text)) % 997
        return [self._sign * float(np.cos(angle)), float(np.sin(angle)), 0.0, 0.0]

    def rows(self, texts: Sequence[str]) -> Matrix:
        """The expected vectors; not recorded."""
        return np.array([self.row(text) for text in texts], np.float32)


@pytest.fixture
def counting() -> CountingEmbedder:
    return CountingEmbedder()


class TestEmbedItems:
    @pytest.fixture(autouse=True)
    def users(self, store: SQLiteStore) -> None:
        for user in ("ana", "bo"):
            store.put_user(User(user))

    def embed(self, texts: Sequence[str], embedder: CountingEmbedder, store: SQLiteStore) -> Matrix:
        return embed_items(texts, embedder=embedder, store=store, user="ana")

    def test_each_text_is_embedded_once(self, store: SQLiteStore, counting: CountingEmbedder) -> None:
        texts = ["tea", "milk", "tea", "", "milk"]
        for _ in range(2):
            assert np.array_equal(self.embed(texts, counting, store), counting.rows(texts))
        assert counting.texts == ["tea", "milk", ""]

    def test_only_new_texts_are_embedded(self, store: SQLiteStore, counting: CountingEmbedder) -> None:
        self.embed(["tea", "milk"], counting, store)
        texts = ["bread", "milk", "salt"]
        assert np.array_equal(self.embed(texts, counting, store), counting.rows(texts))
        assert counting.texts == ["tea", "milk", "bread", "salt"]

    def test_vectors_survive_reopening(self, tmp_path: Path, counting: CountingEmbedder) -> None:
        for _ in range(2):
            with SQLiteStore(tmp_path / "store.db") as store:
                store.put_user(User("ana"))
                rows = self.embed(["tea", "milk"], counting, store)
                assert np.array_equal(rows, counting.rows(["tea", "milk"]))
        assert counting.calls == 1

    def test_models_do_not_share_vectors(self, store: SQLiteStore) -> None:
        first, other = CountingEmbedder("first"), CountingEmbedder("other", sign=-1)
        for _ in range(2):
            for embedder in (first, other):
                assert np.array_equal(self.embed(["tea"], embedder, store), embedder.rows(["tea"]))
        assert first.texts == other.texts == ["tea"]

    def test_users_do_not_share_vectors(self, store: SQLiteStore, counting: CountingEmbedder) -> None:
        for user in ("ana", "bo"):
            embed_items(["tea"], embedder=counting, store=store, user=user)
        assert counting.texts == ["tea", "tea"]

    def test_progress(self, store: SQLiteStore, counting: CountingEmbedder) -> None:
        calls: list[tuple[int, int]] = []

        def progress(done: int, total: int) -> None:
            calls.append((done, total))

        self.embed(["0", "1"], counting, store)
        texts = [str(number) for number in range(602)]
        for _ in range(2):
            rows = embed_items([*texts, "7"], embedder=counting, store=store, user="ana", progress=progress)
            assert np.array_equal(rows, counting.rows([*texts, "7"]))
        assert calls == [(128, 600), (256, 600), (384, 600), (512, 600), (600, 600)]
        assert len(counting.texts) == 602

    def test_finished_chunks_are_stored_if_a_later_one_fails(
        self, store: SQLiteStore, counting: CountingEmbedder
    ) -> None:
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        texts = [str(number) for number in range(300)]
        with pytest.raises(KeyboardInterrupt):
            embed_items(texts, embedder=counting, store=store, user="ana", progress=stop)
        self.embed(texts, counting, store)
        assert counting.texts == texts

    def test_no_texts(self, store: SQLiteStore, counting: CountingEmbedder) -> None:
        assert len(self.embed([], counting, store)) == 0
        assert counting.calls == 0


class TestCachedEmbedder:
    def test_each_text_is_embedded_once(self, counting: CountingEmbedder) -> None:
        cached = CachedEmbedder(counting)
        for texts in (["tea", "milk", "tea"], ["milk"], ["salt", "tea", "salt"]):
            assert np.array_equal(cached.embed(texts), counting.rows(texts))
        assert counting.texts == ["tea", "milk", "salt"]
        assert counting.calls == 2
        assert cached.name == "counting"

    def test_least_recently_used_text_is_evicted(self, counting: CountingEmbedder) -> None:
        cached = CachedEmbedder(counting, size=2)
        for text in ("tea", "milk", "tea", "salt"):  # milk is the least recently used
            cached.embed([text])
        counting.texts.clear()
        cached.embed(["tea", "salt"])
        assert counting.texts == []
        cached.embed(["milk"])
        assert counting.texts == ["milk"]

    def test_more_texts_than_the_cache_holds(self, counting: CountingEmbedder) -> None:
        texts = [str(number) for number in range(20)]
        cached = CachedEmbedder(counting, size=3)
        for _ in range(2):
            assert np.array_equal(cached.embed(texts), counting.rows(texts))
        counting.texts.clear()
        cached.embed(texts)
        assert len(counting.texts) == 17

    def test_no_texts(self, counting: CountingEmbedder) -> None:
        assert CachedEmbedder(counting).embed([]).shape == (0, 4)

    def test_returned_rows_can_be_modified(self, counting: CountingEmbedder) -> None:
        cached = CachedEmbedder(counting)
        for _ in range(2):
            rows = cached.embed(["tea"])
            assert np.array_equal(rows, counting.rows(["tea"]))
            rows[:] = 0

    def test_cache_does_not_keep_batches_alive(self, counting: CountingEmbedder) -> None:
        cached = CachedEmbedder(counting, size=1)
        cached.embed([str(number) for number in range(1000)])
        gc.collect()
        assert counting.latest is not None
        assert counting.latest() is None

    def test_many_threads(self, counting: CountingEmbedder) -> None:
        cached = CachedEmbedder(counting, size=8)

        def work(seed: int) -> None:
            random = Random(seed)
            for _ in range(200):
                texts = [str(random.randrange(20)) for _ in range(random.randrange(1, 6))]
                assert np.array_equal(cached.embed(texts), counting.rows(texts))

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(work, range(8)))

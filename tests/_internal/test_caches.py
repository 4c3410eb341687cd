"""`forget` purges every cache of the process."""

import gc
from urllib.parse import urlsplit
from weakref import WeakSet, ref

import pytest

import contextune.importers.web.urls  # imports `urlsplit`
from contextune._internal import caches as registry
from contextune._internal.caches import CachedFunction, UserCache, forget, register_cache
from contextune._internal.json_schema import is_supported_pattern
from contextune.errors import StoreError


@pytest.fixture(autouse=True)
def no_other_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the caches that earlier tests of this process registered."""
    monkeypatch.setattr(registry, "_caches", WeakSet[UserCache]())


class RecordingCache:
    """Records the users it was told to forget."""

    def __init__(self, error: StoreError | None = None) -> None:
        self.users: list[str] = []
        self._error = error

    def forget(self, user: str) -> None:
        self.users.append(user)
        if self._error:
            raise self._error


def test_registered_caches_forget_the_user() -> None:
    caches = [register_cache(RecordingCache()) for _ in range(2)]
    forget("ines")
    assert [cache.users for cache in caches] == [["ines"], ["ines"]]


def test_failing_cache_does_not_stop_the_others() -> None:
    caches = [
        register_cache(RecordingCache(error))
        for error in (None, StoreError("cannot write"), None, StoreError("cannot write"))
    ]
    with pytest.raises(StoreError, match="cannot write"):
        forget("ines")
    assert all(cache.users == ["ines"] for cache in caches)
    del caches
    gc.collect()
    forget("ines")  # caches are not kept alive


def test_lru_caches_of_all_subpackages_are_cleared() -> None:
    assert contextune.importers.web.urls.urlsplit is urlsplit
    urlsplit("https://example.org/a-page-somebody-visited")
    is_supported_pattern("^a$")
    caches = (urlsplit, is_supported_pattern)
    assert all(cache.cache_info().currsize for cache in caches)  # pyright: ignore[reportFunctionMemberAccess]
    forget("ines")
    assert not any(cache.cache_info().currsize for cache in caches)  # pyright: ignore[reportFunctionMemberAccess]


class BrokenCache:
    def forget(self, user: str) -> None:
        raise StoreError(f"cannot forget {user!r}")


def test_failed_forget_keeps_no_cache_alive() -> None:
    cache = register_cache(BrokenCache())
    alive = ref(cache)
    gc.disable()
    try:
        with pytest.raises(StoreError, match="cannot forget 'nobody'"):
            forget("nobody")
        del cache
        assert alive() is None
    finally:
        gc.enable()


def test_cached_function_computes_once_until_somebody_is_forgotten() -> None:
    calls: list[str] = []

    def length(text: str) -> int:
        calls.append(text)
        return len(text)

    cached = CachedFunction(length, 2)
    assert [cached("kiln"), cached("kiln"), cached("glaze")] == [4, 4, 5]
    assert calls == ["kiln", "glaze"]
    forget("nobody")
    assert cached("kiln") == 4
    assert calls == ["kiln", "glaze", "kiln"]

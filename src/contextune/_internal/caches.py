"""Registry of in-process caches, purged by `forget(user)`.

Caches of vectors, model answers and tokenized texts may hold a user's words. `forget` purges all of them,
wherever they were created. A cache that cannot tell users apart is emptied completely: forgetting is rare,
and the only cost is recomputation.
"""

import ctypes
import gc
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, runtime_checkable
from weakref import WeakSet

from contextune.errors import StoreError


@runtime_checkable
class UserCache(Protocol):
    """A cache that may hold data of users."""

    def forget(self, user: str) -> None:
        """Drop the entries of a user, and all entries whose user is unknown."""
        ...


Cache = TypeVar("Cache", bound=UserCache)
Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
_caches: WeakSet[UserCache] = WeakSet()
_lock = Lock()


def register_cache(cache: Cache) -> Cache:
    """Make `forget` purge the cache for as long as it lives; return the cache."""
    with _lock:
        _caches.add(cache)
    return cache


class CachedFunction(Generic[Parameters, Value]):
    """A function with an `lru_cache` of its own, which is emptied when anybody is forgotten."""

    def __init__(self, function: Callable[Parameters, Value], size: int) -> None:
        self._cached: Any = lru_cache(size)(function)
        register_cache(self)

    def __call__(self, *values: Parameters.args, **named: Parameters.kwargs) -> Value:
        return self._cached(*values, **named)

    def forget(self, user: str) -> None:  # noqa: ARG002  # arguments do not say whose they are
        """Drop all values."""
        self._cached.cache_clear()


def forget(user: str) -> None:
    """Purge the user from all caches of the process; raise the first `StoreError` after all were tried."""
    with _lock:
        caches = list(_caches)
    failure: StoreError | None = None
    for cache in caches:
        try:
            cache.forget(user)
        except StoreError as error:
            failure = failure or error
    _clear_lru_caches()
    return_memory()
    if failure:
        try:
            raise failure
        finally:
            failure = None  # its traceback refers to this frame, and would keep all caches alive


def return_memory() -> None:
    """Give freed memory back to the system, where the C library can: what was in it is not overwritten."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _clear_lru_caches() -> None:
    """Clear every `lru_cache` that a module of this package defines or imports.

    Modules are searched, so that no cache can be missing from a list. This includes library functions such as
    `urlsplit`, which caches visited URLs. `functools.cache` (no size limit) is used only for what is loaded
    once, and is kept.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "contextune":  # a literal: `__package__` is only this subpackage
            for value in list(vars(module).values()):
                parameters = getattr(value, "cache_parameters", None)
                if parameters is not None and parameters()["maxsize"] is not None:
                    value.cache_clear()
    re.purge()  # compiled patterns contain item titles

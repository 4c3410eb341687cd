"""What this process remembers of people's words, so that all of it can be forgotten at once.

Memories are there so that nothing is worked out twice: vectors of the latest requests, answers of language
models, texts that were cut up. A user's words may lie in any of them, so forgetting a user goes to each,
wherever it was made. What cannot tell whose its words are is emptied whole: that costs time, and is rare.
"""

import re
import sys
from threading import Lock
from typing import Protocol, TypeVar, runtime_checkable
from weakref import WeakSet

from contextune.errors import StoreError


@runtime_checkable
class ForgetsUsers(Protocol):
    """Something that holds what people said or kept."""

    def forget(self, user: str) -> None:
        """Drop what is a user's, and all of which it cannot be told whose it is."""
        ...


Kept = TypeVar("Kept", bound=ForgetsUsers)
_memories: WeakSet[ForgetsUsers] = WeakSet()
_lock = Lock()


def register_cache(memory: Kept) -> Kept:
    """The memory itself, known from now on to `forget` for as long as it lives."""
    with _lock:
        _memories.add(memory)
    return memory


def forget(user: str) -> None:
    """Empty every memory of the process of what may be the user's; a file that fails is told at the end."""
    with _lock:
        memories = list(_memories)
    failed: StoreError | None = None
    for memory in memories:
        try:
            memory.forget(user)
        except StoreError as error:  # the others are emptied all the same
            failed = failed or error
    _empty_functions()
    if failed:
        raise failed


def _empty_functions() -> None:
    """Empty what functions remember by their arguments.

    Found by looking, not by a list that somebody could leave one out of; so are functions of others that our
    modules name, such as `urlsplit`, which remembers addresses people visited. `functools.cache` is for what
    is loaded once, and stays; a memory of what comes by has a bound (`lru_cache`), and goes.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "contextune":
            for value in list(vars(module).values()):
                told = getattr(value, "cache_parameters", None)
                if told is not None and told()["maxsize"] is not None:
                    value.cache_clear()
    re.purge()  # titles of items are looked for in requests by patterns, which `re` remembers

"""Prompt-cache-friendly order of the tools offered in a conversation.

A prompt cache is valid up to the first difference, and tools come first in the prompt. So a tool keeps its
position as long as it is offered, and new tools are appended.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal, get_args

from contextune.errors import InvalidRequestError

OrderMode = Literal["recent", "append", "frozen"]
"""What a turn may change of the list: "recent" drops the least recently used tool when the list is full,
"append" drops none and adds none to a full list, "frozen" keeps the list of the first turn."""


class StableOrder:
    """Tool names of one conversation in a stable order, with LRU eviction. Not thread-safe."""

    def __init__(
        self,
        k: int,
        keep: int,
        always: Iterable[str] = (),
        offered: Iterable[str] = (),
        mode: OrderMode = "recent",
    ) -> None:
        """At most `keep` names, including `always`; `k` are added per turn; starts with `offered`."""
        if mode not in get_args(OrderMode):
            raise InvalidRequestError(f"unknown mode {mode!r}: use one of {', '.join(get_args(OrderMode))}")
        self.mode = mode
        self.always = tuple(dict.fromkeys(always))
        self._capacity = keep - len(self.always)
        if k < 1:
            raise InvalidRequestError(f"k={k!r}: at least 1 is needed")
        if self._capacity < k:
            raise InvalidRequestError(
                f"keep={keep!r} is too small: k={k} and {len(self.always)} of `always` must fit"
            )
        self._turn = 0
        # updating a key does not change its position in a dict
        self._last_used = {name: 0 for name in offered if name not in self.always}

    @property
    def offered(self) -> tuple[str, ...]:
        """All names, those of `always` first."""
        return (*self.always, *self._last_used)

    @property
    def is_complete(self) -> bool:
        """Whether no further turn can change the list, so that it need not be searched for."""
        if self.mode == "frozen":
            return bool(self._last_used)
        return self.mode == "append" and len(self._last_used) >= self._capacity

    def update(self, names: Sequence[str]) -> tuple[str, ...]:
        """Add the results of a turn, best first; returns all names, with new ones at the end."""
        self._turn += 1
        if self.mode == "frozen" and self._last_used:
            self.mark_used(names)
            return self.offered
        if self.mode == "append":
            free = self._capacity - len(self._last_used)
            added = [name for name in dict.fromkeys(names) if name not in self.always]
            added = [name for name in added if name not in self._last_used][: max(0, free)]
            self._last_used.update((name, self._turn) for name in added)
            return self.offered
        for name in [name for name in dict.fromkeys(names) if name not in self.always][: self._capacity]:
            self._last_used[name] = self._turn
        if (surplus := len(self._last_used) - self._capacity) > 0:
            # among equally old names the last goes, so that as many as possible keep their position
            position = {name: index for index, name in enumerate(self._last_used)}
            oldest = sorted(position, key=lambda name: (self._last_used[name], -position[name]))
            self.drop(oldest[:surplus])
        return self.offered

    def mark_used(self, names: Iterable[str]) -> None:
        """Mark names as used in this turn, as when a tool was called."""
        self._last_used.update((name, self._turn) for name in names if name in self._last_used)

    def drop(self, names: Collection[str]) -> None:
        """Remove names."""
        for name in names:
            self._last_used.pop(name, None)

"""Which tools a talk has been offered, in an order that changes as little as it can.

A model's prompt cache holds up to the first thing that differs from last time, and the tools come first
in the prompt. So a tool keeps its place as long as it is offered, and new ones come after.
"""

from collections.abc import Collection, Iterable, Sequence

from contextune.errors import InvalidRequestError


class StableOrder:
    """The names offered so far, each in its place. For one talk; not to be shared between threads."""

    def __init__(self, k: int, keep: int, always: Iterable[str] = (), offered: Iterable[str] = ()) -> None:
        """A turn finds `k`; `keep` bounds how many are offered, `always` included; `offered` were before."""
        self.always = tuple(dict.fromkeys(always))
        self._room = keep - len(self.always)
        if k < 1:
            raise InvalidRequestError(f"k={k!r} finds nothing: ask for one tool or more")
        if self._room < k:
            raise InvalidRequestError(
                f"keep={keep!r} is too few: a turn finds {k} tools, beside {len(self.always)} always offered"
            )
        self._turn = 0
        # a dict keeps the place of a key that is set again
        self._last_of_use = {name: 0 for name in offered if name not in self.always}

    @property
    def offered(self) -> tuple[str, ...]:
        """All that are offered now, those of `always` first."""
        return (*self.always, *self._last_of_use)

    def turn(self, found: Sequence[str]) -> tuple[str, ...]:
        """What to offer after these were found, best first: what was offered before, then what is new."""
        self._turn += 1
        for name in [name for name in dict.fromkeys(found) if name not in self.always][: self._room]:
            self._last_of_use[name] = self._turn
        if (surplus := len(self._last_of_use) - self._room) > 0:
            # of equally old ones the last goes, so that as many as can be keep their places
            placed = {name: place for place, name in enumerate(self._last_of_use)}
            aging = sorted(placed, key=lambda name: (self._last_of_use[name], -placed[name]))
            self.drop(aging[:surplus])
        return self.offered

    def use(self, names: Iterable[str]) -> None:
        """These proved useful in this turn, as when they were called."""
        self._last_of_use.update((name, self._turn) for name in names if name in self._last_of_use)

    def drop(self, names: Collection[str]) -> None:
        """Offer these no more."""
        for name in names:
            self._last_of_use.pop(name, None)

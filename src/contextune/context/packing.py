"""What fits into a prompt: ranked items within a number of tokens, each told from the rest by a fence.

Items go in whole, best first, as long as they fit beside a share that is kept for the names of
others: a ranking can be wrong, and a title is cheap. The first that does not fit is shortened to what
matters most to the request, the others are named, and what room is left makes the best of them longer.

Models read the beginning and the end of a prompt best and its middle worst, so the best item comes
first, the second last, and so on inwards. The number in a fence is the rank.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Literal

from contextune._internal.untrusted import fence
from contextune.context.excerpt import Excerpt, TokenWeights
from contextune.errors import InvalidRequestError
from contextune.types import Item, ItemHit, Request

# most English words are one token whatever their length, but names are not
_PIECE = re.compile(r"[A-Za-z]{1,3}|[^\sA-Za-z]| (?=\d)|[^\S ]")


def estimate_tokens(text: str) -> int:
    """A number of tokens that is rather too high than too low.

    Three letters, one digit, one mark, or one byte of another script is taken for a token. On the
    bundled items, fences and all, this is a fifth above what SmolLM2, with a small vocabulary that
    takes every digit by itself, makes of them; one in 600 is below, by 2 % at most. The embedder's
    own tokenizer is no measure for a prompt: it counts a quarter too few, and one for a whole
    sentence of a script it does not know.
    """
    pieces = len(_PIECE.findall(text))
    return pieces if text.isascii() else pieces + len(text.encode("utf-8", "surrogatepass")) - len(text)


Count = Callable[[str], int]
"""How many tokens a text is to the model that will read it."""
Form = Literal["whole", "shortened", "title", "left out"]
TITLES = 0.3
"""The share of a budget kept for titles; chosen on half of the bundled personas, for fair rankings."""


@dataclass(frozen=True, slots=True)
class PackedItem:
    """What became of one item; `text` is its part of the prompt, fence and all: empty if it is left out."""

    item: Item
    form: Form
    text: str = ""


@dataclass(frozen=True, slots=True)
class Packed:
    """Items ready for a prompt: `text` is `tokens` long; `parts` has every item, as ranked."""

    text: str
    tokens: int
    parts: tuple[PackedItem, ...]


def pack(
    hits: Sequence[ItemHit],
    request: Request,
    budget: int,
    *,
    titles: float = TITLES,
    count: Count = estimate_tokens,
    zone: tzinfo | None = None,
) -> Packed:
    """As much of the ranked items as `budget` tokens hold by `count`, and never more.

    Pass the tokenizer of the model that will read it as `count` if it is at hand; the default is an
    estimate on the high side. `titles` is the share of the budget kept for titles; the best item may
    use it too. Zoned times are shown on the wall clock of `zone`, None being the machine's.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # not all callers type-check
        raise InvalidRequestError(f"budget={budget!r}: give a whole number of tokens, at least 1")
    if not 0 <= titles <= 1:
        raise InvalidRequestError(f"titles={titles!r}: give a share of the budget between 0 and 1")
    packing = _PromptBuilder(hits, request, budget, count, zone)
    packing.fill(kept=int(titles * budget))
    return packing.packed()


class _PromptBuilder:
    """A prompt in the making: the parts taken so far, and the room that is left."""

    def __init__(
        self, hits: Sequence[ItemHit], request: Request, budget: int, count: Count, zone: tzinfo | None
    ) -> None:
        self._request = request
        self._budget = self._room = budget
        self._count = count
        self._parts = [PackedItem(hit.item, "left out") for hit in hits]
        self._sizes: dict[int, int] = {}
        # every part is a token at least, so that items further down cannot come in
        self._excerpts = [Excerpt(hit.item, zone) for hit in hits[:budget]]

    def fill(self, *, kept: int) -> None:
        """Take what fits; `kept` tokens are for titles."""
        whole = 0
        for place, excerpt in enumerate(self._excerpts):
            if not self._take(place, "whole", excerpt.whole, kept=kept if place else 0):
                break
            whole += 1
        rest = range(whole, len(self._excerpts))
        if not rest:
            return
        weights = TokenWeights(self._request.text, [excerpt.whole for excerpt in self._excerpts])
        self._shorten(whole, weights, kept=kept if whole else 0)
        self._name(rest)
        for place in rest:
            if self._parts[place].text and not self._take(place, "whole", self._excerpts[place].whole):
                self._shorten(place, weights)

    def packed(self) -> Packed:
        """The parts as one text."""
        while True:
            text = "".join(part.text for part in _best_at_the_edges(self._parts))
            tokens = self._count(text) if text else 0
            if tokens <= self._budget:
                return Packed(text, tokens, tuple(self._parts))
            # a tokenizer may find more in the whole than in its parts
            last = max(place for place, part in enumerate(self._parts) if part.text)
            self._parts[last] = PackedItem(self._parts[last].item, "left out")

    def _name(self, places: Iterable[int]) -> None:
        for place in places:
            if not self._parts[place].text:
                title = self._excerpts[place].title(lambda text, place=place: self._fits(place, text))
                if title is None or not self._take(place, "title", title):
                    break

    def _shorten(self, place: int, weights: TokenWeights, *, kept: int = 0) -> None:
        text = self._excerpts[place].shortened(lambda text: self._fits(place, text, kept=kept), weights)
        if text and len(self._fenced(place, text)) > len(self._parts[place].text):
            self._take(place, "shortened", text, kept=kept)

    def _fits(self, place: int, text: str, *, kept: int = 0) -> bool:
        return self._cost(place, self._fenced(place, text)) <= self._room - kept

    def _take(self, place: int, form: Form, text: str, *, kept: int = 0) -> bool:
        part = PackedItem(self._parts[place].item, form, self._fenced(place, text))
        cost = self._cost(place, part.text)
        if cost > self._room - kept:
            return False
        self._parts[place] = part
        self._sizes[place] = cost + self._sizes.get(place, 0)
        self._room -= cost
        return True

    def _cost(self, place: int, text: str) -> int:
        """What the text would take of the room, in the place of what is there of the item."""
        return self._count(text) - self._sizes.get(place, 0)

    def _fenced(self, place: int, text: str) -> str:
        return fence(str(place + 1), text, kind=self._parts[place].item.schema.noun)


def _best_at_the_edges(parts: Sequence[PackedItem]) -> list[PackedItem]:
    taken = [part for part in parts if part.text]
    return taken[::2] + taken[1::2][::-1]

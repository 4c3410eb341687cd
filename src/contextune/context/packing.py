"""pack(): ranked items → text for a prompt within a token budget, each item in its own fence.

Items are included whole, best first, while they fit. A share of the budget is reserved for the titles of the
others: the ranking can be wrong, and a title is cheap. The first item that does not fit is shortened to what
matters most to the request, the others get their title, and what is left of the budget extends the best of
them.

Models read the beginning and the end of a prompt best and its middle worst, so the best item comes first, the
second last, and so on inwards. The number in a fence is the rank.
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
_TOKEN_LIKE = re.compile(r"[A-Za-z]{1,3}|[^\sA-Za-z]| (?=\d)|[^\S ]")


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens without a tokenizer, on the high side.

    Counts three letters, one digit, one punctuation mark, or one byte of another script as a token. On the
    bundled items with their fences, the estimate is a fifth above the count of SmolLM2, which has a small
    vocabulary and one token per digit; for one item in 600 it is too low, by at most 2 %. The embedder's
    tokenizer is not suitable: it counts a quarter too few, and a whole sentence in an unknown script as one
    token.
    """
    pieces = len(_TOKEN_LIKE.findall(text))
    return pieces if text.isascii() else pieces + len(text.encode("utf-8", "surrogatepass")) - len(text)


CountTokens = Callable[[str], int]
"""Number of tokens of a text for the model that will read it."""
Form = Literal["whole", "shortened", "title", "left out"]
TITLE_SHARE = 0.3
"""Share of the budget reserved for titles; tuned on half of the bundled personas."""


@dataclass(frozen=True, slots=True)
class PackedItem:
    """One item of a packed context; `text` includes the fence and is empty if the item is left out."""

    item: Item
    form: Form
    text: str = ""


@dataclass(frozen=True, slots=True)
class PackedContext:
    """Items packed for a prompt: `text` has `tokens` tokens; `parts` has every item in the order of ranks."""

    text: str
    tokens: int
    parts: tuple[PackedItem, ...]


def pack(
    hits: Sequence[ItemHit],
    request: Request,
    budget: int,
    *,
    titles: float = TITLE_SHARE,
    count: CountTokens = estimate_tokens,
    zone: tzinfo | None = None,
) -> PackedContext:
    """Pack as much of the ranked items as fits into `budget` tokens.

    Args:
        hits: ranked items, best first.
        request: decides which sentences of a shortened item are kept.
        budget: maximum number of tokens; never exceeded according to `count`.
        titles: share of the budget reserved for titles; the best item may use it too.
        count: the token count of your model; an estimate on the high side by default.
        zone: time zone for showing zoned times; the machine's by default.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # not all callers type-check
        raise InvalidRequestError(f"budget={budget!r}: must be a whole number of tokens, at least 1")
    if not 0 <= titles <= 1:
        raise InvalidRequestError(f"titles={titles!r}: must be a share of the budget between 0 and 1")
    builder = _PromptBuilder(hits, request, budget, count, zone)
    builder.fill(reserved=int(titles * budget))
    return builder.build()


class _PromptBuilder:
    """Adds and extends items while they fit, and tracks the remaining budget."""

    def __init__(
        self, hits: Sequence[ItemHit], request: Request, budget: int, count: CountTokens, zone: tzinfo | None
    ) -> None:
        self._request = request
        self._budget = self._remaining = budget
        self._count = count
        self._parts = [PackedItem(hit.item, "left out") for hit in hits]
        self._sizes: dict[int, int] = {}
        # each item takes at least one token, so items beyond the budget cannot fit
        self._excerpts = [Excerpt(hit.item, zone) for hit in hits[:budget]]

    def fill(self, *, reserved: int) -> None:
        """Add what fits; `reserved` tokens are for titles."""
        whole = 0
        for rank, excerpt in enumerate(self._excerpts):
            if not self._add(rank, "whole", excerpt.whole, reserved=reserved if rank else 0):
                break
            whole += 1
        rest = range(whole, len(self._excerpts))
        if not rest:
            return
        weights = TokenWeights(self._request.text, [excerpt.whole for excerpt in self._excerpts])
        self._shorten(whole, weights, reserved=reserved if whole else 0)
        self._add_titles(rest)
        for rank in rest:
            if self._parts[rank].text and not self._add(rank, "whole", self._excerpts[rank].whole):
                self._shorten(rank, weights)

    def build(self) -> PackedContext:
        """Join the parts."""
        while True:
            text = "".join(part.text for part in _best_at_the_edges(self._parts))
            tokens = self._count(text) if text else 0
            if tokens <= self._budget:
                return PackedContext(text, tokens, tuple(self._parts))
            # the joined text may have more tokens than its parts together
            last = max(rank for rank, part in enumerate(self._parts) if part.text)
            self._parts[last] = PackedItem(self._parts[last].item, "left out")

    def _add_titles(self, ranks: Iterable[int]) -> None:
        for rank in ranks:
            if not self._parts[rank].text:
                title = self._excerpts[rank].title(lambda text, rank=rank: self._fits(rank, text))
                if title is None or not self._add(rank, "title", title):
                    break

    def _shorten(self, rank: int, weights: TokenWeights, *, reserved: int = 0) -> None:
        text = self._excerpts[rank].shortened(lambda text: self._fits(rank, text, reserved=reserved), weights)
        if text and len(self._fenced(rank, text)) > len(self._parts[rank].text):
            self._add(rank, "shortened", text, reserved=reserved)

    def _fits(self, rank: int, text: str, *, reserved: int = 0) -> bool:
        return self._cost(rank, self._fenced(rank, text)) <= self._remaining - reserved

    def _add(self, rank: int, form: Form, text: str, *, reserved: int = 0) -> bool:
        part = PackedItem(self._parts[rank].item, form, self._fenced(rank, text))
        cost = self._cost(rank, part.text)
        if cost > self._remaining - reserved:
            return False
        self._parts[rank] = part
        self._sizes[rank] = cost + self._sizes.get(rank, 0)
        self._remaining -= cost
        return True

    def _cost(self, rank: int, text: str) -> int:
        """Additional tokens if the text replaces the current text of the item."""
        return self._count(text) - self._sizes.get(rank, 0)

    def _fenced(self, rank: int, text: str) -> str:
        return fence(str(rank + 1), text, kind=self._parts[rank].item.schema.noun)


def _best_at_the_edges(parts: Sequence[PackedItem]) -> list[PackedItem]:
    included = [part for part in parts if part.text]
    return included[::2] + included[1::2][::-1]

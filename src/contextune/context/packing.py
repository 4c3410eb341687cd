"""pack(): ranked items → text for a prompt within a token budget.

Most of the budget goes to whole items, best first. The rest is filled piece by piece (a title, a field, a
sentence), by value per token: the value of the piece for a request, times the probability that an item of
this rank is needed. So the next items give their titles and facts before their running text. With a good
ranking this keeps what truncation keeps; with a poor one, more items.

Each item begins with a tag, its rank and kind. Text of items has no "<", so it cannot fake a tag, and an item
ends where the next tag begins. Put a tag or a heading of your own after the text.

Models read the beginning and the end of a prompt best and its middle worst, so the best item comes first, the
second last, and so on inwards.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from heapq import heapify, heappop, heappush
from typing import Literal

from contextune._internal.untrusted import neutralize
from contextune.context.excerpt import Excerpt, Piece, Place, TokenWeights
from contextune.errors import InvalidRequestError
from contextune.types import Item, ItemHit, Request

# most English words are one token whatever their length, but names are not
_TOKEN_LIKE = re.compile(r"[A-Za-z]{1,3}|[^\sA-Za-z]| (?=\d)|[^\S ]")


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens without a tokenizer, on the high side.

    Counts three letters, one digit, one punctuation mark, or one byte of another script as a token. On the
    bundled items with their tags, the estimate is a fifth above the count of SmolLM2, which has a small
    vocabulary and one token per digit; for one item in 600 it is too low, by at most 2 %. The embedder's
    tokenizer is not suitable: it counts a quarter too few, and a whole sentence in an unknown script as one
    token.
    """
    pieces = len(_TOKEN_LIKE.findall(text))
    return pieces if text.isascii() else pieces + len(text.encode("utf-8", "surrogatepass")) - len(text)


CountTokens = Callable[[str], int]
"""Number of tokens of a text for the model that will read it."""
Form = Literal["whole", "shortened", "title", "left out"]
EXCERPT_SHARE = 0.2
"""Share of the budget kept from whole items; chosen with the values of pieces."""
_RANK_DECAY = 2.0
"""An item of rank n (from 1) is needed with a probability proportional to n to the minus this."""
_TAG_COST = 6
"""Tokens that opening an item costs, about."""
_WORTH_CUTTING, _MAX_CUT_RANK = 0.5, 3
"""The first item that does not fit whole is continued in reading order if this share of it fits, and if at
most so many items are before it."""
_MAX_MISSES = 20
"""An item is given up after this many pieces in a row that do not fit; a book has thousands."""
_TITLE: Place = (0, 0)


@dataclass(frozen=True, slots=True)
class PackedItem:
    """One item of a packed context; `text` includes the tag and is empty if the item is left out."""

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
    excerpts: float = EXCERPT_SHARE,
    count: CountTokens = estimate_tokens,
    zone: tzinfo | None = None,
) -> PackedContext:
    """Pack as much of the ranked items as fits into `budget` tokens.

    Args:
        hits: ranked items, best first.
        request: decides which sentences of a shortened item are kept.
        budget: maximum number of tokens; never exceeded according to `count`.
        excerpts: share of the budget that whole items leave to excerpts of the others.
        count: the token count of your model; an estimate on the high side by default.
        zone: time zone for showing zoned times; the machine's by default.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # not all callers type-check
        raise InvalidRequestError(f"budget={budget!r}: must be a whole number of tokens, at least 1")
    if not 0 <= excerpts <= 1:
        raise InvalidRequestError(f"excerpts={excerpts!r}: must be a share of the budget between 0 and 1")
    builder = _PromptBuilder(hits, request, budget, count, zone)
    builder.add_whole(reserved=int(excerpts * budget))
    builder.add_pieces()
    return builder.build()


@dataclass
class _Draft:
    """An item that is being packed: the pieces still to be added, best first, and those that are in."""

    item: Item
    excerpt: Excerpt
    pieces: list[Piece]
    kept: set[Place] = field(default_factory=set[Place])
    text: str = ""
    tokens: int = 0
    misses: int = 0
    cut: bool = False
    """Whether only the beginning of the title is in."""


class _PromptBuilder:
    """Adds whole items and pieces while they fit, and tracks the remaining budget."""

    def __init__(
        self, hits: Sequence[ItemHit], request: Request, budget: int, count: CountTokens, zone: tzinfo | None
    ) -> None:
        self._budget = self._remaining = budget
        self._count = count
        self._items = [hit.item for hit in hits]
        # each item takes at least one token, so items beyond the budget cannot fit
        excerpts = [Excerpt(hit.item, zone) for hit in hits[:budget]]
        weights = TokenWeights(request.text, [excerpt.whole for excerpt in excerpts])
        self._drafts = [
            _Draft(hit.item, excerpt, excerpt.pieces(weights))
            for hit, excerpt in zip(hits, excerpts, strict=False)
        ]

    def add_whole(self, *, reserved: int) -> None:
        """Add whole items, best first, until one does not fit; `reserved` tokens remain for excerpts.

        If at least half of that one fits, it goes on in reading order: it is likelier to be needed than the
        titles of those after it. If not even the best item fits whole, values decide from the start.
        """
        for rank, draft in enumerate(self._drafts):
            places = {piece.place for piece in draft.pieces}
            if self._replace(rank, draft.excerpt.whole, places, reserved=reserved):
                draft.pieces = []
                continue
            needed = _WORTH_CUTTING * self._extra(rank, draft.excerpt.whole)
            if 0 < rank <= _MAX_CUT_RANK and self._remaining >= needed:
                for piece in draft.pieces:
                    kept = draft.kept | {piece.place}
                    if not self._replace(rank, draft.excerpt.render(kept), kept) and not draft.kept:
                        break
            return

    def add_pieces(self) -> None:
        """Fill the remaining budget with the pieces of highest value per token; titles open their items."""
        queue = [
            (-self._density(rank, 0), rank, 0) for rank, draft in enumerate(self._drafts) if draft.pieces
        ]
        for _, rank, _ in queue:
            title, *rest = self._drafts[rank].pieces
            rest.sort(key=lambda piece: -piece.value / self._cost(piece))
            self._drafts[rank].pieces = [title, *rest]
        heapify(queue)
        while queue:
            _, rank, position = heappop(queue)
            if self._add_piece(rank, position) and position + 1 < len(self._drafts[rank].pieces):
                heappush(queue, (-self._density(rank, position + 1), rank, position + 1))

    def build(self) -> PackedContext:
        """Join the parts."""
        parts = [_packed_item(draft) for draft in self._drafts]
        parts += [PackedItem(item, "left out") for item in self._items[len(parts) :]]
        while True:
            text = "".join(part.text for part in _best_at_the_edges(parts))
            tokens = self._count(text) if text else 0
            if tokens <= self._budget:
                return PackedContext(text, tokens, tuple(parts))
            # the joined text may have more tokens than its parts together
            last = max(rank for rank, part in enumerate(parts) if part.text)
            parts[last] = PackedItem(parts[last].item, "left out")

    def _density(self, rank: int, position: int) -> float:
        piece = self._drafts[rank].pieces[position]
        tokens = self._cost(piece) + (_TAG_COST if piece.place == _TITLE else 0)
        return piece.value / tokens / (rank + 1) ** _RANK_DECAY

    def _cost(self, piece: Piece) -> int:
        return max(1, self._count(piece.text))

    def _add_piece(self, rank: int, position: int) -> bool:
        """Add a piece if it fits; whether the item may still get more."""
        draft = self._drafts[rank]
        place = draft.pieces[position].place
        kept = draft.kept | {place}
        if place in draft.kept or self._replace(rank, draft.excerpt.render(kept), kept):
            draft.misses = 0
            return True
        if place == _TITLE:
            self._cut_title(rank)
            return False
        draft.misses += 1
        return draft.misses < _MAX_MISSES

    def _cut_title(self, rank: int) -> None:
        """Keep the beginning of the best item's title; another item may have a shorter title instead."""
        draft = self._drafts[rank]
        if rank:
            return
        title = draft.excerpt.cut_title(lambda text: self._extra(rank, text) <= self._remaining)
        if title is not None:
            draft.cut = self._replace(rank, title, {_TITLE})

    def _replace(self, rank: int, text: str, kept: set[Place], *, reserved: int = 0) -> bool:
        """Replace the text of an item if the new one fits."""
        extra = self._extra(rank, text)
        if extra > self._remaining - reserved:
            return False
        draft = self._drafts[rank]
        draft.text, draft.kept, draft.tokens = self._tagged(rank, text), kept, draft.tokens + extra
        self._remaining -= extra
        return True

    def _extra(self, rank: int, text: str) -> int:
        return self._count(self._tagged(rank, text)) - self._drafts[rank].tokens

    def _tagged(self, rank: int, text: str) -> str:
        kind = neutralize(self._drafts[rank].item.schema.noun).replace(">", "›")
        return f"<{rank + 1} {kind}> {text}\n"


def _packed_item(draft: _Draft) -> PackedItem:
    if not draft.kept:
        return PackedItem(draft.item, "left out")
    form: Form = "shortened"
    if draft.cut or (draft.kept == {_TITLE} and len(draft.pieces) > 1):
        form = "title"
    elif not draft.pieces or len(draft.kept) == len(draft.pieces):
        form = "whole"
    return PackedItem(draft.item, form, draft.text)


def _best_at_the_edges(parts: Sequence[PackedItem]) -> list[PackedItem]:
    included = [part for part in parts if part.text]
    return included[::2] + included[1::2][::-1]

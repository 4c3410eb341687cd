"""Leave out items that a request hardly needs: "hello" needs none of them."""

from collections.abc import Iterable

from contextune.types import ContextHits, ItemHit

LEAST_NEEDED = 0.01
"""Least probability that a request needs an item for it to be sent to a model."""


def needed_items(hits: Iterable[ItemHit], least: float = LEAST_NEEDED) -> ContextHits:
    """The hits that are probable enough; those without a probability are kept."""
    kept = [hit for hit in hits if hit.probability is None or hit.probability >= least]
    words_only = isinstance(hits, ContextHits) and hits.words_only
    return ContextHits(kept, words_only=words_only)

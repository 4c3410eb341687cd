"""Context retrieval: which items of the user's data a request needs."""

from contextune.context.methods import DEFAULT_METHOD, METHODS
from contextune.context.needed import LEAST_NEEDED, needed_items
from contextune.context.packing import PackedContext, pack
from contextune.context.preparation import Preparation
from contextune.context.ranker import ContextRanker
from contextune.context.retriever import ContextRetriever

__all__ = [
    "DEFAULT_METHOD",
    "LEAST_NEEDED",
    "METHODS",
    "ContextRanker",
    "ContextRetriever",
    "PackedContext",
    "Preparation",
    "needed_items",
    "pack",
]

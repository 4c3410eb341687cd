"""Federated search over a user's own data."""

from contextune.context.methods import DEFAULT, METHODS
from contextune.context.packing import Packed, pack
from contextune.context.ranker import ContextRanker
from contextune.context.retriever import ContextRetriever

__all__ = ["DEFAULT", "METHODS", "ContextRanker", "ContextRetriever", "Packed", "pack"]

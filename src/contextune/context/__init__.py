"""Federated search over a user's own data."""

from contextune.context.methods import DEFAULT, METHODS
from contextune.context.retriever import ContextRetriever

__all__ = ["DEFAULT", "METHODS", "ContextRetriever"]

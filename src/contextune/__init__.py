"""Contextune completes what a person leaves out.

tuner = Tuner(store=SQLiteStore("me.db"))
tuner.context(Request("Did she ever get back to me?", user="ines"))
"""

from contextune.embed import Embedder, EndpointEmbedder, OnnxEmbedder, SentenceTransformersEmbedder
from contextune.errors import (
    ContextuneError,
    EmbedderError,
    InvalidDataError,
    InvalidRequestError,
    MissingExtraError,
    StoreError,
    UnknownUserError,
)
from contextune.pipeline import Tuner
from contextune.store import SQLiteStore, Store
from contextune.types import Answer, Contact, Hit, Item, Plan, Request, Tool, Turn, Use, User

__all__ = [
    "Answer",
    "Contact",
    "ContextuneError",
    "Embedder",
    "EmbedderError",
    "EndpointEmbedder",
    "Hit",
    "InvalidDataError",
    "InvalidRequestError",
    "Item",
    "MissingExtraError",
    "OnnxEmbedder",
    "Plan",
    "Request",
    "SQLiteStore",
    "SentenceTransformersEmbedder",
    "Store",
    "StoreError",
    "Tool",
    "Tuner",
    "Turn",
    "UnknownUserError",
    "Use",
    "User",
]

"""Contextune completes what a person leaves out.

tuner = Tuner(store=SQLiteStore("me.db"))
tuner.context(Request("Did she ever get back to me?", user="ines"))
"""

from contextune.context import ContextRanker, Packed, pack
from contextune.embed import Embedder, EndpointEmbedder, OnnxEmbedder, SentenceTransformersEmbedder
from contextune.errors import (
    ContextuneError,
    EmbedderError,
    InvalidDataError,
    InvalidRequestError,
    LanguageModelError,
    MissingExtraError,
    RankerError,
    StoreError,
    UnknownUserError,
)
from contextune.store import SQLiteStore, Store
from contextune.tuner import Tuner
from contextune.types import (
    Answer,
    Contact,
    Feedback,
    Item,
    ItemHit,
    Plan,
    Request,
    Tool,
    ToolHit,
    Turn,
    UsageEvent,
    User,
)

__all__ = [
    "Answer",
    "Contact",
    "ContextRanker",
    "ContextuneError",
    "Embedder",
    "EmbedderError",
    "EndpointEmbedder",
    "Feedback",
    "InvalidDataError",
    "InvalidRequestError",
    "Item",
    "ItemHit",
    "LanguageModelError",
    "MissingExtraError",
    "OnnxEmbedder",
    "Packed",
    "Plan",
    "RankerError",
    "Request",
    "SQLiteStore",
    "SentenceTransformersEmbedder",
    "Store",
    "StoreError",
    "Tool",
    "ToolHit",
    "Tuner",
    "Turn",
    "UnknownUserError",
    "UsageEvent",
    "User",
    "pack",
]

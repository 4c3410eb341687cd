"""Find the items, the tools and the call that an implicit request to an assistant needs.

    from contextune import Request, Tuner

    tuner = Tuner.from_files(["~/Mail", "calendar.ics"])
    tuner.context(Request("Did she ever get back to me?", user="me"))

Names are imported on first use, so that `import contextune` stays cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextune.context import ContextRanker, PackedContext, pack
    from contextune.embed import Embedder, EndpointEmbedder, OnnxEmbedder, SentenceTransformersEmbedder
    from contextune.errors import (
        ContextuneError,
        EmbedderError,
        InvalidDataError,
        InvalidRequestError,
        LanguageModelError,
        MissingExtraError,
        PlanError,
        RankerError,
        StoreError,
        UnknownUserError,
    )
    from contextune.importers import import_into
    from contextune.plan import Executor
    from contextune.store import SQLiteStore, Store
    from contextune.tools import (
        Catalog,
        ToolFilter,
        ToolMatches,
        ToolRetriever,
        bundled_toolbox,
        load_tools,
    )
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

__version__ = "0.2.0"

_MODULES = {
    "context": ("ContextRanker", "PackedContext", "pack"),
    "embed": ("Embedder", "EndpointEmbedder", "OnnxEmbedder", "SentenceTransformersEmbedder"),
    "errors": (
        "ContextuneError",
        "EmbedderError",
        "InvalidDataError",
        "InvalidRequestError",
        "LanguageModelError",
        "MissingExtraError",
        "PlanError",
        "RankerError",
        "StoreError",
        "UnknownUserError",
    ),
    "importers": ("import_into",),
    "plan": ("Executor",),
    "store": ("SQLiteStore", "Store"),
    "tools": ("Catalog", "ToolFilter", "ToolMatches", "ToolRetriever", "bundled_toolbox", "load_tools"),
    "tuner": ("Tuner",),
    "types": (
        "Answer",
        "Contact",
        "Feedback",
        "Item",
        "ItemHit",
        "Plan",
        "Request",
        "Tool",
        "ToolHit",
        "Turn",
        "UsageEvent",
        "User",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

# fmt: off
__all__ = [
    "Answer", "Catalog", "Contact", "ContextRanker", "ContextuneError", "Embedder", "EmbedderError",
    "EndpointEmbedder", "Executor", "Feedback", "InvalidDataError", "InvalidRequestError", "Item",
    "ItemHit", "LanguageModelError", "MissingExtraError", "OnnxEmbedder", "PackedContext", "Plan",
    "PlanError", "RankerError", "Request", "SQLiteStore", "SentenceTransformersEmbedder", "Store",
    "StoreError", "Tool", "ToolFilter", "ToolHit", "ToolMatches", "ToolRetriever", "Tuner", "Turn",
    "UnknownUserError", "UsageEvent", "User", "__version__", "bundled_toolbox", "import_into",
    "load_tools", "pack",
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'contextune' has no attribute {name!r}")
    value = getattr(import_module(f"contextune.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

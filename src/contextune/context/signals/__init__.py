"""Features of a request and an item: numbers that say why the one may hang on the other."""

from contextune.context.signals.columns import ItemColumns, UseColumns
from contextune.context.signals.registry import (
    FAMILIES,
    FAMILY_OF,
    NAMES,
    Family,
    features,
    recompute_links,
)
from contextune.context.signals.scene import RequestClasses, Scene, Similarities

__all__ = [
    "FAMILIES",
    "FAMILY_OF",
    "NAMES",
    "Family",
    "ItemColumns",
    "RequestClasses",
    "Scene",
    "Similarities",
    "UseColumns",
    "features",
    "recompute_links",
]

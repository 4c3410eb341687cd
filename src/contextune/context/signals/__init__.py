"""Features of a request and a candidate item: 239 in ten families, with reasons in words."""

from contextune.context.signals.columns import ItemColumns
from contextune.context.signals.registry import (
    FAMILIES,
    FAMILY_BY_FEATURE,
    FEATURE_NAMES,
    Family,
    compute_features,
    recompute_links,
)
from contextune.context.signals.scene import RequestClasses, Scene, Similarities
from contextune.context.signals.use_columns import ItemsMove, UseColumns

__all__ = [
    "FAMILIES",
    "FAMILY_BY_FEATURE",
    "FEATURE_NAMES",
    "Family",
    "ItemColumns",
    "ItemsMove",
    "RequestClasses",
    "Scene",
    "Similarities",
    "UseColumns",
    "compute_features",
    "recompute_links",
]

"""Features of a request and an item: numbers that say why the one may hang on the other."""

from contextune.signals.facts import Facts, Uses
from contextune.signals.scene import Likeness, Reading, Scene
from contextune.signals.table import FAMILIES, FAMILY_OF, NAMES, Family, features, links_again

__all__ = [
    "FAMILIES",
    "FAMILY_OF",
    "NAMES",
    "Facts",
    "Family",
    "Likeness",
    "Reading",
    "Scene",
    "Uses",
    "features",
    "links_again",
]

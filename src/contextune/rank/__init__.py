"""A gradient-boosted ranker over a named feature table: one machine for context, tools and arguments."""

from contextune.rank.fusion import FusionWeights
from contextune.rank.logistic import Logistic
from contextune.rank.ranker import Group, Ranker, Settings

__all__ = ["FusionWeights", "Group", "Logistic", "Ranker", "Settings"]

"""Learning to rank: LambdaMART, logistic regression and fusion weights, for items, tools and arguments."""

from contextune.rank.fusion_weights import FusionWeights
from contextune.rank.lambdamart import CandidateGroup, Ranker, RankerSettings
from contextune.rank.logistic import LogisticRegression
from contextune.rank.model_versions import ModelVersions, read_card, write_card

__all__ = [
    "CandidateGroup",
    "FusionWeights",
    "LogisticRegression",
    "ModelVersions",
    "Ranker",
    "RankerSettings",
    "read_card",
    "write_card",
]

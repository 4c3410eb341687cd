"""Learning to rank: LambdaMART, logistic regression and fusion weights, for items, tools and arguments."""

from contextune.rank.fusion_weights import FusionWeights
from contextune.rank.lambdamart import CandidateGroup, Ranker, RankerSettings
from contextune.rank.logistic import LogisticRegression

__all__ = ["CandidateGroup", "FusionWeights", "LogisticRegression", "Ranker", "RankerSettings"]

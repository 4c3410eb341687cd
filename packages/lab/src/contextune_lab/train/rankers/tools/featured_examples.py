"""Tool examples with the features of their candidates, and the same with the right tools removed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from contextune.rank import CandidateGroup
from contextune.types import Progress
from contextune_lab.train.rankers.tools.examples import ToolExample

_SIMILAR = 0.6
"""Cosine similarity above which a tool could replace a removed one, so it is removed too."""


@dataclass(frozen=True, eq=False)
class FeaturedExample:
    """An example with its candidates and their features."""

    example: ToolExample
    places: NDArray[np.intp]
    group: CandidateGroup

    @classmethod
    def build(cls, example: ToolExample) -> "FeaturedExample":
        """Compute candidates and features."""
        places = example.places()
        return cls(example, places, example.group_of(places))

    def without_relevant_tools(self, *, servers: bool = True, twins: bool = True) -> "FeaturedExample":
        """The same request after removing the tools that serve it.

        With `servers` all tools of their applications or servers are removed too, with `twins` all tools
        that are so similar that they could replace one.
        """
        index, wanted = self.example.index, [p for p, grade in self.example.grades.items() if grade > 1]
        visible = np.ones(len(index.catalog), bool)
        visible[list(self.example.grades)] = False
        if servers:
            visible &= ~np.isin(index.app, [app for app in index.app[wanted] if index.apps[app]])
        if twins:
            visible &= (index.vectors @ index.vectors[wanted].T).max(1) <= _SIMILAR
        stripped = replace(self.example, grades={})
        kept = stripped.places(visible)
        return FeaturedExample(stripped, kept, stripped.group_of(kept))

    def with_request_of(self, other: "FeaturedExample") -> "FeaturedExample":
        """The catalogue with the request of another one, which no tool serves."""
        query = replace(other.example.query, context=None, past_calls=None, app_probabilities={})
        return FeaturedExample.build(replace(self.example, query=query, grades={}))


def with_features(
    examples: Sequence[ToolExample], *, progress: Progress | None = None
) -> list[FeaturedExample]:
    """Compute the features of all examples."""
    featured: list[FeaturedExample] = []
    for number, example in enumerate(examples, 1):
        featured.append(FeaturedExample.build(example))
        if progress and number % 50 == 0:
            progress(number, len(examples))
    return featured

"""What generated queries are worth: the tools they find, judged by the tools that were wanted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from contextune.evaluate.metrics import Floats, JudgedRanking, average_precision, mmrr, recall
from contextune.lab.train.embedder.encoder import Encoder
from contextune.search.fusion import interleave

DEPTH = 11
"""Tools in a list: the deepest the paper looks."""
REWARDS: Mapping[str, Callable[[JudgedRanking], Floats]] = {
    "mmrr": lambda judged: mmrr(judged, DEPTH),
    "map": lambda judged: average_precision(judged, DEPTH),
    "recall": lambda judged: (recall(judged, 5) + recall(judged, DEPTH)) / 2,
}


@dataclass(frozen=True, slots=True)
class RewardExample:
    """A request and the tools that serve it, by place in their set."""

    id: str
    text: str
    split: str
    relevant: frozenset[int]


class RewardRetrieval:
    """Catalogues, searched as the paper does: the likest tools for each query, the lists taking turns."""

    def __init__(self, encoder: Encoder, tools: Mapping[str, Sequence[str]]) -> None:
        """`tools` are the texts of each set's tools."""
        self._encoder = encoder
        device = encoder.kind.weight.device
        self._tools = {name: encoder.embed(texts).to(device) for name, texts in tools.items()}
        self._best: dict[str, dict[str, list[int]]] = {name: {} for name in tools}

    def judged(
        self, name: str, wanted: Sequence[RewardExample], queries: Sequence[Sequence[str]]
    ) -> JudgedRanking:
        """What each request's queries find in a set, seen through what was wanted."""
        self._look(name, sorted({query for row in queries for query in row}))
        best = self._best[name]
        run = {
            str(n): [str(place) for place in interleave([best[query] for query in row])[:DEPTH]]
            for n, row in enumerate(queries)
        }
        return JudgedRanking.of(
            run, {str(n): {str(place): 1 for place in one.relevant} for n, one in enumerate(wanted)}
        )

    def rewards(
        self, name: str, wanted: Sequence[RewardExample], drafts: Sequence[Sequence[Sequence[str]]]
    ) -> dict[str, list[Floats]]:
        """By metric: of each request, what each of its drafts is worth."""
        rows = [(one, queries) for one, several in zip(wanted, drafts, strict=True) for queries in several]
        judged = self.judged(name, [one for one, _ in rows], [queries for _, queries in rows])
        ends = np.cumsum([len(several) for several in drafts])[:-1]
        return {metric: np.split(worth(judged), ends) for metric, worth in REWARDS.items()}

    @torch.no_grad()
    def _look(self, name: str, queries: Sequence[str]) -> None:
        """The likest tools for what was not asked before."""
        best, tools = self._best[name], self._tools[name]
        new = [query for query in queries if query not in best]
        for start in range(0, len(new), 16_384):
            part = new[start : start + 16_384]
            vectors: Tensor = self._encoder.embed(part).to(tools.device)
            depth = min(DEPTH, len(tools))
            found = cast("Any", torch.topk(vectors @ tools.T, depth).indices)
            best.update(zip(part, cast("list[list[int]]", found.tolist()), strict=True))

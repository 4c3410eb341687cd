"""Retrieval reward of generated queries: how well they find the right tools."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from contextune.evaluate.metrics import Floats, JudgedRanking, average_precision, mmrr, recall
from contextune.search.fusion import interleave
from contextune_lab.train.embedder.encoder import Encoder

DEPTH = 11
"""Length of the result list: the deepest cutoff of the paper."""
SMALLEST_MMRR = 1 / (DEPTH + 1)
"""Reward of a draft that finds nothing for a request with one tool; with n tools it is (n + 1) / 2 as high.

A lower threshold on the reward drops nothing.
"""
REWARDS: Mapping[str, Callable[[JudgedRanking], Floats]] = {
    "mmrr": lambda judge: mmrr(judge, DEPTH),
    "map": lambda judge: average_precision(judge, DEPTH),
    "recall": lambda judge: (recall(judge, 5) + recall(judge, DEPTH)) / 2,
}


@dataclass(frozen=True, slots=True)
class RewardExample:
    """A request and the places of its right tools in their set."""

    id: str
    text: str
    split: str
    relevant: frozenset[int]


class RewardRetrieval:
    """Semantic search over catalogues as in the paper: one search per query, results interleaved."""

    def __init__(self, encoder: Encoder, tools: Mapping[str, Sequence[str]]) -> None:
        """`tools` are the texts of the tools by set."""
        self._encoder = encoder
        device = encoder.kind.weight.device
        self._tools = {name: encoder.embed(texts).to(device) for name, texts in tools.items()}
        self._best: dict[str, dict[str, list[int]]] = {name: {} for name in tools}

    def judge(
        self, name: str, examples: Sequence[RewardExample], queries: Sequence[Sequence[str]]
    ) -> JudgedRanking:
        """Search with each request's queries and judge the results."""
        self._search(name, sorted({query for row in queries for query in row}))
        best = self._best[name]
        run = {
            str(n): [str(place) for place in interleave([best[query] for query in row])[:DEPTH]]
            for n, row in enumerate(queries)
        }
        return JudgedRanking.from_run(
            run, {str(n): {str(place): 1 for place in example.relevant} for n, example in enumerate(examples)}
        )

    def rewards(
        self, name: str, examples: Sequence[RewardExample], drafts: Sequence[Sequence[Sequence[str]]]
    ) -> dict[str, list[Floats]]:
        """Rewards by metric: one array per request, one value per draft."""
        rows = [
            (example, queries)
            for example, drafts_of_example in zip(examples, drafts, strict=True)
            for queries in drafts_of_example
        ]
        judge = self.judge(name, [example for example, _ in rows], [queries for _, queries in rows])
        ends = np.cumsum([len(drafts_of_example) for drafts_of_example in drafts])[:-1]
        return {metric: np.split(reward(judge), ends) for metric, reward in REWARDS.items()}

    @torch.no_grad()
    def _search(self, name: str, queries: Sequence[str]) -> None:
        """Search for queries that are not cached."""
        best, tools = self._best[name], self._tools[name]
        new_queries = [query for query in queries if query not in best]
        for start in range(0, len(new_queries), 16_384):
            part = new_queries[start : start + 16_384]
            vectors: Tensor = self._encoder.embed(part).to(tools.device)
            depth = min(DEPTH, len(tools))
            indices = cast("Any", torch.topk(vectors @ tools.T, depth).indices)
            best.update(zip(part, cast("list[list[int]]", indices.tolist()), strict=True))

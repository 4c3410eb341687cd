"""Figures of the call ranker: right calls, reliability of probabilities, requests that no tool serves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.plan.calls.feature_names import NAMES
from contextune.rank import Ranker
from contextune_lab.reliability import ReliabilityBin, auroc, calibration_error, reliability_bins
from contextune_lab.train.rankers.calls.requests import EVERYDAY, FULL, PLAIN, REMOVED
from contextune_lab.train.rankers.calls.train import RankedExample

Floats = NDArray[np.float64]
_RANK, _VARIED = NAMES.index("tool rank"), NAMES.index("varied")


@dataclass(frozen=True)
class CallFigures:
    """Shares of requests, for the first tool alone and for the best of all calls."""

    requests: int
    first: tuple[float, float, float]
    """tool@1, AST match and exact match if the first retrieved tool is called."""
    best: tuple[float, float, float]
    """The same for the best call."""
    possible: tuple[float, float, float]
    """The same if the right call among those filled were always chosen."""
    calibration_error: float
    sure: tuple[float, float]
    """Share of requests whose best call has a probability of 0.8 or more, and how many of them match."""


def call_figures(rows: Sequence[RankedExample]) -> CallFigures:
    """Figures over requests that have a right call."""
    probability, right = _best_calls(rows)
    sure = probability >= 0.8
    return CallFigures(
        len(rows),
        _shares(rows, [_first(row) for row in rows]),
        _shares(rows, [row.best if len(row.example.ast) else None for row in rows]),
        (
            float(np.mean([row.example.tool.any() for row in rows])),
            float(np.mean([row.example.ast.any() for row in rows])),
            float(np.mean([row.example.exact.any() for row in rows])),
        ),
        calibration_error(reliability_bins(right, probability)),
        (float(sure.mean()), float(right[sure].mean()) if sure.any() else float("nan")),
    )


def best_call_bins(ranked: Sequence[RankedExample]) -> list[ReliabilityBin]:
    """How often the best call is right, by its probability; over requests that a tool serves."""
    probability, right = _best_calls([row for row in ranked if row.example.served])
    return reliability_bins(right, probability)


def _best_calls(rows: Sequence[RankedExample]) -> tuple[Floats, NDArray[np.bool_]]:
    """The probability of each request's best call, and whether it is right."""
    right = [bool(len(row.example.ast)) and bool(row.example.ast[row.best]) for row in rows]
    return np.array([_best_probability(row) for row in rows]), np.array(right, bool)


def none_figures(ranked: Sequence[RankedExample]) -> dict[str, float]:
    """AUROC of the probability that no tool serves, by source, and its calibration error."""
    probability = np.array([row.ranked.none for row in ranked])
    unserved = np.array([not row.example.served for row in ranked])
    sources = np.array([row.example.source for row in ranked])
    figures = {"calibration error": calibration_error(reliability_bins(unserved, probability))}
    for source in (PLAIN, REMOVED, EVERYDAY):
        kept = (sources == FULL) | (sources == source)
        if unserved[kept].any() and not unserved[kept].all():
            figures[f"AUROC {source}"] = auroc(unserved[kept], probability[kept])
    return figures


def feature_gains(rankers: Sequence[Ranker]) -> dict[str, float]:
    """The share of each feature in the gain of all splits, largest first."""
    gains = np.sum([ranker.booster(0).feature_importance("gain") for ranker in rankers], axis=0)
    order = np.argsort(-gains)
    return {NAMES[int(n)]: float(gains[n] / gains.sum()) for n in order}


def _best_probability(row: RankedExample) -> float:
    return float(row.ranked.right[row.best]) if len(row.ranked.right) else 0.0


def _first(row: RankedExample) -> int | None:
    """The row of the first tool's best filling, if it was filled at all."""
    matrix = row.example.matrix
    first = np.flatnonzero((matrix[:, _RANK] == 0) & (matrix[:, _VARIED] == 0))
    return int(first[0]) if len(first) else None


def _shares(rows: Sequence[RankedExample], chosen: Sequence[int | None]) -> tuple[float, float, float]:
    def share(name: str) -> float:
        values = [
            n is not None and bool(getattr(row.example, name)[n]) for row, n in zip(rows, chosen, strict=True)
        ]
        return float(np.mean(values))

    return share("tool"), share("ast"), share("exact")

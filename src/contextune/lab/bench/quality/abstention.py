"""Abstention benchmark: requests with their tools, and the same requests with those tools removed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.rankers.tool_examples import ToolExample, without_context
from contextune.lab.train.rankers.tools import AbstentionData, context_model, fit_by_fold, with_features
from contextune.search import rank_by_score
from contextune.types import Progress

Floats = NDArray[np.float64]
_BINS = 10


@dataclass(frozen=True, slots=True)
class AbstentionRow:
    """Metrics for one source of requests.

    `false_positives` is the false positive rate at the threshold that 95 % of the true cases pass.
    """

    source: str
    count: int
    auroc: float
    false_positives: float


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Requests of similar predicted probability, and the share of them that had a tool."""

    predicted: float
    observed: float
    count: int


@dataclass(frozen=True, eq=False)
class AbstentionReport:
    """Metrics by source of request, calibration, and the "context is needed" classifier."""

    rows: Sequence[AbstentionRow]
    bins: Sequence[ReliabilityBin]
    context: AbstentionRow
    """Implicit requests against self-contained ones."""

    @property
    def calibration_error(self) -> float:
        """Expected calibration error."""
        total = sum(bucket.count for bucket in self.bins)
        return sum(bucket.count * abs(bucket.predicted - bucket.observed) for bucket in self.bins) / total


def measure_abstention(
    personas: Sequence[ToolExample],
    public: Sequence[ToolExample],
    embedder: Embedder,
    *,
    progress: Progress | None = None,
) -> AbstentionReport:
    """Evaluate out of fold: no model has seen the persona or the request."""
    examples = with_features([*personas, *map(without_context, personas), *public])
    data = AbstentionData.build(examples, fit_by_fold(examples, progress=progress), embedder)
    probabilities = data.out_of_fold()
    source = np.array(data.source)
    parts = {name: source == name for name in sorted(set(data.source))}
    names = {"all": np.ones(len(source), bool), **parts}
    rows = [_row(name, data.fits[mask], probabilities[mask]) for name, mask in names.items()]
    return AbstentionReport(rows, _bins(data.fits, probabilities), _context_row(personas, embedder))


def _context_row(personas: Sequence[ToolExample], embedder: Embedder) -> AbstentionRow:
    plain = plain_requests()
    vectors = embedder.embed([request.text for request in plain])
    predicted: list[float] = []
    observed: list[bool] = []
    for fold in range(FOLDS):
        implicit = np.stack([example.query.vector for example in personas if example.fold != fold])
        model = context_model(implicit, embedder, excluded_fold=fold)
        for number in range(fold, len(plain), FOLDS):
            predicted.append(float(model.probability(vectors[number][None])[0]))
            observed.append(plain[number].implicit)
        for example in personas:
            if example.fold == fold and example.measured:
                predicted.append(float(model.probability(example.query.vector[None])[0]))
                observed.append(True)
    return _row("context is needed", np.array(observed), np.array(predicted))


def _row(source: str, fits: NDArray[np.bool_], probabilities: Floats) -> AbstentionRow:
    threshold = float(np.quantile(probabilities[fits], 0.05))
    return AbstentionRow(
        source, len(fits), auroc(fits, probabilities), float((probabilities[~fits] >= threshold).mean())
    )


def auroc(right: NDArray[np.bool_], scores: Floats) -> float:
    """Area under the ROC curve, ties counting half."""
    low, high = rank_by_score(scores), len(scores) + 1 - rank_by_score(-scores)
    middle = len(scores) + 1 - (low + high) / 2
    ones, zeros = int(right.sum()), int((~right).sum())
    return float((middle[right].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def _bins(fits: NDArray[np.bool_], probabilities: Floats) -> list[ReliabilityBin]:
    bin_of = np.minimum((probabilities * _BINS).astype(int), _BINS - 1)
    return [
        ReliabilityBin(
            float(probabilities[bin_of == n].mean()),
            float(fits[bin_of == n].mean()),
            int((bin_of == n).sum()),
        )
        for n in range(_BINS)
        if (bin_of == n).any()
    ]


def to_rich(report: AbstentionReport) -> list[RichTable]:
    """Two tables: metrics by source, and the reliability of the probabilities."""
    table = RichTable(
        "requests", "cases", "AUROC", "false positives", title="Does any tool fit? (at 95 % recall)"
    )
    for row in (*report.rows, report.context):
        table.add_row(row.source, f"{row.count:,}", f"{row.auroc:.3f}", f"{100 * row.false_positives:.1f} %")
    reliability = RichTable(
        "predicted",
        "observed",
        "cases",
        title=f"Reliability: expected calibration error {100 * report.calibration_error:.1f} %",
    )
    for bucket in report.bins:
        reliability.add_row(f"{bucket.predicted:.2f}", f"{bucket.observed:.2f}", f"{bucket.count:,}")
    return [table, reliability]

"""Abstention benchmark: requests with their tools, and the same requests with those tools removed.

Every probability comes from models that have seen neither the persona nor the catalogue, nor one that shares
tools with it.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.rankers.abstention import SERVED, TWINS_LEFT, AbstentionData
from contextune.lab.train.rankers.tool_examples import ToolExample
from contextune.lab.train.rankers.tools import context_model, fit_by_holdout, training_examples
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
    weight: float = 0.0
    """Total weight of the requests; every source counts the same, and half of it are served."""


@dataclass(frozen=True, eq=False)
class AbstentionReport:
    """Metrics by kind of negative and by source, calibration, and the "context is needed" classifier.

    The first row and the calibration leave out the requests for which a near twin of the right tool is left.
    """

    rows: Sequence[AbstentionRow]
    bins: Sequence[ReliabilityBin]
    context: AbstentionRow
    """Implicit requests against self-contained ones."""
    sources: Sequence[str] = ()
    """Names of the rows that are sources of requests."""

    @property
    def calibration_error(self) -> float:
        """Expected calibration error."""
        weights = [bucket.weight or bucket.count for bucket in self.bins]
        errors = [abs(bucket.predicted - bucket.observed) for bucket in self.bins]
        return sum(map(operator.mul, weights, errors)) / sum(weights)

    @property
    def mean_auroc(self) -> float:
        """Mean over the sources, each a catalogue not seen."""
        return fmean(row.auroc for row in self.rows if row.source in self.sources)


def measure_abstention(
    personas: Sequence[ToolExample],
    public: Sequence[ToolExample],
    embedder: Embedder,
    *,
    progress: Progress | None = None,
) -> AbstentionReport:
    """Evaluate on personas and catalogues that no model has seen."""
    examples = training_examples(personas, public)
    data = AbstentionData.build(examples, fit_by_holdout(examples, progress=progress), embedder)
    probabilities = data.held_out()
    source, case = np.array(data.source), np.array(data.case)
    clear = case != TWINS_LEFT
    masks = {"all": clear}
    for name in sorted(set(data.case) - {SERVED}):
        # the same requests with their tools are the positives
        masks[name] = (case == name) | ((case == SERVED) & np.isin(source, source[case == name]))
    sources = sorted(set(data.source))
    masks |= {name: clear & (source == name) for name in sources}
    rows = [_row(name, data.fits[mask], probabilities[mask]) for name, mask in masks.items()]
    bins = _bins(data.fits[clear], probabilities[clear], data.weights(clear)[clear])
    return AbstentionReport(rows, bins, _context_row(personas, embedder), sources)


def _context_row(personas: Sequence[ToolExample], embedder: Embedder) -> AbstentionRow:
    plain = plain_requests()
    vectors = embedder.embed([request.text for request in plain])
    predicted: list[float] = []
    observed: list[bool] = []
    for fold in range(FOLDS):
        model = context_model(personas, embedder, excluded_fold=fold)
        for number in range(fold, len(plain), FOLDS):
            predicted.append(float(model.probability(vectors[number][None])[0]))
            observed.append(plain[number].implicit)
        for example in personas:
            if example.fold == fold and example.measured:
                predicted.append(float(model.probability(example.query.vector[None])[0]))
                observed.append(example.kind != "explicit")
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


def _bins(fits: NDArray[np.bool_], probabilities: Floats, weights: Floats) -> list[ReliabilityBin]:
    bin_of = np.minimum((probabilities * _BINS).astype(int), _BINS - 1)
    bins: list[ReliabilityBin] = []
    for number in range(_BINS):
        mask = bin_of == number
        if total := float(weights[mask].sum()):
            predicted, observed = (
                float(weights[mask] @ values[mask]) / total for values in (probabilities, fits)
            )
            bins.append(ReliabilityBin(predicted, observed, int(mask.sum()), total))
    return bins


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

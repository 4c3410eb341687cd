"""Abstention benchmark: requests with their tools, and the same requests with those tools removed.

Every probability comes from models that have seen neither the persona nor the catalogue, nor one that shares
tools with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.types import Progress
from contextune_lab.reliability import ReliabilityBin, auroc, calibration_error, reliability_bins
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.rankers.tools.abstention import SERVED, TWINS_LEFT, AbstentionData
from contextune_lab.train.rankers.tools.examples import ToolExample
from contextune_lab.train.rankers.tools.train import context_model, fit_by_holdout, training_examples

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AbstentionRow:
    """Metrics for one source of requests.

    `false_positives` is the false positive rate at the threshold that 95 % of the true cases pass.
    """

    source: str
    count: int
    auroc: float
    false_positives: float


@dataclass(frozen=True, eq=False)
class AbstentionReport:
    """Metrics by kind of negative and by source, calibration, and the "context is needed" classifier.

    The first row and the calibration leave out the requests for which a near twin of the right tool is left.
    """

    rows: Sequence[AbstentionRow]
    bins: Sequence[ReliabilityBin]
    """Every source counts the same, and half of its weight are requests that are served."""
    context: AbstentionRow
    """Implicit requests against self-contained ones."""
    sources: Sequence[str] = ()
    """Names of the rows that are sources of requests."""

    @property
    def calibration_error(self) -> float:
        """Expected calibration error."""
        return calibration_error(self.bins)

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
    bins = reliability_bins(data.fits[clear], probabilities[clear], data.weights(clear)[clear])
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

"""How well "nothing fits" is said: requests with their tools, and the same with those tools taken away."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from contextune.datasets import plain_requests
from contextune.embed import Embedder
from contextune.lab.train.embedder.data import FOLDS
from contextune.lab.train.rankers.tool_examples import ToolExample, without_context
from contextune.lab.train.rankers.tools import AbstentionData, by_fold, context_model, shown
from contextune.search import rank_by_score
from contextune.types import Progress

Floats = NDArray[np.float64]
_PARTS = 10


@dataclass(frozen=True, slots=True)
class AbstentionCase:
    """Of one sort of requests: how many, AUROC, false positives where 95 % of the right ones pass."""

    source: str
    cases: int
    auroc: float
    false_positives: float


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Requests given about the same probability, and the share of them that had a tool."""

    said: float
    true: float
    cases: int


@dataclass(frozen=True, eq=False)
class AbstentionReport:
    """What was measured: by sort of request, and how far probabilities can be believed."""

    rows: Sequence[AbstentionCase]
    bins: Sequence[ReliabilityBin]
    context: AbstentionCase
    """Telling requests that leave things out from those that say all."""

    @property
    def error(self) -> float:
        """Expected calibration error: how far, on average, what is said is from what is true."""
        total = sum(part.cases for part in self.bins)
        return sum(part.cases * abs(part.said - part.true) for part in self.bins) / total


def judge(
    people: Sequence[ToolExample],
    public: Sequence[ToolExample],
    embedder: Embedder,
    *,
    progress: Progress | None = None,
) -> AbstentionReport:
    """Everything by models that have not seen the persona or the request."""
    examples = shown([*people, *map(without_context, people), *public])
    doubts = AbstentionData.of(examples, by_fold(examples, progress=progress), embedder)
    chance = doubts.unseen()
    source = np.array(doubts.source)
    parts = {name: source == name for name in sorted(set(doubts.source))}
    names = {"all": np.ones(len(source), bool), **parts}
    rows = [_doubt(name, doubts.fits[mine], chance[mine]) for name, mine in names.items()]
    return AbstentionReport(rows, _bins(doubts.fits, chance), _context(people, embedder))


def _context(people: Sequence[ToolExample], embedder: Embedder) -> AbstentionCase:
    plain = plain_requests()
    vectors = embedder.embed([request.text for request in plain])
    said: list[float] = []
    true: list[bool] = []
    for fold in range(FOLDS):
        seen = np.stack([example.wish.vector for example in people if example.fold != fold])
        model = context_model(seen, embedder, but=fold)
        for number in range(fold, len(plain), FOLDS):
            said.append(float(model.probability(vectors[number][None])[0]))
            true.append(plain[number].implicit)
        for example in people:
            if example.fold == fold and example.measured:
                said.append(float(model.probability(example.wish.vector[None])[0]))
                true.append(True)
    return _doubt("context is needed", np.array(true), np.array(said))


def _doubt(source: str, fits: NDArray[np.bool_], chance: Floats) -> AbstentionCase:
    passing = float(np.quantile(chance[fits], 0.05))
    return AbstentionCase(source, len(fits), auroc(fits, chance), float((chance[~fits] >= passing).mean()))


def auroc(right: NDArray[np.bool_], scores: Floats) -> float:
    """How often something right scores above something wrong, ties counting half."""
    low, high = rank_by_score(scores), len(scores) + 1 - rank_by_score(-scores)
    middle = len(scores) + 1 - (low + high) / 2
    ones, zeros = int(right.sum()), int((~right).sum())
    return float((middle[right].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def _bins(fits: NDArray[np.bool_], chance: Floats) -> list[ReliabilityBin]:
    part = np.minimum((chance * _PARTS).astype(int), _PARTS - 1)
    return [
        ReliabilityBin(float(chance[part == n].mean()), float(fits[part == n].mean()), int((part == n).sum()))
        for n in range(_PARTS)
        if (part == n).any()
    ]


def to_rich(found: AbstentionReport) -> list[RichTable]:
    """The figures, and what is said against what is true."""
    table = RichTable(
        "requests", "cases", "AUROC", "false positives", title="Does any tool fit? (at 95 % recall)"
    )
    for row in (*found.rows, found.context):
        table.add_row(row.source, f"{row.cases:,}", f"{row.auroc:.3f}", f"{100 * row.false_positives:.1f} %")
    trust = RichTable(
        "said", "true", "cases", title=f"Reliability: expected calibration error {100 * found.error:.1f} %"
    )
    for part in found.bins:
        trust.add_row(f"{part.said:.2f}", f"{part.true:.2f}", f"{part.cases:,}")
    return [table, trust]

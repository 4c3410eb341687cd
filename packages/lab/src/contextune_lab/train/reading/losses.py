"""The losses of the reading model."""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune_lab.train.reading.network import CallLogits, ReadingNetwork
from contextune_lab.train.reading.tokens import CallTokens, ListTokens

_LOWEST = -1e4
_HELPFUL = 0.3
"""The share of a needed item that an item counts which helps."""
_ITEM_ODDS, _TOOL_ODDS = 1.0, 0.5
_VALUES, _SPANS = 1.5, 0.4
"""Weights of the parts of a loss."""


def list_loss(network: ReadingNetwork, rows: Sequence[ListTokens], head: str) -> Tensor:
    """Cross-entropy within each list, and of each text by itself: scores are log odds, too."""
    scores = network.score_lists([each for row in rows for each in row.sequences], head)
    grades = torch.tensor([grade for row in rows for grade in row.grades], device=scores.device)
    targets = (
        torch.where(grades >= 2, 1.0, torch.where(grades == 1, _HELPFUL, 0.0)) if head == "item" else grades
    ).float()
    sizes = [len(row.sequences) for row in rows]
    tables = [
        torch.nn.utils.rnn.pad_sequence(values.split(sizes), batch_first=True, padding_value=padding)
        for values, padding in ((scores, _LOWEST), (targets, 0.0))
    ]
    odds = F.binary_cross_entropy_with_logits(scores, targets)
    if head == "item":
        return _shared_entropy(*tables) + _ITEM_ODDS * odds
    return _any_entropy(*tables) + _TOOL_ODDS * odds


def _shared_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    """All right texts share the probability; lists without one count nothing."""
    total = targets.sum(1)
    losses = -(targets / total.clamp(min=1e-6)[:, None] * F.log_softmax(scores, 1)).sum(1)
    return (losses * (total > 0)).mean()


def _any_entropy(scores: Tensor, targets: Tensor) -> Tensor:
    """Any of the right texts will do."""
    right = torch.logsumexp(scores.masked_fill(targets <= 0, _LOWEST), 1)
    return ((torch.logsumexp(scores, 1) - right) * (targets.sum(1) > 0)).mean()


def call_loss(network: ReadingNetwork, calls: Sequence[CallTokens]) -> Tensor:
    """Whether the tool fits, which values are right, and where spans begin and end."""
    logits = network.score_calls(calls)
    fits = torch.tensor([float(call.fits) for call in calls], device=logits.fit.device)
    loss = F.binary_cross_entropy_with_logits(logits.fit, fits)
    arguments = [argument for call in calls for argument in call.arguments]
    gold = np.zeros(tuple(logits.values.shape), np.bool_)
    for number, argument in enumerate(arguments):
        gold[number, argument.gold] = True
    known = gold.any(1)
    if known.any():
        values, right = logits.values[known], torch.from_numpy(gold[known]).to(logits.values.device)
        chosen = torch.logsumexp(values.masked_fill(~right, _LOWEST), 1)
        loss = loss + _VALUES * (torch.logsumexp(values, 1) - chosen).mean()
    spans = [(number, *argument.span) for number, argument in enumerate(arguments) if argument.span]
    return loss + _SPANS * _span_loss(logits, spans) if spans else loss


def _span_loss(logits: CallLogits, spans: Sequence[tuple[int, int, int]]) -> Tensor:
    rows, starts, ends = torch.tensor(spans, device=logits.starts.device).T
    return F.cross_entropy(logits.starts[rows], starts) + F.cross_entropy(logits.ends[rows], ends)

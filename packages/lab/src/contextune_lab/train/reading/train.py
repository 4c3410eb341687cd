"""Train the reading model.

    python -m contextune_lab.train.reading.train BASE.npz TOKENIZER.json OUT.npz ROWS [ROWS …] [--seconds N]

`BASE.npz` is written by `base_weights`; the folder of a trained model instead continues its training. `ROWS`
are folders of `build_rows` and `public_rows`. The encoder computes in bfloat16, or with `--full` in float32,
which is faster where the processor has no bfloat16; the optimizer keeps float32 copies of its weights. The
schedule ends after `--seconds`, wherever it is then. Needs torch and transformers.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TypeVar

import torch
from torch import Tensor

from contextune_lab.train.reading.base_weights import save_weights
from contextune_lab.train.reading.export import encoder_layers, read_exported, read_weights
from contextune_lab.train.reading.losses import call_loss, list_loss
from contextune_lab.train.reading.network import BODY, ReadingNetwork
from contextune_lab.train.reading.rows import CallTrainingRow, Kind, ListRow, TrainingRows
from contextune_lab.train.reading.tokens import (
    CallTokens,
    ListTokens,
    RowTokenizer,
    TokenLimits,
    token_batches,
)

OTHER_ROWS: Mapping[Kind, Mapping[str, int]] = {
    "item": {"persona": 1500, "pairs": 400},
    "tool": {
        "persona": 1500, "slurp": 1300, "bfcl": 300, "metatool": 400, "toollens": 300, "toolbench": 400,
    },
    "call": {"persona": 3000, "bfcl": 450},
}  # fmt: skip
"""Most rows of a source; of the others all are taken."""
_ITEM_TEXTS, _TOOL_TEXTS, _OTHER_TEXTS = 10, 8, 7
"""Texts of a row: of the worlds' items, of their tools, of the others."""
_RIGHT_TEXTS = 5
_JITTER = 24.0
_REPORT = 100
_FIRST_RATE, _MIN_RATE = 0.02, 0.03
"""Shares of the learning rate at the start and at the end."""
_Row = TypeVar("_Row", ListRow, CallTrainingRow)


@dataclass(frozen=True)
class ReadingRecipe:
    """Hyperparameters of a run."""

    layers: tuple[int, ...] = (0, 2, 4, 6, 8, 11)
    """Layers of the base that are kept."""
    rate: float = 1e-4
    head_rate: float = 8.0
    """Of the heads, which start at random, relative to `rate`."""
    warmup: float = 0.05
    decay: float = 0.01
    epochs: int = 1
    seconds: float = float("inf")
    batch_tokens: int = 7000
    limits: TokenLimits = field(default_factory=TokenLimits)
    half: bool = True
    """Whether the body computes in bfloat16."""
    seed: int = 0


CONTINUED: Mapping[str, float] = {"rate": 7e-5, "head_rate": 4.0}
"""What is different for a model whose training goes on."""


@dataclass(frozen=True, eq=False)
class TrainingBatch:
    """Rows of one kind."""

    kind: Kind
    lists: Sequence[ListTokens] = ()
    calls: Sequence[CallTokens] = ()

    def loss(self, network: ReadingNetwork) -> Tensor:
        """The loss of the batch."""
        if self.kind == "call":
            return call_loss(network, self.calls)
        return list_loss(network, self.lists, self.kind)


def choose_rows(rows: TrainingRows, draw: Random) -> TrainingRows:
    """All rows of worlds, and a sample of the others; long lists are shortened."""
    items, tools = (
        [_shortened(row, kind) for row in _sample(lists, OTHER_ROWS[kind], draw)]
        for kind, lists in (("item", rows.items), ("tool", rows.tools))
    )
    return TrainingRows(items, tools, _sample(rows.calls, OTHER_ROWS["call"], draw))


def _sample(rows: Sequence[_Row], limits: Mapping[str, int], draw: Random) -> list[_Row]:
    by_source: dict[str, list[_Row]] = {}
    for row in rows:
        by_source.setdefault(row.source, []).append(row)
    chosen: list[_Row] = []
    for source, own in by_source.items():
        limit = limits.get(source, len(own))
        chosen += draw.sample(own, limit) if limit < len(own) else own
    return chosen


def _shortened(row: ListRow, kind: Kind) -> ListRow:
    """The row with its right texts, and the first of the others; "no tool" is never left out."""
    is_world = row.source[:1] in "wx" and row.source[1:].isdigit()
    count = (_ITEM_TEXTS if kind == "item" else _TOOL_TEXTS) if is_world else _OTHER_TEXTS
    first = [0] if kind == "tool" else []
    right = [number for number, grade in enumerate(row.grades) if grade > 0 and number not in first]
    wrong = [number for number, grade in enumerate(row.grades) if grade <= 0 and number not in first]
    most = max(count, min(_RIGHT_TEXTS, len(first) + len(right)) + 2)
    kept = sorted([*[*first, *right][:_RIGHT_TEXTS], *wrong][:most])
    texts, grades = [row.texts[n] for n in kept], [row.grades[n] for n in kept]
    return replace(row, texts=texts, grades=grades)


def make_batches(
    rows: TrainingRows, tokenizer: RowTokenizer, tokens: int, draw: Random
) -> list[TrainingBatch]:
    """The rows of one epoch in batches of one kind each, in random order."""
    limits = tokenizer.limits
    batches: list[TrainingBatch] = []
    for kind, lists, pair in (("item", rows.items, limits.item), ("tool", rows.tools, limits.tool)):
        encoded = [tokenizer.list_tokens(row, pair) for row in lists]
        sizes = [len(row.sequences) * max(len(each.ids) for each in row.sequences) for row in encoded]
        batches += [
            TrainingBatch(kind, lists=[encoded[number] for number in batch])
            for batch in token_batches(sizes, tokens, draw, jitter=_JITTER)
        ]
    calls = [tokenizer.call_tokens(row) for row in rows.calls]
    lengths = [len(call.sequence.ids) for call in calls]
    batches += [
        TrainingBatch("call", calls=[calls[number] for number in batch])
        for batch in token_batches(lengths, tokens, draw, jitter=_JITTER)
    ]
    draw.shuffle(batches)
    return batches


class MasterWeights:
    """AdamW over float32 copies of a body that computes in another precision."""

    def __init__(self, network: ReadingNetwork, recipe: ReadingRecipe) -> None:
        named = [(name, each) for name, each in network.named_parameters() if each.requires_grad]
        self._heads = [each for name, each in named if not name.startswith(BODY)]
        body = [(name, each) for name, each in named if name.startswith(BODY)]
        self._names = [name for name, _ in body]
        self._body = [each for _, each in body]
        self._copies = [each.detach().float().clone().requires_grad_(True) for each in self._body]
        self._rates = (recipe.rate, recipe.rate * recipe.head_rate)
        groups = [
            {"params": parameters, "lr": rate}
            for parameters, rate in zip((self._copies, self._heads), self._rates, strict=True)
        ]
        self._optimizer = torch.optim.AdamW(groups, weight_decay=recipe.decay)

    def step(self, share: float) -> None:
        """Apply the gradients with a share of the learning rate."""
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * share
        for parameter, copy in zip(self._body, self._copies, strict=True):
            copy.grad = None if parameter.grad is None else parameter.grad.float()
        trained = [each for each in (*self._copies, *self._heads) if each.grad is not None]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        self._optimizer.step()  # pyright: ignore[reportUnknownMemberType]
        with torch.no_grad():
            for parameter, copy in zip(self._body, self._copies, strict=True):
                parameter.copy_(copy)

    def restore(self, network: ReadingNetwork) -> None:
        """Give the network its weights as float32."""
        network.float()
        trained = dict(network.named_parameters())
        with torch.no_grad():
            for name, copy in zip(self._names, self._copies, strict=True):
                trained[name].copy_(copy)


def train(
    network: ReadingNetwork,
    batches: Callable[[], Sequence[TrainingBatch]],
    recipe: ReadingRecipe,
    report: Callable[[str], None] = print,
) -> list[float]:
    """Train a network in place; returns the loss of each step. `batches` gives those of an epoch."""
    if recipe.half:
        network.bert.to(torch.bfloat16)
    network.train()
    weights = MasterWeights(network, recipe)
    losses: list[float] = []
    means: dict[Kind, float] = {}
    start = time.monotonic()
    for epoch in range(recipe.epochs):
        if time.monotonic() - start >= recipe.seconds:
            break
        plan = batches()
        for number, batch in enumerate(plan):
            seconds = time.monotonic() - start
            done = max((epoch + number / len(plan)) / recipe.epochs, seconds / recipe.seconds)
            if done >= 1:
                break
            loss = batch.loss(network)
            network.zero_grad(set_to_none=True)
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            weights.step(min(1.0, _FIRST_RATE + done / recipe.warmup) * max(_MIN_RATE, 1 - done))
            losses.append(float(loss.detach()))
            means[batch.kind] = 0.97 * means.get(batch.kind, losses[-1]) + 0.03 * losses[-1]
            if len(losses) % _REPORT == 0:
                shown = " ".join(f"{kind} {mean:.3f}" for kind, mean in means.items())
                report(f"{len(losses)} steps, {seconds:.0f} s: {shown}")
    weights.restore(network)
    return losses


def main(arguments: Sequence[str] | None = None) -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("rows", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="end after this time")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="compute in float32")
    options = parser.parse_args(arguments)
    recipe = ReadingRecipe(seconds=options.seconds, epochs=options.epochs, half=not options.full)
    if options.base.is_dir():
        base = read_exported(options.base)
        recipe = replace(recipe, layers=tuple(range(encoder_layers(base))), **CONTINUED)
    else:
        base = read_weights(options.base)
    torch.manual_seed(recipe.seed)  # pyright: ignore[reportUnknownMemberType]
    draw = Random(recipe.seed)  # noqa: S311  # repeatable, not secret
    rows = choose_rows(TrainingRows.load(options.rows), draw)
    tokenizer = RowTokenizer(options.tokenizer, recipe.limits)
    network = ReadingNetwork(base, recipe.layers)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    train(network, lambda: make_batches(rows, tokenizer, recipe.batch_tokens, draw), recipe)
    save_weights(network.weights(), options.out)


if __name__ == "__main__":
    main()

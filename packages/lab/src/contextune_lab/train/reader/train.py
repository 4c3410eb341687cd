"""Train the reader: which tool a request calls for, from its text and its first items.

One run trains a reader per fold, without that fold's personas, and one on everything, which ships. Requests
that say all that is needed count half: there are many, and they are easy.

    python -m contextune_lab.train.reader.train DATA.json WEIGHTS OUT [--folds 0,all] [--set epochs=6 …]

`DATA.json` is written by `contextune_lab.train.reader.data`; `WEIGHTS` is the folder of all-MiniLM-L6-v2.
`contextune_lab.train.reader.export` turns `OUT` into the files that ship. Needs torch and transformers; use a
GPU: six models take five minutes on a large one.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune_lab.train.reader.model import ReaderNetwork, token_batches
from contextune_lab.train.reader.rows import (
    IMPLICIT,
    PAIR,
    PartDropout,
    ReaderData,
    ReaderRow,
    row_text,
    varied_text,
)

ALL = "all"
_JITTER = 4.0
_LOWEST_RATE = 0.02
"""Share of the learning rate at the end."""


@dataclass(frozen=True)
class ReaderRecipe:
    """Hyperparameters of a run."""

    epochs: int = 6
    rate: float = 1.5e-4
    warmup: float = 0.1
    decay: float = 0.01
    smoothing: float = 0.05
    """Share of the label that is spread over all tools."""
    plain_weight: float = 0.5
    """Weight of all rows but implicit requests and pairs."""
    no_items: float = 0.05
    """Probability that a row has no items in an epoch."""
    no_moment: float = 0.1
    batch_tokens: int = 8192
    max_tokens: int = 192
    seed: int = 0


def train(
    data: ReaderData, weights: Path, recipe: ReaderRecipe, *, without: int | None, device: str
) -> ReaderNetwork:
    """Train a reader without the personas of one fold."""
    seed = recipe.seed if without is None else recipe.seed + 1 + without
    torch.manual_seed(seed)  # pyright: ignore[reportUnknownMemberType]
    draw = Random(seed)  # noqa: S311  # repeatable, not secret
    place = {tool: number for number, tool in enumerate(data["tools"])}
    rows = [row for row in data["rows"] if row["tool"] and (without is None or row["fold"] != without)]
    labels = torch.tensor([place[str(row["tool"])] for row in rows]).to(device)
    importance = torch.tensor(
        [1.0 if row["group"] in (IMPLICIT, PAIR) else recipe.plain_weight for row in rows]
    ).to(device)
    reader = ReaderNetwork(weights, len(place), recipe.max_tokens).to(device)
    dropout = PartDropout(recipe.no_items, recipe.no_moment)
    optimizer = scheduler = None
    for epoch in range(recipe.epochs):
        tokens = reader.tokenize([varied_text(row, data["separator"], dropout, draw) for row in rows])
        batches = token_batches([*map(len, tokens)], recipe.batch_tokens, draw, jitter=_JITTER)
        if optimizer is None or scheduler is None:
            optimizer, scheduler = _optimizer(reader, recipe, recipe.epochs * len(batches))
        reader.train()
        total = 0.0
        for batch in batches:
            losses = F.cross_entropy(
                reader([tokens[row] for row in batch]),
                labels[batch],
                reduction="none",
                label_smoothing=recipe.smoothing,
            )
            loss = (losses * importance[batch]).sum() / importance[batch].sum()
            optimizer.zero_grad()
            loss.backward()  # pyright: ignore[reportUnknownMemberType]
            torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimizer.step()  # pyright: ignore[reportUnknownMemberType]
            scheduler.step()
            total += loss.item()
        print(f"  epoch {epoch} loss {total / len(batches):.4f}", flush=True)  # noqa: T201
    return reader


def _optimizer(
    reader: ReaderNetwork, recipe: ReaderRecipe, steps: int
) -> tuple[torch.optim.AdamW, torch.optim.lr_scheduler.LambdaLR]:
    """AdamW with warm-up and linear decay; biases and norms have no weight decay."""
    trained = [parameter for parameter in reader.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim > 1], "weight_decay": recipe.decay},
        {"params": [parameter for parameter in trained if parameter.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate)

    def rate(step: int) -> float:
        return min(1, (step + 1) / (recipe.warmup * steps + 1)) * max(_LOWEST_RATE, 1 - step / steps)

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


@torch.no_grad()
def predict(
    reader: ReaderNetwork, rows: Sequence[ReaderRow], separator: str, batch_tokens: int
) -> np.ndarray:
    """Log probabilities of all tools, one row per request."""
    reader.eval()
    tokens = reader.tokenize([row_text(row, separator) for row in rows])
    out = np.zeros((len(rows), reader.tool.out_features), np.float32)
    any_order = Random(0)  # noqa: S311
    for batch in token_batches([*map(len, tokens)], batch_tokens, any_order, jitter=0):
        logits = reader([tokens[row] for row in batch])
        out[batch] = F.log_softmax(logits, dim=-1).cpu().numpy()
    return out


def accuracy_by_group(
    rows: Sequence[ReaderRow], tools: Sequence[str], predicted: np.ndarray
) -> dict[str, float]:
    """Percentage of requests whose right tool is the most probable one."""
    hits: dict[str, list[bool]] = {}
    for row, best in zip(rows, predicted.argmax(axis=1).tolist(), strict=True):
        if row["tool"]:
            hits.setdefault(row["group"], []).append(tools[best] == row["tool"])
    return {group: round(100 * float(np.mean(values)), 1) for group, values in hits.items()}


def main() -> None:
    """Train the readers of the given folds, and the one that ships."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", default="0,1,2,3,4,all", help="which folds to leave out, by turns")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    arguments = parser.parse_args()
    default = ReaderRecipe()
    settings: dict[str, Any] = {
        name: type(getattr(default, name))(value)
        for name, value in (setting.split("=", 1) for setting in arguments.settings)
    }
    recipe = replace(default, **settings)
    data = cast("ReaderData", json.loads(arguments.data.read_text(encoding="utf-8")))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(asdict(recipe)), flush=True)  # noqa: T201
    for name in arguments.folds.split(","):
        start = time.time()
        fold = None if name == ALL else int(name)
        reader = train(data, arguments.weights, recipe, without=fold, device=device)
        figures: dict[str, float] = {}
        if fold is None:
            save_model(reader, data["tools"], arguments.weights, arguments.out)
        else:
            rows = [row for row in data["rows"] if row["fold"] == fold]
            predicted = predict(reader, rows, data["separator"], recipe.batch_tokens)
            figures = accuracy_by_group(rows, data["tools"], predicted)
            save_probabilities(arguments.out / f"probabilities-{fold}.npz", rows, predicted)
        print(f"fold {name}: {time.time() - start:.0f} s {figures or ''}", flush=True)  # noqa: T201


def save_probabilities(file: Path, rows: Sequence[ReaderRow], predicted: np.ndarray) -> None:
    """Write the log probabilities of a fold."""
    np.savez(file, names=np.array([row["name"] for row in rows]), log_probabilities=predicted)


def save_model(reader: ReaderNetwork, tools: Sequence[str], weights: Path, out: Path) -> None:
    """Write the encoder as a folder for the embedder's `export`, and the linear layer."""
    from safetensors import torch as safetensors

    folder = out / "model"
    folder.mkdir(exist_ok=True)
    for file in ("config.json", "tokenizer.json"):
        (folder / file).write_bytes((weights / file).read_bytes())
    state = {key: value.half().contiguous().cpu() for key, value in reader.bert.state_dict().items()}
    cast("Any", safetensors).save_file(state, folder / "model.safetensors")
    head: dict[str, Any] = {
        "names": np.array(tools),
        "weights": reader.head(),
        "max_tokens": np.array(reader.max_tokens),
    }
    np.savez(out / "head.npz", **head)


if __name__ == "__main__":
    main()

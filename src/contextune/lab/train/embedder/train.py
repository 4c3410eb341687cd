"""Fine-tune the sentence encoder on implicit requests.

One run trains an embedder per fold, without that fold's personas, and one on everything, which ships. The
loss is contrastive: request → item, request with CoT → item, CoT → item, request → CoT, request → tool,
request and item → tool. Negatives are all items of the persona; for a pair, other pairs' items and
distractors, except near-duplicates; for a public catalogue, the tools the untuned encoder ranks first.

Two heads are trained along: the kind of thing a request leaves out, and the applications it is about.

    python -m contextune.lab.train.embedder.train DATA.json WEIGHTS OUT [--set epochs=6 …]

`DATA.json` is written by `contextune.lab.train.embedder.data`. Needs torch and transformers; use a GPU.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune.lab.train.embedder.encoder import Encoder
from contextune.lab.train.embedder.losses import CatalogueSampler, Data, LossWeights, TrainingStep


@dataclass(frozen=True)
class EmbedderRecipe:
    """Hyperparameters of a run."""

    epochs: float = 5.0
    pairs: int = 40
    """Pairs per step; persona requests are added in proportion, so that both finish an epoch together."""
    rate: float = 2.5e-4
    head_rate: float = 1e-2
    warmup: float = 0.1
    decay: float = 0.01
    temperature: float = 0.05
    tool_weight: float = 1.2
    cot_weight: float = 0.3
    pair_weight: float = 1.0
    head_weight: float = 0.3
    catalog_weight: float = 1.5
    catalog_requests: int = 256
    """Requests to a public catalogue per step, if there are any."""
    augmented: float = 0.35
    """Probability that a request has its CoT appended or is replaced by it."""
    unplaced: float = 0.25
    """Probability that time and place are left out, as they may be at run time."""
    alike: float = 0.9
    """Negatives more similar than this to the positive (untuned encoder) are masked."""
    average_from: float = 0.6
    """Weights are averaged over the steps after this part of the run."""
    soup: int = 1
    """Number of seeds whose weights are averaged (model soup)."""
    seed: int = 0
    max_tokens: int = 128

    def weights(self) -> LossWeights:
        """The weights of the losses."""
        return LossWeights(
            temperature=self.temperature,
            tool=self.tool_weight,
            cot=self.cot_weight,
            pair=self.pair_weight,
            head=self.head_weight,
            catalog=self.catalog_weight,
            augmented=self.augmented,
            unplaced=self.unplaced,
            alike=self.alike,
        )


def train(data: Data, weights: Path, recipe: EmbedderRecipe, *, without: int | None, device: str) -> Encoder:
    """Train an encoder without the personas of one fold."""
    random.seed(recipe.seed)
    torch.manual_seed(recipe.seed)  # pyright: ignore[reportUnknownMemberType]
    encoder = Encoder(weights, len(data["kinds"]), len(data["apps"]), recipe.max_tokens).to(device)
    personas = [persona for persona in data["personas"] if persona["fold"] != without]
    untuned_vectors = _untuned_vectors(encoder, data)
    sampler = CatalogueSampler(
        encoder, data.get("catalogs", []), without=without, seed=recipe.seed, alike=recipe.alike
    )
    heads = [*encoder.kind.parameters(), *encoder.app.parameters()]
    groups = [
        {"params": list(encoder.bert.parameters()), "lr": recipe.rate},
        {"params": heads, "lr": recipe.head_rate},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=recipe.decay)
    steps = int(recipe.epochs * len(data["pairs"]) / recipe.pairs)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step / steps, recipe.warmup))
    average = torch.optim.swa_utils.AveragedModel(encoder.bert)
    batches = _batches(personas, data["pairs"], recipe)
    for step in range(steps):
        encoder.train()
        catalogue = sampler.draw(recipe.catalog_requests) if sampler else None
        loss = TrainingStep(encoder, recipe.weights()).loss(data, *next(batches), untuned_vectors, catalogue)
        optimizer.zero_grad()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]
        scheduler.step()
        if step >= recipe.average_from * steps:
            average.update_parameters(encoder.bert)
        if step % 50 == 0:
            print(f"  step {step}/{steps} loss {loss.item():.3f}", flush=True)  # noqa: T201
    encoder.bert = average.module
    return encoder


def soup(data: Data, weights: Path, recipe: EmbedderRecipe, *, without: int | None, device: str) -> Encoder:
    """Average the weights of several runs (model soup)."""
    runs = [
        train(data, weights, replace(recipe, seed=recipe.seed + number), without=without, device=device)
        for number in range(recipe.soup)
    ]
    states = [run.state_dict() for run in runs]
    mean = {
        key: torch.stack([state[key] for state in states]).mean(0) if value.is_floating_point() else value
        for key, value in states[0].items()
    }
    runs[0].load_state_dict(mean)
    return runs[0]


def _rate(done: float, warmup: float) -> float:
    return done / warmup if done < warmup else max(0.05, (1 - done) / (1 - warmup))


def _untuned_vectors(encoder: Encoder, data: Data) -> dict[str, Tensor]:
    """Untuned vectors of all pair items and distractors, to detect false negatives."""
    texts = sorted({text for pair in data["pairs"] for text in (*pair["items"], pair["distractor"])})
    return dict(zip(texts, encoder.embed(texts), strict=True))


def _batches(
    personas: list[Data], pairs: list[Data], recipe: EmbedderRecipe
) -> Iterator[tuple[list[Any], list[Data]]]:
    """Endless batches: persona requests (each persona at most once) and pairs."""
    draw = random.Random(recipe.seed)  # noqa: S311  # repeatable, not secret
    queries = [(persona, query) for persona in personas for query in persona["queries"]]
    size = max(1, round(len(queries) * recipe.pairs / len(pairs)))
    queue: list[Any] = []
    remaining: list[Data] = []
    while True:
        if len(remaining) < recipe.pairs:
            remaining = draw.sample(pairs, len(pairs))
        if len(queue) < size:
            queue = queue + draw.sample(queries, len(queries))
        batch, queue = queue[:size], queue[size:]
        yield batch, [remaining.pop() for _ in range(recipe.pairs)]


@torch.no_grad()
def embed_fold(encoder: Encoder, data: Data, fold: int | None) -> dict[str, np.ndarray]:
    """Vectors of the personas of a fold, or of all, and the outputs of the heads."""
    personas = [persona for persona in data["personas"] if fold is None or persona["fold"] == fold]
    queries = [query for persona in personas for query in persona["queries"]]
    around = encoder.embed([query["situation"] for query in queries])
    bare = encoder.embed([query["text"] for query in queries])
    with_cot = encoder.embed([f"{query['text']} {query['cot']}" for query in queries])
    rows = F.normalize(bare + around, dim=-1)
    on_device = rows.to(encoder.kind.weight.device)
    public: dict[str, np.ndarray] = {}
    for catalog in data.get("catalogs", []):
        kept = [query["text"] for query in catalog["queries"] if fold is None or query["kept"] == fold]
        public[f"{catalog['name']} tools"] = encoder.embed(catalog["tools"]).numpy()
        public[f"{catalog['name']} queries"] = encoder.embed(kept).numpy()
    return {
        **public,
        "items": encoder.embed([text for persona in personas for text in persona["items"]]).numpy(),
        "queries": rows.numpy(),
        "bare": bare.numpy(),
        "around": around.numpy(),
        "augmented": F.normalize(with_cot + around, dim=-1).numpy(),
        "kinds": encoder.kind(on_device).softmax(1).cpu().numpy(),
        "apps": encoder.app(on_device).sigmoid().cpu().numpy(),
        "tools": encoder.embed([tool["text"] for tool in data["tools"]]).numpy(),
    }


def evaluate_fold(data: Data, fold: int, arrays: dict[str, np.ndarray]) -> dict[str, float]:
    """Recall on the personas of a fold: items with and without CoT, tools by request."""
    personas = [persona for persona in data["personas"] if persona["fold"] == fold]
    names = [tool["name"] for tool in data["tools"]]
    values: dict[str, list[float]] = {}
    item = query_number = 0
    for persona in personas:
        items = arrays["items"][item : item + len(persona["items"])]
        item += len(items)
        if not persona["judged"]:
            query_number += len(persona["queries"])
            continue
        for query in persona["queries"]:
            hidden = np.ones(len(items), bool)
            hidden[query["visible"]] = False
            for name in ("queries", "bare", "augmented"):
                scores = np.where(hidden, -9, items @ arrays[name][query_number])
                order = np.argsort(-scores)
                for k in (3, 5, 10):
                    hits = sum(int(n) in order[:k] for n in query["relevant"])
                    values.setdefault(f"{name}@{k}", []).append(hits / len(query["relevant"]))
            for name in ("queries", "bare"):
                order = np.argsort(-(arrays["tools"] @ arrays[name][query_number]))
                for k in (1, 3, 5):
                    right = float(names.index(query["api"]) in order[:k])
                    values.setdefault(f"tools by {name}@{k}", []).append(right)
            right = data["kinds"].index(query["kind"])
            values.setdefault("kind", []).append(float(arrays["kinds"][query_number].argmax() == right))
            best = data["apps"][int(arrays["apps"][query_number].argmax())]
            values.setdefault("app", []).append(float(best in query["apps"]))
            query_number += 1
    for catalog in data.get("catalogs", []):
        kept = [query for query in catalog["queries"] if query["kept"] == fold]
        rows = arrays[f"{catalog['name']} queries"]
        orders = np.argsort(-(rows @ arrays[f"{catalog['name']} tools"].T), axis=1)[:, :5].tolist()
        values[f"{catalog['name']}@5"] = [
            len(set(order) & set(query["relevant"])) / len(query["relevant"])
            for order, query in zip(orders, kept, strict=True)
        ]
    return {name: 100 * float(np.mean(value)) for name, value in values.items()}


def main() -> None:
    """Train the embedders of the given folds, and the one that ships."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", default="0,1,2,3,4,all", help="which folds to leave out, by turns")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    parser.add_argument("--no-save", action="store_true", help="only measure")
    arguments = parser.parse_args()
    overrides = dict(setting.split("=", 1) for setting in arguments.settings)
    default = EmbedderRecipe()
    settings: dict[str, Any] = {
        name: type(getattr(default, name))(value) for name, value in overrides.items()
    }
    recipe = replace(default, **settings)
    data = json.loads(arguments.data.read_text())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(asdict(recipe)), flush=True)  # noqa: T201
    metrics_by_fold: list[dict[str, float]] = []
    for name in arguments.folds.split(","):
        fold = None if name == "all" else int(name)
        start = time.time()
        encoder = soup(data, arguments.weights, recipe, without=fold, device=device)
        arrays = embed_fold(encoder, data, fold)
        if fold is not None:
            metrics_by_fold.append(evaluate_fold(data, fold, arrays))
        if not arguments.no_save:
            _save(encoder, arrays, arguments.out, name, arguments.weights)
        line = f"fold {name}: {time.time() - start:.0f} s {metrics_by_fold[-1] if fold is not None else ''}"
        print(line, flush=True)  # noqa: T201
    if metrics_by_fold:
        mean = {
            name: round(float(np.mean([metrics[name] for metrics in metrics_by_fold])), 2)
            for name in metrics_by_fold[0]
        }
        print("mean", json.dumps(mean), flush=True)  # noqa: T201


def _save(encoder: Encoder, arrays: dict[str, np.ndarray], out: Path, name: str, weights: Path) -> None:
    """Save the fold's vectors; for the final encoder also the heads and a folder for `export`."""
    arrays_fp16: dict[str, Any] = {key: value.astype(np.float16) for key, value in arrays.items()}
    np.savez(out / f"vectors-{name}.npz", **arrays_fp16)
    if name != "all":
        return
    from safetensors import torch as safetensors

    folder = out / "model"
    folder.mkdir(exist_ok=True)
    for file in ("config.json", "tokenizer.json"):
        (folder / file).write_bytes((weights / file).read_bytes())
    state = {key: value.half().contiguous().cpu() for key, value in encoder.bert.state_dict().items()}
    cast("Any", safetensors).save_file(state, folder / "model.safetensors")
    heads = {"kind": encoder.kind, "app": encoder.app}
    tensors = {f"{part}.{key}": v for part, head in heads.items() for key, v in head.state_dict().items()}
    head_arrays: dict[str, Any] = {key: value.cpu().numpy() for key, value in tensors.items()}
    np.savez(out / "heads.npz", **head_arrays)


if __name__ == "__main__":
    main()

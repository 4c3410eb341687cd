"""Fine-tune the sentence encoder on implicit requests.

One run trains an embedder per fold, without that fold's personas, and one on everything, which ships. The
loss is contrastive: request → item, request with CoT → item, CoT → item, request → CoT, request → tool,
request and item → tool. Negatives are the items of all personas of the step; for a pair, other pairs' items
and distractors, except near-duplicates; for a public catalogue, the tools the untuned encoder ranks first.

Two heads are trained along: the kind of thing a request leaves out, and the applications it is about.

With `--teacher`, a larger encoder is trained first, on the same fold, and the encoder also learns to
reproduce its similarities.

    python -m contextune_lab.train.embedder.train DATA.json WEIGHTS OUT [--teacher LARGER] [--set epochs=6 …]

`DATA.json` is written by `contextune_lab.train.embedder.data`. Needs torch and transformers; use a GPU.
"""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune_lab.train.embedder.encoder import Encoder
from contextune_lab.train.embedder.losses import (
    EXPLICIT,
    CatalogueSampler,
    Data,
    Habits,
    LossWeights,
    PersonaBatch,
    TeacherVectors,
    TrainingStep,
    UntunedVectors,
)
from contextune_lab.train.recipes import parse_recipe, recipe_parser


@dataclass(frozen=True)
class EmbedderRecipe:
    """Hyperparameters of a run."""

    epochs: float = 5.0
    pairs: int = 40
    """Pairs per step."""
    personas: int = 12
    """Personas per step, whose items are each other's negatives."""
    requests: int = 4
    """Requests of each of these personas."""
    more: float = 0.6
    """Share of them from the training requests; the others are the persona's own."""
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
    explicit_weight: float = 0.5
    """Explicit requests by their words alone, without time and place."""
    distil_weight: float = 1.0
    """Weight of the teacher, if there is one."""
    catalog_requests: int = 256
    """Requests to a public catalogue per step, if there are any; none with 0."""
    augmented: float = 0.35
    """Probability that a request has its CoT appended or is replaced by it."""
    unplaced: float = 0.25
    """Probability that time and place are left out, as they may be at run time."""
    alike: float = 0.9
    """Negatives more similar than this to the positive (untuned encoder) are masked."""
    average_from: float = 0.6
    """Weights are averaged over the steps after this part of the run."""
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
            explicit=self.explicit_weight,
            distil=self.distil_weight,
            augmented=self.augmented,
            unplaced=self.unplaced,
            alike=self.alike,
        )


def train(
    data: Data,
    weights: Path,
    recipe: EmbedderRecipe,
    *,
    without: int | None,
    device: str,
    untuned: UntunedVectors | None = None,
    teacher: TeacherVectors | None = None,
) -> Encoder:
    """Train an encoder without the personas of one fold; with a teacher, on its similarities too."""
    random.seed(recipe.seed)
    torch.manual_seed(recipe.seed)  # pyright: ignore[reportUnknownMemberType]
    encoder = Encoder(weights, len(data["kinds"]), len(data["apps"]), recipe.max_tokens).to(device)
    personas = [persona for persona in data["personas"] if persona["fold"] != without]
    untuned = untuned or UntunedVectors.build(encoder, data)
    catalogs: list[Data] = data.get("catalogs", []) if recipe.catalog_requests else []
    sampler = CatalogueSampler(catalogs, untuned, without=without, seed=recipe.seed, alike=recipe.alike)
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
    start = time.time()
    for step in range(steps):
        encoder.train()
        catalogue = sampler.draw(recipe.catalog_requests) if sampler else None
        training_step = TrainingStep(encoder, recipe.weights(), teacher)
        loss = training_step.loss(data, *next(batches), untuned.pairs, catalogue)
        optimizer.zero_grad()
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimizer.step()  # pyright: ignore[reportUnknownMemberType]
        scheduler.step()
        if step >= recipe.average_from * steps:
            average.update_parameters(encoder.bert)
        if step % 50 == 0:
            print(f"  step {step}/{steps} {time.time() - start:.0f} s loss {loss.item():.3f}", flush=True)  # noqa: T201
    encoder.bert = average.module
    return encoder


def _rate(done: float, warmup: float) -> float:
    return done / warmup if done < warmup else max(0.05, (1 - done) / (1 - warmup))


def _batches(
    personas: list[Data], pairs: list[Data], recipe: EmbedderRecipe
) -> Iterator[tuple[PersonaBatch, list[Data]]]:
    """Endless batches: a few requests of each of some personas, and pairs."""
    draw = random.Random(recipe.seed)  # noqa: S311  # repeatable, not secret
    size = min(recipe.personas, len(personas))
    queue: list[Data] = []
    remaining: list[Data] = []
    while True:
        if len(remaining) < recipe.pairs:
            remaining = draw.sample(pairs, len(pairs))
        if len(queue) < size:
            queue = draw.sample(personas, len(personas))
        chosen, queue = queue[:size], queue[size:]
        queries = [(p, query) for p in chosen for query in _draw_requests(p, recipe, draw)]
        yield PersonaBatch(chosen, queries), [remaining.pop() for _ in range(recipe.pairs)]


def _draw_requests(persona: Data, recipe: EmbedderRecipe, draw: random.Random) -> list[Data]:
    own, more = persona["queries"], persona.get("more", [])
    extra = min(len(more), sum(draw.random() < recipe.more for _ in range(recipe.requests)))
    return [*draw.sample(more, extra), *draw.sample(own, min(len(own), recipe.requests - extra))]


@torch.no_grad()
def embed_fold(encoder: Encoder, data: Data, fold: int | None) -> dict[str, np.ndarray]:
    """Vectors of the personas of a fold, or of all, and the outputs of the heads."""
    personas = [persona for persona in data["personas"] if fold is None or persona["fold"] == fold]
    queries = [query for persona in personas for query in persona["queries"]]
    more = [query for persona in personas for query in persona.get("more", [])]
    public: dict[str, np.ndarray] = {}
    for catalog in data.get("catalogs", []):
        kept = [query["text"] for query in catalog["queries"] if fold is None or query["kept"] == fold]
        public[f"{catalog['name']} tools"] = encoder.embed(catalog["tools"]).numpy()
        public[f"{catalog['name']} queries"] = encoder.embed(kept).numpy()
    requests = _embed_requests(encoder, queries, "")
    thoughts = {
        "augmented": [f"{query['text']} {query['cot']}" for query in queries],
        "large_model_cot": [f"{query['text']} {query.get('large_model_cot') or ''}" for query in queries],
    }
    contents = encoder.embed([text for persona in personas for text in persona["items"]])
    habits = Habits.build([phrases for persona in personas for phrases in persona["habits"]])
    return {
        **public,
        "items": habits.add_to(contents, encoder.embed(habits.phrases)).numpy(),
        "contents": contents.numpy(),
        **requests,
        **_embed_requests(encoder, more, "more_"),
        **{name: unit(encoder.embed(texts).numpy() + requests["around"]) for name, texts in thoughts.items()},
        "tools": encoder.embed([tool["text"] for tool in data["tools"]]).numpy(),
    }


def _embed_requests(encoder: Encoder, queries: list[Data], prefix: str) -> dict[str, np.ndarray]:
    bare = encoder.embed([query["text"] for query in queries])
    around = encoder.embed([query["situation"] for query in queries])
    situated = F.normalize(bare + around, dim=-1).to(encoder.kind.weight.device)
    return {
        f"{prefix}queries": situated.cpu().numpy(),
        f"{prefix}bare": bare.numpy(),
        f"{prefix}around": around.numpy(),
        f"{prefix}kinds": encoder.kind(situated).softmax(1).cpu().numpy(),
        f"{prefix}apps": encoder.app(situated).sigmoid().cpu().numpy(),
    }


def evaluate_fold(data: Data, fold: int, arrays: dict[str, np.ndarray]) -> dict[str, float]:
    """Recall on the personas of a fold: items with and without CoT, tools by request."""
    personas = [persona for persona in data["personas"] if persona["fold"] == fold]
    starts = np.cumsum([0, *(len(persona["items"]) for persona in personas)])
    start = {persona["id"]: int(number) for persona, number in zip(personas, starts, strict=False)}
    names = [tool["name"] for tool in data["tools"]]
    values: dict[str, list[float]] = {}
    for part, prefix in (("queries", ""), ("more", "more_")):
        entries = [(persona, query) for persona in personas for query in persona.get(part, [])]
        forms = [f"{prefix}queries", f"{prefix}bare"]
        if not prefix:
            forms += ["augmented", "large_model_cot"]
        for number, (persona, query) in enumerate(entries):
            if not persona["judged"]:
                continue
            first = start[persona["id"]]
            explicit = "explicit " if query["kind"] == EXPLICIT else ""
            for name in forms if query["relevant"] else []:
                own = arrays["items"][first : first + len(persona["items"])]
                scores = np.full(len(own), -9.0)
                scores[query["visible"]] = own[query["visible"]] @ arrays[name][number]
                order = np.argsort(-scores)
                for k in (1, 3, 5, 10):
                    hits = sum(int(n) in order[:k] for n in query["relevant"])
                    values.setdefault(f"{explicit}{name}@{k}", []).append(hits / len(query["relevant"]))
            tools = np.argsort(-(arrays["tools"] @ arrays[f"{prefix}bare"][number]))
            place = names.index(query["api"])
            for k in (1, 5):
                values.setdefault(f"{explicit}{prefix}tools@{k}", []).append(float(place in tools[:k]))
            kind = int(arrays[f"{prefix}kinds"][number].argmax())
            values.setdefault(f"{explicit}{prefix}kind", []).append(
                float(data["kinds"][kind] == query["kind"])
            )
    for catalog in data.get("catalogs", []):
        kept = [query for query in catalog["queries"] if query["kept"] == fold]
        rows = arrays[f"{catalog['name']} queries"]
        orders = np.argsort(-(rows @ arrays[f"{catalog['name']} tools"].T), axis=1)[:, :5].tolist()
        values[f"{catalog['name']}@5"] = [
            len(set(order) & set(query["relevant"])) / len(query["relevant"])
            for order, query in zip(orders, kept, strict=True)
        ]
    return {name: round(100 * float(np.mean(value)), 1) for name, value in values.items()}


def unit(rows: np.ndarray) -> np.ndarray:
    """Rows at unit length; a row of zeros stays as it is."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def main() -> None:
    """Train the embedders of the given folds, and the one that ships."""
    parser = recipe_parser(__doc__)
    parser.add_argument("--teacher", type=Path, help="weights of a larger encoder, trained first, to distil")
    parser.add_argument("--teacher-epochs", type=float, default=4.0, help="epochs of the teacher")
    parser.add_argument("--teacher-rate", type=float, default=5e-5, help="learning rate of the teacher")
    parser.add_argument("--no-save", action="store_true", help="only measure")
    arguments = parser.parse_args()
    data = json.loads(arguments.data.read_text())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arguments.out.mkdir(parents=True, exist_ok=True)
    recipe = parse_recipe(arguments.settings, EmbedderRecipe())
    untuned = UntunedVectors.build(
        Encoder(arguments.weights, len(data["kinds"]), len(data["apps"]), recipe.max_tokens).to(device), data
    )
    metrics_by_fold: list[dict[str, float]] = []
    for name in arguments.folds.split(","):
        fold = None if name == "all" else int(name)
        start = time.time()
        teacher = None
        if arguments.teacher:
            teaching = replace(
                recipe, rate=arguments.teacher_rate, epochs=arguments.teacher_epochs, catalog_requests=0
            )
            larger = train(data, arguments.teacher, teaching, without=fold, device=device, untuned=untuned)
            if fold is not None:
                metrics = evaluate_fold(data, fold, embed_fold(larger, data, fold))
                print(f"teacher {name}: {time.time() - start:.0f} s {metrics}", flush=True)  # noqa: T201
            teacher = TeacherVectors.build(larger, data, fold)
            del larger
        encoder = train(
            data, arguments.weights, recipe, without=fold, device=device, untuned=untuned, teacher=teacher
        )
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
    """Save the fold's vectors; of the final encoder the heads and a folder for `export`."""
    arrays_fp16: dict[str, Any] = {key: value.astype(np.float16) for key, value in arrays.items()}
    if name != "all":
        np.savez(out / f"vectors-{name}.npz", **arrays_fp16)
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

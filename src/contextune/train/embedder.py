"""Tunes the sentence encoder to requests that leave things out.

One run trains an embedder for each fold, without that fold's personas, and one on
everything, which ships. Contrastive learning on all that the data ties together:
request → item, request with CoT → item, CoT → item, request → CoT, request → tool. A
persona's request is set against all the items of that persona; a pair's against the
other pairs' items and the near misses, less those too like the right one to be wrong.

Two small heads are learnt along: which kind of thing a request leaves out and which
applications it speaks of. They put into two numbers what a chain of thought would say.

    python -m contextune.train.embedder DATA.json WEIGHTS OUT [--set epochs=6 …]

`DATA.json` is `embedder_data.training_set()`. Needs torch and transformers, and wants a GPU.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

Data = dict[str, Any]
_CHUNK = 192
"""Texts that go through the encoder together."""


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out."""

    epochs: float = 6
    pairs: int = 40
    """Pairs a step; of personas' requests so many that both come round equally often."""
    rate: float = 8e-5
    head_rate: float = 1e-2
    warmup: float = 0.1
    decay: float = 0.01
    temperature: float = 0.05
    tool_weight: float = 0.5
    cot_weight: float = 0.3
    pair_weight: float = 1.0
    head_weight: float = 0.2
    augmented: float = 0.35
    """How often a request comes with its CoT, or as its CoT alone."""
    unplaced: float = 0.25
    """How often a request comes without the time and place it was made at, as it may when in use."""
    alike: float = 0.9
    """A negative this like the positive, by the untuned encoder, may be right and is left out."""
    average_from: float = 0.6
    """The weights shipped are the mean over the steps after this part of the run."""
    soup: int = 1
    """How many runs of different seeds are averaged into one."""
    seed: int = 0
    max_tokens: int = 128


class Encoder(nn.Module):
    """BERT, the mean over its tokens, unit length; and the heads."""

    def __init__(self, weights: Path, kinds: int, apps: int, max_tokens: int) -> None:
        super().__init__()
        import transformers

        library = cast("Any", transformers)
        self.tokenizer = library.AutoTokenizer.from_pretrained(weights)
        self.bert = library.AutoModel.from_pretrained(weights, dtype=torch.float32)
        self.kind = nn.Linear(int(self.bert.config.hidden_size), kinds)
        self.app = nn.Linear(int(self.bert.config.hidden_size), apps)
        self.max_tokens = max_tokens

    def forward(self, texts: Sequence[str]) -> Tensor:
        """A unit row a text."""
        device = self.kind.weight.device
        order = sorted(range(len(texts)), key=lambda n: len(texts[n]))  # like with like: less padding
        rows: list[Tensor] = []
        for start in range(0, len(order), _CHUNK):
            batch = self.tokenizer(
                [texts[n] for n in order[start : start + _CHUNK]],
                padding=True,
                truncation=True,
                max_length=self.max_tokens,
                return_tensors="pt",
            ).to(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                hidden = self.bert(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            rows.append(F.normalize((hidden.float() * mask).sum(1), dim=-1))
        place = torch.empty(len(order), dtype=torch.long)
        place[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(rows)[place.to(device)]

    @torch.no_grad()
    def embed(self, texts: Sequence[str], batch: int = 256) -> Tensor:
        """As `forward`, for many texts and without learning."""
        self.eval()
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        rows = torch.empty(len(texts), int(self.bert.config.hidden_size))
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            rows[part] = self([texts[i] for i in part]).cpu()
        return rows


def train(data: Data, weights: Path, recipe: Recipe, *, without: int | None, device: str) -> Encoder:
    """An encoder that has seen everything but the personas of one fold."""
    random.seed(recipe.seed)
    torch.manual_seed(recipe.seed)  # pyright: ignore[reportUnknownMemberType]
    encoder = Encoder(weights, len(data["kinds"]), len(data["apps"]), recipe.max_tokens).to(device)
    personas = [persona for persona in data["personas"] if persona["fold"] != without]
    alike = _alike(encoder, data)
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
        loss = _loss(encoder, data, *next(batches), alike, recipe)
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


def soup(data: Data, weights: Path, recipe: Recipe, *, without: int | None, device: str) -> Encoder:
    """The mean of the weights of several runs: from one start they end close enough for that to be better."""
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


def _alike(encoder: Encoder, data: Data) -> dict[str, Tensor]:
    """The untuned vector of every pair's item and near miss, to tell false negatives by."""
    texts = sorted({text for pair in data["pairs"] for text in (*pair["items"], pair["distractor"])})
    return dict(zip(texts, encoder.embed(texts), strict=True))


def _batches(
    personas: list[Data], pairs: list[Data], recipe: Recipe
) -> Iterator[tuple[list[Any], list[Data]]]:
    """Without end: some requests of personas, each persona at most once, and some pairs."""
    draw = random.Random(recipe.seed)  # noqa: S311  # repeatable, not secret
    asked = [(persona, query) for persona in personas for query in persona["queries"]]
    size = max(1, round(len(asked) * recipe.pairs / len(pairs)))
    queue: list[Any] = []
    rest: list[Data] = []
    while True:
        if len(rest) < recipe.pairs:
            rest = draw.sample(pairs, len(pairs))
        if len(queue) < size:
            queue = queue + draw.sample(asked, len(asked))
        taken, queue = queue[:size], queue[size:]
        yield taken, [rest.pop() for _ in range(recipe.pairs)]


def _spoken(query: Data, text: str, recipe: Recipe) -> str:
    """What stands for the request this time: itself, with its CoT, or the CoT alone."""
    die = random.random()  # noqa: S311
    if die < recipe.augmented * 0.7:
        return f"{text} {query['cot']}"
    return query["cot"] if die < recipe.augmented else text


def _loss(
    encoder: Encoder,
    data: Data,
    asked: list[Any],
    pairs: list[Data],
    alike: dict[str, Tensor],
    recipe: Recipe,
) -> Tensor:
    """One pass over all the texts of a step, then every task on its part of the rows."""
    device = encoder.kind.weight.device
    texts: list[str] = []

    def put(more: Sequence[str]) -> slice:
        texts.extend(more)
        return slice(len(texts) - len(more), len(texts))

    spoken = put([_spoken(query, query["text"], recipe) for _, query in asked])
    around = put([query["situation"] for _, query in asked])
    plain = put([query["text"] for _, query in asked])
    owners = {persona["id"]: persona for persona, _ in asked}
    owned = {name: put(persona["items"]) for name, persona in owners.items()}
    said = put([_spoken(pair, pair["query"], recipe) for pair in pairs])
    bare = put([pair["query"] for pair in pairs])
    chosen = [random.choice(pair["items"]) for pair in pairs]  # noqa: S311
    near = [pair["distractor"] for pair in pairs]
    candidates = put([*chosen, *near])
    thoughts = put([pair["cot"] for pair in pairs])
    tools = put([tool["text"] for tool in data["tools"]])
    words = put([pair["tool_query"] for pair in pairs])
    rows = encoder(texts)

    # a persona's request against the items of all personas of the step, its own invisible ones left out
    first = next(iter(owned.values())).start
    last = list(owned.values())[-1].stop
    placed = torch.tensor([random.random() >= recipe.unplaced for _ in asked], device=device)  # noqa: S311
    meant = F.normalize(rows[spoken] + placed[:, None] * rows[around], dim=-1)
    scores = meant @ rows[first:last].T / recipe.temperature
    target = torch.zeros_like(scores)
    for row, (persona, query) in enumerate(asked):
        start = owned[persona["id"]].start - first
        hidden = set(range(len(persona["items"]))) - set(query["visible"])
        scores[row, [start + number for number in hidden]] = -1e4
        for number, grade in query["relevant"].items():
            target[row, start + int(number)] = grade
    loss = -(target / target.sum(1, keepdim=True) * scores.log_softmax(1)).sum(1).mean()

    # a pair's request against all items and near misses of the step
    scores = rows[said] @ rows[candidates].T / recipe.temperature
    base = torch.stack([alike[text] for text in (*chosen, *near)]).to(device)
    doubtful = base[: len(pairs)] @ base.T > recipe.alike
    right = torch.arange(len(pairs), device=device)
    doubtful[right, right] = False
    doubtful[right, right + len(pairs)] = False  # its own near miss is known to be wrong
    loss = loss + recipe.pair_weight * F.cross_entropy(scores.masked_fill(doubtful, -1e4), right)

    scores = rows[bare] @ rows[thoughts].T / recipe.temperature
    both = F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)
    loss = loss + recipe.cot_weight * both / 2

    names = {tool["name"]: number for number, tool in enumerate(data["tools"])}
    api = torch.tensor([names[query["api"]] for _, query in asked] + [names[pair["api"]] for pair in pairs])
    requests = torch.cat([rows[plain], rows[bare]])
    scores = requests @ rows[tools].T / recipe.temperature
    described = rows[words] @ rows[tools].T / recipe.temperature
    serving = F.cross_entropy(scores, api.to(device))
    serving = serving + 0.5 * F.cross_entropy(described, api[len(asked) :].to(device))
    loss = loss + recipe.tool_weight * serving

    every = [*(query for _, query in asked), *pairs]
    kind = torch.tensor([data["kinds"].index(entry["kind"]) for entry in every], device=device)
    app = torch.tensor([[name in entry["apps"] for name in data["apps"]] for entry in every], device=device)
    whole = torch.cat([F.normalize(rows[plain] + rows[around], dim=-1), rows[bare]])
    heads = F.cross_entropy(encoder.kind(whole), kind)
    heads = heads + F.binary_cross_entropy_with_logits(encoder.app(whole), app.float()) * 3
    return loss + recipe.head_weight * heads


@torch.no_grad()
def vectors(encoder: Encoder, data: Data, fold: int | None) -> dict[str, np.ndarray]:
    """Of the personas of a fold, or of all: items, requests, with and without what is around them, heads."""
    personas = [persona for persona in data["personas"] if fold is None or persona["fold"] == fold]
    queries = [query for persona in personas for query in persona["queries"]]
    around = encoder.embed([query["situation"] for query in queries])
    bare = encoder.embed([query["text"] for query in queries])
    thought = encoder.embed([f"{query['text']} {query['cot']}" for query in queries])
    rows = F.normalize(bare + around, dim=-1)
    on_device = rows.to(encoder.kind.weight.device)
    return {
        "items": encoder.embed([text for persona in personas for text in persona["items"]]).numpy(),
        "queries": rows.numpy(),
        "bare": bare.numpy(),
        "around": around.numpy(),
        "augmented": F.normalize(thought + around, dim=-1).numpy(),
        "kinds": encoder.kind(on_device).softmax(1).cpu().numpy(),
        "apps": encoder.app(on_device).sigmoid().cpu().numpy(),
        "tools": encoder.embed([tool["text"] for tool in data["tools"]]).numpy(),
    }


def judge(data: Data, fold: int, found: dict[str, np.ndarray]) -> dict[str, float]:
    """Recall on the personas of a fold, by request alone and with CoT; tools by request alone."""
    personas = [persona for persona in data["personas"] if persona["fold"] == fold]
    names = [tool["name"] for tool in data["tools"]]
    values: dict[str, list[float]] = {}
    item = query_number = 0
    for persona in personas:
        items = found["items"][item : item + len(persona["items"])]
        item += len(items)
        if not persona["judged"]:
            query_number += len(persona["queries"])
            continue
        for query in persona["queries"]:
            hidden = np.ones(len(items), bool)
            hidden[query["visible"]] = False
            for name in ("queries", "bare", "augmented"):
                scores = np.where(hidden, -9, items @ found[name][query_number])
                order = np.argsort(-scores)
                for k in (3, 5, 10):
                    hits = sum(int(n) in order[:k] for n in query["relevant"])
                    values.setdefault(f"{name}@{k}", []).append(hits / len(query["relevant"]))
            for name in ("queries", "bare"):
                order = np.argsort(-(found["tools"] @ found[name][query_number]))
                for k in (1, 3, 5):
                    right = float(names.index(query["api"]) in order[:k])
                    values.setdefault(f"tools by {name}@{k}", []).append(right)
            right = data["kinds"].index(query["kind"])
            values.setdefault("kind", []).append(float(found["kinds"][query_number].argmax() == right))
            best = data["apps"][int(found["apps"][query_number].argmax())]
            values.setdefault("app", []).append(float(best in query["apps"]))
            query_number += 1
    return {name: 100 * float(np.mean(value)) for name, value in values.items()}


def main() -> None:
    """Train the embedders of the folds asked for, and the one that ships."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", default="0,1,2,3,4,all", help="which folds to leave out, by turns")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings")
    parser.add_argument("--no-save", action="store_true", help="only measure")
    arguments = parser.parse_args()
    given = dict(setting.split("=", 1) for setting in arguments.settings)
    plain = Recipe()
    settings: dict[str, Any] = {name: type(getattr(plain, name))(value) for name, value in given.items()}
    recipe = replace(plain, **settings)
    data = json.loads(arguments.data.read_text())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(json.dumps(asdict(recipe)), flush=True)  # noqa: T201
    judged: list[dict[str, float]] = []
    for name in arguments.folds.split(","):
        fold = None if name == "all" else int(name)
        start = time.time()
        encoder = soup(data, arguments.weights, recipe, without=fold, device=device)
        found = vectors(encoder, data, fold)
        if fold is not None:
            judged.append(judge(data, fold, found))
        if not arguments.no_save:
            _save(encoder, found, arguments.out, name, arguments.weights)
        line = f"fold {name}: {time.time() - start:.0f} s {judged[-1] if fold is not None else ''}"
        print(line, flush=True)  # noqa: T201
    if judged:
        mean = {name: round(float(np.mean([one[name] for one in judged])), 2) for name in judged[0]}
        print("mean", json.dumps(mean), flush=True)  # noqa: T201


def _save(encoder: Encoder, found: dict[str, np.ndarray], out: Path, name: str, weights: Path) -> None:
    """The fold's vectors; of the encoder that ships, the heads and a folder that `train.export` takes."""
    halves: dict[str, Any] = {key: value.astype(np.float16) for key, value in found.items()}
    np.savez(out / f"vectors-{name}.npz", **halves)
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
    arrays: dict[str, Any] = {key: value.cpu().numpy() for key, value in tensors.items()}
    np.savez(out / "heads.npz", **arrays)


if __name__ == "__main__":
    main()

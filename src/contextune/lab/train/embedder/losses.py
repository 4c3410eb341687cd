"""What the encoder is taught in one step: which texts belong together."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune.lab.train.embedder.encoder import Encoder

Data = dict[str, Any]
_NEVER = -1e4
_MISLEADING = 24
"""Tools nearest to a request among which wrong ones are drawn."""


@dataclass(frozen=True)
class LossWeights:
    """How much each thing taught counts, beside a persona's requests, which count one."""

    temperature: float
    tool: float
    cot: float
    pair: float
    head: float
    catalog: float
    augmented: float
    unplaced: float
    alike: float


class TrainingStep:
    """The texts of one step, encoded in one pass, and every task on its part of the rows."""

    def __init__(self, encoder: Encoder, weights: LossWeights) -> None:
        self._encoder = encoder
        self._weights = weights
        self._texts: list[str] = []
        self._device = encoder.kind.weight.device

    def put(self, more: Sequence[str]) -> slice:
        """Add texts; where their rows will be."""
        self._texts.extend(more)
        return slice(len(self._texts) - len(more), len(self._texts))

    def loss(
        self,
        data: Data,
        asked: list[tuple[Data, Data]],
        pairs: list[Data],
        alike: dict[str, Tensor],
        shelf: "CatalogueBatch | None",
    ) -> Tensor:
        """Of some requests of personas, some pairs, and some requests to a public catalogue."""
        w = self._weights
        spoken = self.put([self._spoken(query, query["text"]) for _, query in asked])
        around = self.put([query["situation"] for _, query in asked])
        plain = self.put([query["text"] for _, query in asked])
        owners = {persona["id"]: persona for persona, _ in asked}
        owned = {name: self.put(persona["items"]) for name, persona in owners.items()}
        said = self.put([self._spoken(pair, pair["query"]) for pair in pairs])
        bare = self.put([pair["query"] for pair in pairs])
        chosen = [random.choice(pair["items"]) for pair in pairs]  # noqa: S311
        near = [pair["distractor"] for pair in pairs]
        candidates = self.put([*chosen, *near])
        thoughts = self.put([pair["cot"] for pair in pairs])
        tools = self.put([tool["text"] for tool in data["tools"]])
        described = self.put([pair["tool_query"] for pair in pairs])
        wanted = self.put(shelf.requests) if shelf else None
        offered = self.put(shelf.tools) if shelf else None
        rows = self._encoder(self._texts)

        placed = torch.tensor([random.random() >= w.unplaced for _ in asked], device=self._device)  # noqa: S311
        meant = F.normalize(rows[spoken] + placed[:, None] * rows[around], dim=-1)
        loss = self._items(meant, rows, asked, owned)
        loss = loss + w.pair * self._pairs(rows[said], rows[candidates], [*chosen, *near], alike)
        loss = loss + w.cot * self._both_ways(rows[bare], rows[thoughts])
        right = [
            owned[persona["id"]].start + int(random.choice(list(query["relevant"])))  # noqa: S311
            for persona, query in asked
        ]
        context = torch.cat([rows[right], rows[candidates][: len(pairs)]])
        api = self._apis(data, asked, pairs)
        requests = torch.cat([rows[plain], rows[bare]])
        serving = self._cross(requests, rows[tools], api)
        serving = serving + 0.5 * self._cross(F.normalize(requests + context, dim=-1), rows[tools], api)
        serving = serving + 0.5 * self._cross(rows[described], rows[tools], api[len(asked) :])
        loss = loss + w.tool * serving
        if shelf and wanted and offered:
            loss = loss + w.catalog * self._shelf(rows[wanted], rows[offered], shelf)
        whole = torch.cat([F.normalize(rows[plain] + rows[around], dim=-1), rows[bare]])
        return loss + w.head * self._heads(data, whole, [*(query for _, query in asked), *pairs])

    def _spoken(self, query: Data, text: str) -> str:
        """What stands for the request this time: itself, with its CoT, or the CoT alone."""
        die = random.random()  # noqa: S311
        if die < self._weights.augmented * 0.7:
            return f"{text} {query['cot']}"
        return query["cot"] if die < self._weights.augmented else text

    def _items(
        self, meant: Tensor, rows: Tensor, asked: list[tuple[Data, Data]], owned: dict[str, slice]
    ) -> Tensor:
        """A persona's request against the items of all personas of the step, less what it may not see."""
        first = next(iter(owned.values())).start
        last = list(owned.values())[-1].stop
        scores = meant @ rows[first:last].T / self._weights.temperature
        target = torch.zeros_like(scores)
        for row, (persona, query) in enumerate(asked):
            start = owned[persona["id"]].start - first
            hidden = set(range(len(persona["items"]))) - set(query["visible"])
            scores[row, [start + number for number in hidden]] = _NEVER
            for number, grade in query["relevant"].items():
                target[row, start + int(number)] = grade
        return -(target / target.sum(1, keepdim=True) * scores.log_softmax(1)).sum(1).mean()

    def _pairs(self, said: Tensor, candidates: Tensor, texts: list[str], alike: dict[str, Tensor]) -> Tensor:
        """A pair's request against all items and near misses of the step."""
        scores = said @ candidates.T / self._weights.temperature
        base = torch.stack([alike[text] for text in texts]).to(self._device)
        doubtful = base[: len(said)] @ base.T > self._weights.alike
        right = torch.arange(len(said), device=self._device)
        doubtful[right, right] = False
        doubtful[right, right + len(said)] = False  # its own near miss is known to be wrong
        return F.cross_entropy(scores.masked_fill(doubtful, _NEVER), right)

    def _both_ways(self, left: Tensor, right: Tensor) -> Tensor:
        scores = left @ right.T / self._weights.temperature
        same = torch.arange(len(left), device=self._device)
        return (F.cross_entropy(scores, same) + F.cross_entropy(scores.T, same)) / 2

    def _cross(self, requests: Tensor, tools: Tensor, right: Tensor) -> Tensor:
        return F.cross_entropy(requests @ tools.T / self._weights.temperature, right)

    def _apis(self, data: Data, asked: list[tuple[Data, Data]], pairs: list[Data]) -> Tensor:
        names = {tool["name"]: number for number, tool in enumerate(data["tools"])}
        every = [*(query for _, query in asked), *pairs]
        return torch.tensor([names[entry["api"]] for entry in every], device=self._device)

    def _shelf(self, requests: Tensor, tools: Tensor, shelf: "CatalogueBatch") -> Tensor:
        """A request to a public catalogue against the tools drawn: all that serve it are right."""
        right = shelf.right.to(self._device)
        scores = (requests @ tools.T / self._weights.temperature).masked_fill(
            shelf.doubtful.to(self._device), _NEVER
        )
        return -(right / right.sum(1, keepdim=True) * scores.log_softmax(1)).sum(1).mean()

    def _heads(self, data: Data, rows: Tensor, every: list[Data]) -> Tensor:
        kind = torch.tensor([data["kinds"].index(entry["kind"]) for entry in every], device=self._device)
        app = torch.tensor(
            [[name in entry["apps"] for name in data["apps"]] for entry in every], device=self._device
        )
        of_kind = F.cross_entropy(self._encoder.kind(rows), kind)
        return of_kind + F.binary_cross_entropy_with_logits(self._encoder.app(rows), app.float()) * 3


@dataclass(frozen=True)
class CatalogueBatch:
    """Some requests to one public catalogue, and the tools they are set against."""

    requests: list[str]
    tools: list[str]
    right: Tensor
    doubtful: Tensor
    """Tools too like a right one to be called wrong."""


class CatalogueSampler:
    """Draws requests to public catalogues, with the tools that mislead the untuned encoder most."""

    def __init__(
        self, encoder: Encoder, catalogs: Sequence[Data], *, without: int | None, seed: int, alike: float
    ) -> None:
        self._draw = random.Random(seed)  # noqa: S311  # repeatable, not secret
        self._alike = alike
        self._catalogs = [self._prepared(encoder, catalog, without) for catalog in catalogs]

    def __bool__(self) -> bool:
        """Whether there is anything to draw from."""
        return bool(self._catalogs)

    def draw(self, size: int, hard: int = 3) -> CatalogueBatch:
        """Requests to one of the catalogues, by its weight."""
        weights = [catalog["weight"] for catalog in self._catalogs]
        catalog = self._draw.choices(self._catalogs, weights)[0]
        queries = self._draw.sample(catalog["queries"], min(size, len(catalog["queries"])))
        chosen: dict[int, int] = {}
        for query in queries:
            misleading = self._draw.sample(query["hard"], min(hard, len(query["hard"])))
            for place in (*query["relevant"], *misleading):
                chosen.setdefault(place, len(chosen))
        places = list(chosen)
        right = torch.zeros(len(queries), len(places))
        for row, query in enumerate(queries):
            right[row, [chosen[place] for place in query["relevant"]]] = 1
        vectors: Tensor = catalog["vectors"][places]
        like = (vectors @ vectors.T > self._alike).float()
        doubtful = ((right @ like) > 0) & (right == 0)
        texts = [catalog["tools"][place] for place in places]
        return CatalogueBatch([query["text"] for query in queries], texts, right, doubtful)

    @staticmethod
    def _prepared(encoder: Encoder, catalog: Data, without: int | None) -> Data:
        queries = [query for query in catalog["queries"] if without is None or without not in query["folds"]]
        vectors = encoder.embed(catalog["tools"])
        found = encoder.embed([query["text"] for query in queries])
        best = (found @ vectors.T).topk(min(_MISLEADING, len(vectors)), dim=1)
        near = cast("list[list[int]]", best.indices.tolist())  # pyright: ignore[reportUnknownMemberType]
        kept = [
            {**query, "hard": [place for place in row if place not in query["relevant"]]}
            for query, row in zip(queries, near, strict=True)
        ]
        return {**catalog, "vectors": vectors, "queries": kept}

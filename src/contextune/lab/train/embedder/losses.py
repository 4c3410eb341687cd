"""Contrastive losses of one training step of the encoder."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune.lab.train.embedder.encoder import Encoder

Data = dict[str, Any]
_MASKED = -1e4
_HARD_NEGATIVES = 24
"""Number of nearest tools among which hard negatives are drawn."""


@dataclass(frozen=True)
class LossWeights:
    """Weights of the losses; the loss of the personas' requests has weight one."""

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
    """One training step: all texts are encoded in one pass, then each loss reads its rows."""

    def __init__(self, encoder: Encoder, weights: LossWeights) -> None:
        self._encoder = encoder
        self._weights = weights
        self._texts: list[str] = []
        self._device = encoder.kind.weight.device

    def add_texts(self, more: Sequence[str]) -> slice:
        """Add texts; returns the slice of their rows."""
        self._texts.extend(more)
        return slice(len(self._texts) - len(more), len(self._texts))

    def loss(
        self,
        data: Data,
        queries: list[tuple[Data, Data]],
        pairs: list[Data],
        alike: dict[str, Tensor],
        catalogue: "CatalogueBatch | None",
    ) -> Tensor:
        """Total loss of some persona requests, pairs, and requests to a public catalogue."""
        w = self._weights
        request_texts = self.add_texts([self._request_text(query, query["text"]) for _, query in queries])
        around = self.add_texts([query["situation"] for _, query in queries])
        plain = self.add_texts([query["text"] for _, query in queries])
        personas = {persona["id"]: persona for persona, _ in queries}
        item_rows = {name: self.add_texts(persona["items"]) for name, persona in personas.items()}
        pair_requests = self.add_texts([self._request_text(pair, pair["query"]) for pair in pairs])
        bare = self.add_texts([pair["query"] for pair in pairs])
        chosen = [random.choice(pair["items"]) for pair in pairs]  # noqa: S311
        distractors = [pair["distractor"] for pair in pairs]
        candidates = self.add_texts([*chosen, *distractors])
        thoughts = self.add_texts([pair["cot"] for pair in pairs])
        tools = self.add_texts([tool["text"] for tool in data["tools"]])
        tool_queries = self.add_texts([pair["tool_query"] for pair in pairs])
        catalogue_requests = self.add_texts(catalogue.requests) if catalogue else None
        catalogue_tools = self.add_texts(catalogue.tools) if catalogue else None
        rows = self._encoder(self._texts)

        placed = torch.tensor([random.random() >= w.unplaced for _ in queries], device=self._device)  # noqa: S311
        situated = F.normalize(rows[request_texts] + placed[:, None] * rows[around], dim=-1)
        loss = self._item_loss(situated, rows, queries, item_rows)
        loss = loss + w.pair * self._pair_loss(
            rows[pair_requests], rows[candidates], [*chosen, *distractors], alike
        )
        loss = loss + w.cot * self._symmetric_loss(rows[bare], rows[thoughts])
        positives = [
            item_rows[persona["id"]].start + int(random.choice(list(query["relevant"])))  # noqa: S311
            for persona, query in queries
        ]
        context = torch.cat([rows[positives], rows[candidates][: len(pairs)]])
        api = self._apis(data, queries, pairs)
        requests = torch.cat([rows[plain], rows[bare]])
        tool_loss = self._tool_loss(requests, rows[tools], api)
        tool_loss = tool_loss + 0.5 * self._tool_loss(
            F.normalize(requests + context, dim=-1), rows[tools], api
        )
        tool_loss = tool_loss + 0.5 * self._tool_loss(rows[tool_queries], rows[tools], api[len(queries) :])
        loss = loss + w.tool * tool_loss
        if catalogue and catalogue_requests and catalogue_tools:
            loss = loss + w.catalog * self._catalogue_loss(
                rows[catalogue_requests], rows[catalogue_tools], catalogue
            )
        whole = torch.cat([F.normalize(rows[plain] + rows[around], dim=-1), rows[bare]])
        return loss + w.head * self._head_loss(data, whole, [*(query for _, query in queries), *pairs])

    def _request_text(self, query: Data, text: str) -> str:
        """The request text, with its CoT, or the CoT alone, at random."""
        draw_value = random.random()  # noqa: S311
        if draw_value < self._weights.augmented * 0.7:
            return f"{text} {query['cot']}"
        return query["cot"] if draw_value < self._weights.augmented else text

    def _item_loss(
        self, situated: Tensor, rows: Tensor, queries: list[tuple[Data, Data]], item_rows: dict[str, slice]
    ) -> Tensor:
        """Persona requests against the items of all personas in the step; invisible items are masked."""
        first = next(iter(item_rows.values())).start
        last = list(item_rows.values())[-1].stop
        scores = situated @ rows[first:last].T / self._weights.temperature
        target = torch.zeros_like(scores)
        for row, (persona, query) in enumerate(queries):
            start = item_rows[persona["id"]].start - first
            hidden = set(range(len(persona["items"]))) - set(query["visible"])
            scores[row, [start + number for number in hidden]] = _MASKED
            for number, grade in query["relevant"].items():
                target[row, start + int(number)] = grade
        return -(target / target.sum(1, keepdim=True) * scores.log_softmax(1)).sum(1).mean()

    def _pair_loss(
        self, pair_requests: Tensor, candidates: Tensor, texts: list[str], alike: dict[str, Tensor]
    ) -> Tensor:
        """Pair requests against all items and distractors of the step; near-duplicates are masked."""
        scores = pair_requests @ candidates.T / self._weights.temperature
        base = torch.stack([alike[text] for text in texts]).to(self._device)
        ambiguous = base[: len(pair_requests)] @ base.T > self._weights.alike
        positives = torch.arange(len(pair_requests), device=self._device)
        ambiguous[positives, positives] = False
        ambiguous[positives, positives + len(pair_requests)] = (
            False  # the own distractor is known to be wrong
        )
        return F.cross_entropy(scores.masked_fill(ambiguous, _MASKED), positives)

    def _symmetric_loss(self, left: Tensor, positives: Tensor) -> Tensor:
        scores = left @ positives.T / self._weights.temperature
        same = torch.arange(len(left), device=self._device)
        return (F.cross_entropy(scores, same) + F.cross_entropy(scores.T, same)) / 2

    def _tool_loss(self, requests: Tensor, tools: Tensor, positives: Tensor) -> Tensor:
        return F.cross_entropy(requests @ tools.T / self._weights.temperature, positives)

    def _apis(self, data: Data, queries: list[tuple[Data, Data]], pairs: list[Data]) -> Tensor:
        names = {tool["name"]: number for number, tool in enumerate(data["tools"])}
        entries = [*(query for _, query in queries), *pairs]
        return torch.tensor([names[entry["api"]] for entry in entries], device=self._device)

    def _catalogue_loss(self, requests: Tensor, tools: Tensor, catalogue: "CatalogueBatch") -> Tensor:
        """Requests to a public catalogue against sampled tools; several may be right."""
        positives = catalogue.positives.to(self._device)
        scores = (requests @ tools.T / self._weights.temperature).masked_fill(
            catalogue.ambiguous.to(self._device), _MASKED
        )
        return -(positives / positives.sum(1, keepdim=True) * scores.log_softmax(1)).sum(1).mean()

    def _head_loss(self, data: Data, rows: Tensor, entries: list[Data]) -> Tensor:
        kind = torch.tensor([data["kinds"].index(entry["kind"]) for entry in entries], device=self._device)
        app = torch.tensor(
            [[name in entry["apps"] for name in data["apps"]] for entry in entries], device=self._device
        )
        kind_loss = F.cross_entropy(self._encoder.kind(rows), kind)
        return kind_loss + F.binary_cross_entropy_with_logits(self._encoder.app(rows), app.float()) * 3


@dataclass(frozen=True)
class CatalogueBatch:
    """Requests to one public catalogue, and the tools they are contrasted with."""

    requests: list[str]
    tools: list[str]
    positives: Tensor
    ambiguous: Tensor
    """Tools too similar to a right one to count as wrong."""


class CatalogueSampler:
    """Samples requests to public catalogues, with hard negatives of the untuned encoder."""

    def __init__(
        self, encoder: Encoder, catalogs: Sequence[Data], *, without: int | None, seed: int, alike: float
    ) -> None:
        self._draw = random.Random(seed)  # noqa: S311  # repeatable, not secret
        self._alike = alike
        self._catalogs = [self._prepare(encoder, catalog, without) for catalog in catalogs]

    def __bool__(self) -> bool:
        """Whether there are catalogues."""
        return bool(self._catalogs)

    def draw(self, size: int, hard: int = 3) -> CatalogueBatch:
        """Sample requests to one catalogue, chosen by weight."""
        weights = [catalog["weight"] for catalog in self._catalogs]
        catalog = self._draw.choices(self._catalogs, weights)[0]
        queries = self._draw.sample(catalog["queries"], min(size, len(catalog["queries"])))
        chosen: dict[int, int] = {}
        for query in queries:
            misleading = self._draw.sample(query["hard"], min(hard, len(query["hard"])))
            for place in (*query["relevant"], *misleading):
                chosen.setdefault(place, len(chosen))
        places = list(chosen)
        positives = torch.zeros(len(queries), len(places))
        for row, query in enumerate(queries):
            positives[row, [chosen[place] for place in query["relevant"]]] = 1
        vectors: Tensor = catalog["vectors"][places]
        similar = (vectors @ vectors.T > self._alike).float()
        ambiguous = ((positives @ similar) > 0) & (positives == 0)
        texts = [catalog["tools"][place] for place in places]
        return CatalogueBatch([query["text"] for query in queries], texts, positives, ambiguous)

    @staticmethod
    def _prepare(encoder: Encoder, catalog: Data, without: int | None) -> Data:
        queries = [query for query in catalog["queries"] if without is None or without not in query["folds"]]
        vectors = encoder.embed(catalog["tools"])
        request_vectors = encoder.embed([query["text"] for query in queries])
        best = (request_vectors @ vectors.T).topk(min(_HARD_NEGATIVES, len(vectors)), dim=1)
        distractors = cast("list[list[int]]", best.indices.tolist())  # pyright: ignore[reportUnknownMemberType]
        prepared = [
            {**query, "hard": [place for place in row if place not in query["relevant"]]}
            for query, row in zip(queries, distractors, strict=True)
        ]
        return {**catalog, "vectors": vectors, "queries": prepared}

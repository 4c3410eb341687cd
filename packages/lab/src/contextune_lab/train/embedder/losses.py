"""Contrastive losses of one training step of the encoder."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812  # as everybody calls it

from contextune_lab.train.embedder.encoder import Encoder

Data = dict[str, Any]
_MASKED = -1e4
_NO_KIND = -100
"""Label of requests that leave nothing out, which the head for kinds is not trained on."""
EXPLICIT = "explicit"
"""Kind of the requests that say all that is needed."""
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
    explicit: float
    distil: float
    augmented: float
    unplaced: float
    alike: float


@dataclass(frozen=True, eq=False)
class PersonaBatch:
    """Some personas with a few requests of each: the requests of a persona share its encoded items."""

    personas: list[Data]
    queries: list[tuple[Data, Data]]
    """(persona, request)"""


@dataclass(frozen=True, eq=False)
class Habits:
    """Phrases on the use of items: an item's vector is that of its text plus the mean of its phrases."""

    phrases: list[str]
    places: list[list[int]]
    """For each item, the numbers of its phrases."""

    @classmethod
    def build(cls, habits: Sequence[Sequence[str]]) -> "Habits":
        """`habits` has the phrases of each item."""
        numbers: dict[str, int] = {}
        places = [[numbers.setdefault(phrase, len(numbers)) for phrase in phrases] for phrases in habits]
        return cls(list(numbers), places)

    def add_to(self, contents: Tensor, phrases: Tensor) -> Tensor:
        """Unit vectors of the items, from the vectors of their texts and of all phrases."""
        if not self.phrases:
            return contents
        shares = torch.zeros(len(self.places), len(self.phrases))
        for row, places in enumerate(self.places):
            shares[row, places] = 1.0
        means = F.normalize(shares.to(phrases.device) @ phrases, dim=-1)
        return F.normalize(contents + means, dim=-1)


@dataclass(frozen=True, eq=False)
class TeacherVectors:
    """Vectors of a larger encoder by text, whose similarities the encoder is to reproduce."""

    place: dict[str, int]
    rows: Tensor
    """The last row stands for texts that were not embedded, which no distilled loss reads."""

    @classmethod
    def build(cls, encoder: Encoder, data: Data, without: int | None) -> "TeacherVectors":
        """Embed all texts of the training personas and pairs that distilled losses read."""
        texts: dict[str, None] = {tool["text"]: None for tool in data["tools"]}
        for persona in data["personas"]:
            if persona["fold"] != without:
                texts |= dict.fromkeys(persona["items"])
                texts |= dict.fromkeys(phrase for phrases in persona["habits"] for phrase in phrases)
                for query in (*persona["queries"], *persona.get("more", [])):
                    texts |= dict.fromkeys([query["text"], query["situation"], query["cot"]])
                    texts[f"{query['text']} {query['cot']}"] = None
        for pair in data["pairs"]:
            texts |= dict.fromkeys([pair["query"], *pair["items"], pair["distractor"]])
        rows = encoder.embed(list(texts))
        missing = torch.zeros(1, rows.shape[1])
        device = encoder.kind.weight.device
        return cls({text: n for n, text in enumerate(texts)}, torch.cat([rows, missing]).to(device))

    def of(self, texts: Sequence[str]) -> Tensor:
        """One row per text."""
        return self.rows[torch.tensor([self.place.get(text, -1) for text in texts], device=self.rows.device)]


class TrainingStep:
    """One training step: all texts are encoded in one pass, then each loss reads its rows."""

    def __init__(self, encoder: Encoder, weights: LossWeights, teacher: TeacherVectors | None = None) -> None:
        self._encoder = encoder
        self._weights = weights
        self._teacher = teacher
        self._texts: list[str] = []
        self._device = encoder.kind.weight.device

    def add_texts(self, more: Sequence[str]) -> slice:
        """Add texts; returns the slice of their rows."""
        self._texts.extend(more)
        return slice(len(self._texts) - len(more), len(self._texts))

    def loss(
        self,
        data: Data,
        batch: PersonaBatch,
        pairs: list[Data],
        alike: dict[str, Tensor],
        catalogue: "CatalogueBatch | None",
    ) -> Tensor:
        """Total loss of some persona requests, pairs, and requests to a public catalogue."""
        w, queries = self._weights, batch.queries
        request_texts = self.add_texts([self._request_text(query, query["text"]) for _, query in queries])
        around = self.add_texts([query["situation"] for _, query in queries])
        plain = self.add_texts([query["text"] for _, query in queries])
        item_texts = self.add_texts([text for persona in batch.personas for text in persona["items"]])
        habits = Habits.build([habits for persona in batch.personas for habits in persona["habits"]])
        habit_texts = self.add_texts(habits.phrases)
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
        mask = _Mask.build(batch, self._device)
        items = habits.add_to(rows[item_texts], rows[habit_texts])
        situated = F.normalize(rows[request_texts] + placed[:, None] * rows[around], dim=-1)
        loss = self._item_loss(situated @ items.T, mask)
        if mask.explicit.any():
            loss = loss + w.explicit * self._item_loss(rows[plain] @ items.T, mask, mask.explicit)
        loss = loss + w.pair * self._pair_loss(
            rows[pair_requests], rows[candidates], [*chosen, *distractors], alike
        )
        loss = loss + w.cot * self._symmetric_loss(rows[bare], rows[thoughts])
        with_item = torch.tensor([bool(query["relevant"]) for _, query in queries], device=self._device)
        positives = torch.tensor(
            [
                mask.starts[persona["id"]] + int(random.choice(list(query["relevant"]) or ["0"]))  # noqa: S311
                for persona, query in queries
            ],
            device=self._device,
        )
        context = torch.cat([items[positives] * with_item[:, None], rows[candidates][: len(pairs)]])
        api = self._apis(data, queries, pairs)
        requests = torch.cat([rows[plain], rows[bare]])
        tool_loss = self._tool_loss(requests, rows[tools], api)
        tool_loss = tool_loss + 0.5 * self._tool_loss(
            F.normalize(requests + context, dim=-1), rows[tools], api
        )
        tool_loss = tool_loss + 0.5 * self._tool_loss(rows[tool_queries], rows[tools], api[len(queries) :])
        loss = loss + w.tool * tool_loss
        if self._teacher:
            wanted = self._teacher.of(self._texts)
            wanted_situated = F.normalize(wanted[request_texts] + placed[:, None] * wanted[around], dim=-1)
            wanted_items = habits.add_to(wanted[item_texts], wanted[habit_texts])
            wanted_all = torch.cat([wanted_items, wanted[candidates]])
            hidden = F.pad(mask.hidden, (0, len(chosen) + len(distractors), 0, len(pairs)))
            loss = loss + w.distil * self._distillation(
                [
                    (
                        torch.cat([situated, rows[bare]]) @ torch.cat([items, rows[candidates]]).T,
                        torch.cat([wanted_situated, wanted[bare]]) @ wanted_all.T,
                    ),
                    (
                        requests @ rows[tools].T,
                        torch.cat([wanted[plain], wanted[bare]]) @ wanted[tools].T,
                    ),
                ],
                hidden,
            )
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

    def _item_loss(self, cosines: Tensor, mask: "_Mask", chosen: Tensor | None = None) -> Tensor:
        """Persona requests against the items of all personas in the step; invisible items are masked."""
        rows = mask.grades.sum(1) > 0 if chosen is None else (mask.grades.sum(1) > 0) & chosen
        scores = (cosines / self._weights.temperature).masked_fill(mask.hidden, _MASKED)[rows]
        target = mask.grades[rows]
        return -(target / target.sum(1, keepdim=True) * scores.log_softmax(1)).sum(1).sum() / max(
            1, int(rows.sum())
        )

    def _distillation(self, scored: Sequence[tuple[Tensor, Tensor]], hidden: Tensor) -> Tensor:
        """Divergence from the teacher's distributions, over items and over tools.

        `scored` has pairs of the encoder's and the teacher's cosines: items first.
        """
        (items, items_wanted), (tools, tools_wanted) = (
            (own / self._weights.temperature, wanted / self._weights.temperature) for own, wanted in scored
        )
        items, items_wanted = (scores.masked_fill(hidden, _MASKED) for scores in (items, items_wanted))
        return F.kl_div(
            items.log_softmax(1), items_wanted.softmax(1), reduction="batchmean"
        ) + 0.5 * F.kl_div(tools.log_softmax(1), tools_wanted.softmax(1), reduction="batchmean")

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
        numbers = {kind: number for number, kind in enumerate(data["kinds"])}
        kind = torch.tensor([numbers.get(entry["kind"], _NO_KIND) for entry in entries], device=self._device)
        app = torch.tensor(
            [[name in entry["apps"] for name in data["apps"]] for entry in entries], device=self._device
        )
        kind_loss = F.cross_entropy(self._encoder.kind(rows), kind, ignore_index=_NO_KIND)
        return kind_loss + F.binary_cross_entropy_with_logits(self._encoder.app(rows), app.float()) * 3


@dataclass(frozen=True, eq=False)
class _Mask:
    """Which items of a step each request may see, and how relevant they are to it."""

    starts: dict[str, int]
    hidden: Tensor
    grades: Tensor
    explicit: Tensor

    @classmethod
    def build(cls, batch: PersonaBatch, device: torch.device) -> "_Mask":
        starts: dict[str, int] = {}
        count = 0
        for persona in batch.personas:
            starts[persona["id"]] = count
            count += len(persona["items"])
        hidden = torch.zeros(len(batch.queries), count, dtype=torch.bool)
        grades = torch.zeros(len(batch.queries), count)
        for row, (persona, query) in enumerate(batch.queries):
            start = starts[persona["id"]]
            unseen = set(range(len(persona["items"]))) - set(query["visible"])
            hidden[row, [start + number for number in unseen]] = True
            for number, grade in query["relevant"].items():
                grades[row, start + int(number)] = grade
        explicit = torch.tensor([query["kind"] == EXPLICIT for _, query in batch.queries])
        return cls(starts, hidden.to(device), grades.to(device), explicit.to(device))


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
        self,
        catalogs: Sequence[Data],
        untuned: "UntunedVectors",
        *,
        without: int | None,
        seed: int,
        alike: float,
    ) -> None:
        self._draw = random.Random(seed)  # noqa: S311  # repeatable, not secret
        self._alike = alike
        self._catalogs = [
            self._prepare(catalog, tools, requests, without)
            for catalog, (tools, requests) in zip(catalogs, untuned.catalogs, strict=False)
        ]

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
    def _prepare(catalog: Data, vectors: Tensor, request_vectors: Tensor, without: int | None) -> Data:
        best = (request_vectors @ vectors.T).topk(min(_HARD_NEGATIVES, len(vectors)), dim=1)
        distractors = cast("list[list[int]]", best.indices.tolist())  # pyright: ignore[reportUnknownMemberType]
        prepared = [
            {**query, "hard": [place for place in row if place not in query["relevant"]]}
            for query, row in zip(catalog["queries"], distractors, strict=True)
            if without is None or without not in query["folds"]
        ]
        return {**catalog, "vectors": vectors, "queries": prepared}


@dataclass(frozen=True, eq=False)
class UntunedVectors:
    """Vectors of the untuned encoder, the same for all folds: for hard negatives and false ones."""

    pairs: dict[str, Tensor]
    """By text of the pairs' items and distractors."""
    catalogs: list[tuple[Tensor, Tensor]]
    """Tools and requests of each catalogue."""

    @classmethod
    def build(cls, encoder: Encoder, data: Data) -> "UntunedVectors":
        """Embed the texts; `encoder` must not be trained yet."""
        texts = sorted({text for pair in data["pairs"] for text in (*pair["items"], pair["distractor"])})
        catalogs = [
            (encoder.embed(catalog["tools"]), encoder.embed([query["text"] for query in catalog["queries"]]))
            for catalog in data.get("catalogs", [])
        ]
        return cls(dict(zip(texts, encoder.embed(texts), strict=True)), catalogs)

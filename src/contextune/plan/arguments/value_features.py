"""Features of the values that may fill an argument: what the ranker of values reads, a row per option.

The reading model's score is one of them. The others say what the model cannot see: how well the item ranks
that a value comes from, how the value is proposed, and how near its role is to the argument and to the tool.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from contextune.embed import CachedEmbedder, Embedder
from contextune.plan.arguments.candidate import ValueCandidate
from contextune.plan.arguments.leaves import Leaf
from contextune.plan.arguments.options import ValueOption, option_scores
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.cost import COSTS, call_cost
from contextune.reading.model import CallReading
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Tool

Matrix = NDArray[np.float32]
GROUPS = ("said", "time", "person", "title", "field", "number", "choice", "boolean")
_KINDS = (
    ("text",),
    ("free",),
    ("moment",),
    ("day",),
    ("number", "integer", "duration"),
    ("choice",),
    ("boolean",),
)
_ROLES = {
    "said": "words of the request, said",
    "time": "date and time",
    "person": "person, name of a contact",
    "number": "number, count, amount",
    "choice": "option, kind",
    "boolean": "yes or no",
    "": "nothing",
}
_FORMS = {5: 0, 7: 1, 10: 2}
"""Numbers of the forms of a time by their length: an hour, a month, a day."""
VALUE_FEATURES: tuple[str, ...] = (
    *("read lead", "read share", "read rank", "read over none", "fit"),
    *("none", *GROUPS),
    *("of " + kinds[0] for kinds in _KINDS),
    *("list", "required", "leaves", "leaf", "required leaves", "same kind"),
    *("role", "role rank", "tool role"),
    *("item rank", "item share", "item lead", "first of kind", "kind of tool"),
    *("shared", "shared share", "covered", "in history", "unlike title"),
    *("weight", "weight lead", "order", "of group"),
    *("day only", "days away", "past", "on the hour", "time said", "form", "said hour", "said year"),
    *("span score", "span rank", "span share", "span to end", "span from start", "words"),
    *("capitals", "digits", "read span"),
    *(
        "cost",
        "best item",
        "request words",
        "history",
        "question",
        "people said",
        "times said",
        "numbers said",
    ),
)
"""What the ranker of values reads, a row per option of an argument."""


@dataclass(frozen=True, eq=False)
class ValueScene:
    """What the features of all values of a request share."""

    inputs: PlanningInput
    embedder: Embedder

    @cached_property
    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """The vectors of tools, arguments and roles in words, as far as they were needed."""
        return {}

    def load_vectors(self, texts: Iterable[str]) -> None:
        """Embed several texts at once."""
        missing = [text for text in dict.fromkeys(texts) if text not in self.vectors]
        self.vectors.update(zip(missing, _cached(self.embedder).embed(missing), strict=True))

    def vector(self, text: str) -> NDArray[np.float32]:
        """The vector of a tool, an argument or a role in words."""
        if text not in self.vectors:
            self.load_vectors([text])
        return self.vectors[text]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the request."""
        return frozenset(self.inputs.tokens)

    @cached_property
    def history(self) -> frozenset[str]:
        """The words of the conversation."""
        return frozenset(word for turn in self.inputs.request.history[-4:] for word in tokenize(turn.text))

    @cached_property
    def item_shares(self) -> list[float]:
        """The probability of each item that the request needs it."""
        return [
            np.nan if hit.probability is None else float(hit.probability) for hit in self.inputs.read_hits
        ]

    @cached_property
    def first_of_kind(self) -> list[float]:
        """For each item, whether it is the best of its application: 1, 0.5 for the second, and so on."""
        seen: dict[str, int] = {}
        places: list[float] = []
        for item in self.inputs.items:
            seen[item.app] = seen.get(item.app, 0) + 1
            places.append(1 / seen[item.app])
        return places

    @cached_property
    def request_row(self) -> list[float]:
        """The features that are of the request alone."""
        inputs = self.inputs
        shares = [share for share in self.item_shares if share == share]
        return [
            max(shares, default=np.nan),
            float(len(inputs.tokens)),
            float(bool(inputs.request.history)),
            float("?" in inputs.request.text),
            float(sum(match.words > 0 for match in inputs.names)),
            float(len(inputs.time_phrases)),
            float(sum(char.isdigit() for char in inputs.request.text)),
        ]


@lru_cache(maxsize=8)
def _cached(embedder: Embedder) -> CachedEmbedder:
    """Vectors are kept for all requests: tools recur."""
    return CachedEmbedder(embedder, size=16384)


def value_texts(
    scene: ValueScene, tool: Tool, leaves: Sequence[Leaf], options: Sequence[Sequence[ValueOption]]
) -> Iterator[str]:
    """The texts whose vectors `value_matrix` compares."""
    yield tool_words(tool)
    yield from map(leaf_words, leaves)
    for option in chain.from_iterable(options):
        yield _role(option)
        if (noun := _noun(scene, option)) is not None:
            yield _opens(noun)


def tool_words(tool: Tool) -> str:
    """A tool in words, for its vector."""
    return f"{' '.join(identifier_words(tool.name))}. {tool.description[:160]}"


def leaf_words(leaf: Leaf) -> str:
    """An argument in words, for its vector."""
    words = " ".join(word for part in leaf.path for word in identifier_words(part))
    return f"{words}. {leaf.parameter.description[:100]}"


def value_matrix(
    scene: ValueScene,
    tool: Tool,
    leaves: Sequence[Leaf],
    number: int,
    options: Sequence[ValueOption],
    reading: CallReading,
) -> Matrix:
    """The features of the options of one argument."""
    leaf = leaves[number]
    scores = np.array(option_scores(reading, number, options), np.float64)
    finite = np.where(np.isfinite(scores), scores, -30.0)
    shares = np.exp(finite - finite.max())
    shares /= shares.sum()
    leaf_vector = scene.vector(leaf_words(leaf))
    tool_vector = scene.vector(tool_words(tool))
    roles = [_role(option) for option in options]
    by_role = {role: scene.vector(role) for role in dict.fromkeys(roles)}
    to_leaf = {role: float(vector @ leaf_vector) for role, vector in by_role.items()}
    to_tool = {role: float(vector @ tool_vector) for role, vector in by_role.items()}
    near = np.array([to_leaf[role] for role in roles])
    near_tool = [to_tool[role] for role in roles]
    kinds = [float(leaf.parameter.kind in kinds) for kinds in _KINDS]
    required = sum(each.required for each in leaves)
    same = sum(each.parameter.kind == leaf.parameter.kind for each in leaves)
    of_leaf = [
        *kinds,
        float(leaf.is_list),
        float(leaf.required),
        float(len(leaves)),
        float(number),
        float(required),
        float(same),
    ]
    weights = {
        group: max((_weight(option) for option in options if option.group == group), default=0.0)
        for group in {option.group for option in options}
    }
    cost = float(COSTS.index(call_cost(tool)))
    spans = [option for option in options if option.span is not None]
    read = [option.span.score for option in spans if option.span]
    best_span = max((score for score in read if score == score), default=np.nan)
    orders: dict[str, int] = {}
    counts: dict[str, int] = {}
    for option in options:
        counts[option.group] = counts.get(option.group, 0) + 1
    rows: list[list[float]] = []
    for place, option in enumerate(options):
        order = orders.get(option.group, 0)
        orders[option.group] = order + 1
        weight = _weight(option)
        rows.append(
            [
                float(finite[place] - finite.max()),
                float(shares[place]),
                float((finite > finite[place]).sum()),
                float(finite[place] - finite[0]),
                reading.fit,
                float(not option.is_given),
                *(float(option.group == group) for group in GROUPS),
                *of_leaf,
                float(near[place]),
                float((near > near[place] + 1e-6).sum()),
                near_tool[place],
                *_item_features(scene, option, tool_vector),
                *_word_features(scene, option),
                weight,
                weight - weights[option.group],
                float(order),
                float(counts[option.group]),
                *_time_features(scene, option, leaf),
                *_span_features(scene, option, spans, best_span),
                cost,
                *scene.request_row,
            ]
        )
    return np.array(rows, np.float32)


def _weight(option: ValueOption) -> float:
    return option.candidate.weight if option.candidate else 0.0


def _role(option: ValueOption) -> str:
    if option.candidate is not None and option.candidate.role:
        return option.candidate.role
    return _ROLES.get(option.group, option.group)


def _noun(scene: ValueScene, option: ValueOption) -> str | None:
    """The kind of the item that a value is from."""
    rank = option.candidate.item if option.candidate else -1
    return scene.inputs.items[rank].schema.noun if 0 <= rank < len(scene.inputs.items) else None


def _opens(noun: str) -> str:
    return f"open and read one {noun}, find {noun}s"


def _item_features(
    scene: ValueScene, option: ValueOption, tool_vector: NDArray[np.float32]
) -> tuple[float, ...]:
    rank = option.candidate.item if option.candidate else -1
    noun = _noun(scene, option)
    if noun is None:
        return (np.nan,) * 5
    kind = float(scene.vector(_opens(noun)) @ tool_vector)
    lead = 1 - rank / max(1, len(scene.inputs.items) - 1)
    return float(rank), scene.item_shares[rank], lead, scene.first_of_kind[rank], kind


def _word_features(scene: ValueScene, option: ValueOption) -> tuple[float, ...]:
    if not option.is_given:
        return (np.nan,) * 5
    candidate = option.candidate
    text = _text(option.value, candidate)
    words = frozenset(tokenize(text))
    if not words:
        return (0.0, 0.0, 0.0, 0.0, 0.0)
    shared = words & scene.words
    inside = len(words & scene.history) / len(words) if scene.history else np.nan
    rank = candidate.item if candidate else -1
    covered = np.nan
    if 0 <= rank < len(scene.inputs.items) and scene.words:
        covered = len(scene.inputs.item_tokens[rank] & scene.words) / len(scene.words)
    return (
        float(len(shared)),
        len(shared) / len(words),
        len(shared) / max(1, len(scene.words)),
        inside,
        covered,
    )


def _text(value: object, candidate: ValueCandidate | None) -> str:
    if candidate is not None and candidate.contact is not None:
        return candidate.contact.name
    return str(value)


def _time_features(scene: ValueScene, option: ValueOption, leaf: Leaf) -> tuple[float, ...]:
    candidate = option.candidate
    if candidate is None or candidate.group != "time":
        return (np.nan,) * 8
    moment: datetime = candidate.value
    now = scene.inputs.now.replace(tzinfo=None)
    days = float((moment.date() - now.date()).days)
    described = f"{leaf.parameter.description} {leaf.parameter.schema.get('pattern', '')}".upper()
    return (
        float(candidate.is_day),
        max(-400.0, min(400.0, days)),
        float(moment < now if not candidate.is_day else days < 0),
        float(moment.minute == 0),
        float(candidate.source.kind == "time"),
        float(_FORMS.get(len(str(option.value)), 3)),
        float("HH:MM" in described or "TIME" in described),
        float("YYYY" in described or "ISO" in described or "DATE" in described),
    )


def _span_features(
    scene: ValueScene, option: ValueOption, spans: Sequence[ValueOption], best: float
) -> tuple[float, ...]:
    value = str(option.value)
    words = float(len(value.split())) if option.is_given else np.nan
    capitals = sum(word[0].isupper() for word in value.split()) / words if words else np.nan
    digits = float(any(char.isdigit() for char in value)) if option.is_given else np.nan
    span = option.span
    if span is None:
        return (*(np.nan,) * 5, words, capitals, digits, np.nan)
    request = scene.inputs.request.text
    size = max(1, len(request.split()))
    said = str(option.value)
    at_end = request.rstrip(" .!?\"'").endswith(said.rstrip(" .!?\"'"))
    return (
        span.score - best,
        float(spans.index(option)),
        words / size,
        float(at_end),
        float(request.startswith(said[:12])),
        words,
        capitals,
        digits,
        float(span.score == span.score),
    )

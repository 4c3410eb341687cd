"""Read the arguments of calls: the reading model chooses among the candidate values of each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import model_folder
from contextune.embed import Embedder, default_embedder
from contextune.plan.arguments.candidate import ValueCandidate
from contextune.plan.arguments.candidates import RequestValues, fits
from contextune.plan.arguments.leaves import Leaf, nest, tool_leaves
from contextune.plan.arguments.options import ValueOption, leaf_options, listed_parts
from contextune.plan.arguments.people import NAMED
from contextune.plan.arguments.value_features import VALUE_FEATURES, ValueScene, value_matrix, value_texts
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import tool_parameters
from contextune.rank import Ranker
from contextune.reading.model import ArgumentInput, CallReading, ReadingModel
from contextune.reading.texts import Names, argument_text, brief_item_text, call_text
from contextune.search import tokenize
from contextune.types import Argument, Missing, Plan, Source, Tool

_LIST_SHARE = 0.35
"""A value joins a list if it is this probable, relative to the likeliest."""
_JOINS_AFTER = re.compile(r"[\s,]+(?:at|on|by|for|in|from|until|till)\Z", re.IGNORECASE)
_JOINS_BEFORE = re.compile(r"\A[\s,]*(?:to|that|about)\s+", re.IGNORECASE)
"""What joins a text and a time."""
_ONCE = ("said", "person", "title", "field")
"""Groups of which one value fills one argument of a call."""


@dataclass(frozen=True, slots=True)
class FilledLeaf:
    """What was chosen for one argument, with its probability and that of the second best."""

    leaf: Leaf
    value: Any
    sources: tuple[Source, ...]
    probability: float
    second: float
    group: str
    """Of the candidate; `said` for a span of the request, empty if nothing was chosen."""
    namesakes: tuple[tuple[Any, tuple[Source, ...], float], ...] = ()
    """The other people whom the request names as well as the chosen one: value, sources, probability."""

    @property
    def is_given(self) -> bool:
        """Whether there is a value."""
        return bool(self.group)


@dataclass(frozen=True, eq=False)
class ReadCall:
    """A call with the arguments that the reading model chose."""

    tool: Tool
    fit: float
    """Log odds that the tool serves the request, by the model that has read the arguments too."""
    leaves: Sequence[FilledLeaf]

    @cached_property
    def missing(self) -> list[FilledLeaf]:
        """The required arguments without a value."""
        return [leaf for leaf in self.leaves if leaf.leaf.required and not leaf.is_given]

    @cached_property
    def log_probability(self) -> float:
        """Of all choices together."""
        return sum(log(max(leaf.probability, 1e-6)) for leaf in self.leaves)

    def namesakes(self) -> Iterator[tuple["ReadCall", float]]:
        """The same call for each namesake of a person, with its probability relative to this one's."""
        for number, leaf in enumerate(self.leaves):
            for value, sources, share in () if leaf.leaf.is_list else leaf.namesakes:
                other = replace(leaf, value=value, sources=sources, probability=share, namesakes=())
                leaves = [*self.leaves[:number], other, *self.leaves[number + 1 :]]
                yield ReadCall(self.tool, self.fit, leaves), share / max(leaf.probability, 1e-9)

    def plan(self, confidence: float) -> Plan:
        """The call as a plan."""
        given = [leaf for leaf in self.leaves if leaf.is_given]
        values = nest({leaf.leaf.path: leaf.value for leaf in given})
        arguments = {
            name: Argument(
                value,
                tuple(source for leaf in given if leaf.leaf.path[0] == name for source in leaf.sources),
                min(leaf.probability for leaf in given if leaf.leaf.path[0] == name),
            )
            for name, value in values.items()
        }
        questions = {leaf.leaf.path[0]: leaf.leaf.parameter.question for leaf in self.missing}
        # arguments that no value of one kind can fill have no leaf
        questions |= {
            parameter.name: parameter.question
            for parameter in tool_parameters(self.tool)
            if parameter.required and parameter.name not in questions
        }
        missing = tuple(
            Missing(name, question) for name, question in questions.items() if name not in arguments
        )
        return Plan(self.tool.id, arguments, confidence, missing, name=self.tool.name)


@dataclass(frozen=True, eq=False)
class ReadArguments:
    """A tool whose arguments were read: the options of each, and the model's scores."""

    tool: Tool
    leaves: tuple[Leaf, ...]
    options: Sequence[Sequence[ValueOption]]
    """For each leaf."""
    reading: CallReading

    def matrix(self, scene: ValueScene, leaf: int) -> NDArray[np.float32]:
        """The features of the options of one leaf."""
        return value_matrix(scene, self.tool, self.leaves, leaf, self.options[leaf], self.reading)


@cache
def default_value_ranker() -> Ranker:
    """The bundled ranker of values, loaded once."""
    return Ranker.load(model_folder("reading_calls") / "values.json.gz", VALUE_FEATURES)


def read_arguments(
    model: ReadingModel, inputs: PlanningInput, request: str, tools: Sequence[Tool]
) -> list[ReadArguments]:
    """Read the arguments of several tools for one request; `request` is its text for the model."""
    names = Names(inputs.user)
    values = RequestValues(inputs, names)
    text = request
    if inputs.items:
        text = f"{request} || 1 {brief_item_text(inputs.items[0], inputs.now, inputs.user, names)}"
    prepared: list[tuple[Tool, tuple[Leaf, ...], list[ValueCandidate]]] = []
    calls: list[tuple[str, list[ArgumentInput], list[str]]] = []
    for tool in tools:
        leaves = tool_leaves(tool)
        candidates = values.candidates(leaves)
        prepared.append((tool, leaves, candidates))
        arguments = [
            ArgumentInput(leaf_text(leaf), [n for n, each in enumerate(candidates) if fits(each, leaf)])
            for leaf in leaves
        ]
        calls.append((call_text(tool), arguments, [candidate.text for candidate in candidates]))
    readings = model.read_calls(text, calls)
    read: list[ReadArguments] = []
    for (tool, leaves, candidates), reading in zip(prepared, readings, strict=True):
        options = [
            leaf_options(inputs, tool, leaf, candidates, reading.spans[number], request)
            for number, leaf in enumerate(leaves)
        ]
        read.append(ReadArguments(tool, leaves, options, reading))
    return read


def fill_calls(
    model: ReadingModel,
    inputs: PlanningInput,
    request: str,
    tools: Sequence[Tool],
    *,
    ranker: Ranker | None = None,
    embedder: Embedder | None = None,
) -> list[ReadCall]:
    """Fill the arguments of several tools for one request; `request` is its text for the model."""
    scene = ValueScene(inputs, embedder or default_embedder())
    ranker = ranker or default_value_ranker()
    calls = read_arguments(model, inputs, request, tools)
    scene.load_vectors(
        text for call in calls for text in value_texts(scene, call.tool, call.leaves, call.options)
    )
    return [fill_call(call, scene, ranker) for call in calls]


def fill_call(read: ReadArguments, scene: ValueScene, ranker: Ranker) -> ReadCall:
    """Choose the value of each argument; the surest choose first, and a value fills one argument."""
    matrices = [read.matrix(scene, number) for number in range(len(read.leaves))]
    sizes = [len(matrix) for matrix in matrices]
    scores = ranker.score(np.vstack(matrices)) if matrices else np.empty(0)
    shares = [part / max(float(part.sum()), 1e-9) for part in np.split(scores, np.cumsum(sizes)[:-1])]
    filled: dict[int, FilledLeaf] = {}
    used: set[tuple[str, str]] = set()
    for number in sorted(range(len(read.leaves)), key=lambda each: -float(shares[each].max())):
        chosen = _choose(read.leaves[number], read.options[number], shares[number], used)
        filled[number] = chosen
        if chosen.group in _ONCE:
            used.add((chosen.group, str(chosen.value)))
    leaves = [filled[number] for number in range(len(read.leaves))]
    return ReadCall(read.tool, read.reading.fit, _without_given_times(leaves, scene.inputs))


def _without_given_times(leaves: Sequence[FilledLeaf], inputs: PlanningInput) -> list[FilledLeaf]:
    """The arguments, where no text begins or ends with a time that another argument has.

    "Remind me to buy milk tomorrow at 6" is about buying milk; the time goes where times go.
    """
    given = {source.words for leaf in leaves if leaf.group == "time" for source in leaf.sources}
    request = inputs.request.text
    phrases = [phrase.text for phrase in inputs.time_phrases if any(phrase.text in words for words in given)]
    places = [(start, start + len(words)) for words in phrases if (start := request.find(words)) >= 0]
    return [_without_edges(leaf, request, places) if leaf.group == "said" else leaf for leaf in leaves]


def _without_edges(leaf: FilledLeaf, request: str, places: Sequence[tuple[int, int]]) -> FilledLeaf:
    """A text without the parts of a request at its edges that `places` says."""
    start = request.find(leaf.value) if isinstance(leaf.value, str) else -1
    if start < 0:
        return leaf
    first, last = start, start + len(leaf.value)
    for begin, end in places:
        if first < begin < last <= end:
            last = begin
        elif begin <= first < end < last:
            first = end
    if (first, last) == (start, start + len(leaf.value)):
        return leaf
    text = _JOINS_BEFORE.sub("", _JOINS_AFTER.sub("", request[first:last])).strip(" ,;:")
    return replace(leaf, value=text, sources=(Source("said", words=text),)) if text else leaf


def _choose(
    leaf: Leaf, options: Sequence[ValueOption], shares: NDArray[np.float64], used: set[tuple[str, str]]
) -> FilledLeaf:
    order: list[int] = np.argsort(-shares, kind="stable").tolist()
    free = [number for number in order if (options[number].group, str(options[number].value)) not in used]
    best = free[0] if free else order[0]
    rest = [float(shares[number]) for number in order if number != best]
    chosen, probability = options[best], float(shares[best])
    value, sources = chosen.value, chosen.sources
    if leaf.is_list and chosen.span is not None:
        value = listed_parts(str(value))
    elif leaf.is_list and chosen.is_given:
        more = [
            options[number]
            for number in order
            if options[number].is_given
            and options[number].group == chosen.group != "said"
            and shares[number] >= _LIST_SHARE * probability
        ]
        value = list(dict.fromkeys(option.value for option in [chosen, *more]))
        sources = tuple(dict.fromkeys(source for option in [chosen, *more] for source in option.sources))
    namesakes = tuple(
        (other.value, other.sources, float(share))
        for other, share in zip(options, shares, strict=True)
        if other.value != chosen.value and _is_namesake(chosen, other)
    )
    second = max(rest, default=0.0)
    return FilledLeaf(leaf, value, sources, probability, second, chosen.group, namesakes)


def _is_namesake(chosen: ValueOption, other: ValueOption) -> bool:
    """Whether the request names two contacts equally well, by a word that both have."""
    first, second = chosen.candidate, other.candidate
    if first is None or second is None or first.contact is None or second.contact is None:
        return False
    shares_word = bool({*tokenize(first.contact.name)} & {*tokenize(second.contact.name)})
    return shares_word and second.weight >= max(NAMED, first.weight)


def leaf_text(leaf: Leaf) -> str:
    """An argument as the reading model reads it."""
    parameter = leaf.parameter
    kind = parameter.schema.get("format") or (
        parameter.kind if parameter.kind not in ("text", "free") else ""
    )
    return argument_text(
        leaf.path, parameter.description, str(kind or ""), required=leaf.required, is_list=leaf.is_list
    )

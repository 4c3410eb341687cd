"""Which words of a request a call accounts for, and which it leaves over.

"Remind me at 4 pm to stretch my back" read as moving an event leaves most of its words over; read as a new
reminder it leaves none. Rare words weigh more: "the" left over says nothing, "dehumidifier" a lot.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import FilledCall
from contextune.plan.pointer.scoring.priors import CommonWords
from contextune.plan.schema import tool_parameters
from contextune.plan.values import find_numbers
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Argument, Tool
from contextune.types.app_schema import APPS

_QUOTED = re.compile(r"[\"“«]([^\"”»]{2,}?)[\"”»]|(?<!\w)['‘]([^'’]{2,}?)['’](?!\w)")
_CAPITALISED = re.compile(r"(?<![.!?…:]\s)(?<!^)\b[^\W\d_]*[A-ZÀ-Þ][^\W\d_]+", re.MULTILINE)
_SUFFIXES = ("ing", "ed", "es", "s")
_MIN_STEM = 3
_COMMON_FROM = 5.5
"""log(1 + count) from which a word is too common to count as left over: articles, pronouns, "please"."""


@dataclass(frozen=True, eq=False)
class WeightedWords:
    """The words of a request with their weights, and the things it names."""

    inputs: PlanningInput
    common: CommonWords

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each word by its stem: 1 if unknown, near 0 if common."""
        weights: dict[str, float] = {}
        for token in self.inputs.tokens:
            count = self.common.log_count(token)
            weights[stem(token)] = 0.02 if count >= _COMMON_FROM else 1 / (1 + count)
        return weights

    @cached_property
    def total(self) -> float:
        """The sum of the weights."""
        return max(1e-6, sum(self.weights.values()))

    @cached_property
    def names(self) -> list[frozenset[str]]:
        """Capitalised words within sentences, which are mostly names."""
        text = self.inputs.request.text
        return [
            stems
            for match in _CAPITALISED.finditer(text)
            if match.group() != "I" and (stems := text_stems(match.group()))
        ]

    @cached_property
    def quotes(self) -> list[frozenset[str]]:
        """Quoted texts."""
        found = _QUOTED.finditer(self.inputs.request.text)
        return [stems for match in found if (stems := text_stems(match.group(1) or match.group(2)))]

    @cached_property
    def numbers(self) -> list[frozenset[str]]:
        """Numbers in digits or words."""
        return [text_stems(words) for _, words in find_numbers(self.inputs.request.text)]

    def share(self, stems: frozenset[str]) -> float:
        """The share of the request's weight that these stems account for."""
        return sum(weight for word, weight in self.weights.items() if word in stems) / self.total


@dataclass(frozen=True, eq=False)
class CallCoverage:
    """The stems of what a call says: its chosen values, its free texts, its tool, its items."""

    values: frozenset[str]
    """Of arguments that were chosen among candidates, with the words of the request they were read from."""
    free: frozenset[str]
    """Of free texts."""
    tool: frozenset[str]
    items: frozenset[str]

    @classmethod
    def build(cls, inputs: PlanningInput, filled: FilledCall) -> "CallCoverage":
        """Collect the stems of a filled call."""
        kinds = {parameter.name: parameter.kind for parameter in tool_parameters(filled.tool)}
        values: set[str] = set()
        free: set[str] = set()
        for name, argument in filled.plan.arguments.items():
            target = free if kinds.get(name) in ("free", "other") else values
            target.update(argument_stems(argument, inputs))
        used = (stem(token) for index in filled.items for token in inputs.item_tokens[index])
        return cls(frozenset(values), frozenset(free), tool_stems(filled.tool), frozenset(used))

    @cached_property
    def said(self) -> frozenset[str]:
        """Of the values, the tool and the items together, without free texts."""
        return self.values | self.tool | self.items

    @cached_property
    def everything(self) -> frozenset[str]:
        """Of all of it."""
        return self.said | self.free


@lru_cache(maxsize=16384)
def stem(token: str) -> str:
    """Strip an English ending, so that "playing" matches "plays"."""
    for suffix in _SUFFIXES:
        if token.endswith(suffix) and len(token) - len(suffix) >= _MIN_STEM:
            token = token.removesuffix(suffix)
            break
    if len(token) > _MIN_STEM:
        token = token.removesuffix("e")
    return f"{token[:-1]}i" if token.endswith("y") else token


def count_missing(groups: Iterable[frozenset[str]], stems: frozenset[str]) -> int:
    """The number of groups of which no stem is accounted for."""
    return sum(not group & stems for group in groups)


def tool_stems(tool: Tool) -> frozenset[str]:
    """The stems of a tool's name, description, application and parameter names."""
    noun = APPS[tool.app].noun if tool.app in APPS else ""
    parameters = tuple(parameter.name for parameter in tool_parameters(tool))
    return _tool_stems(tool.name, tool.description, tool.app, noun, parameters)


@lru_cache(maxsize=4096)
def _tool_stems(
    name: str, description: str, app: str, noun: str, parameters: tuple[str, ...]
) -> frozenset[str]:
    words = [*identifier_words(name), *identifier_words(app), *tokenize(f"{description} {noun}")]
    words += [word for parameter in parameters for word in identifier_words(parameter)]
    return frozenset(map(stem, words))


def argument_stems(argument: Argument, inputs: PlanningInput) -> frozenset[str]:
    """The stems of a value, of what it was read from, and of the person it stands for."""
    value = argument.value
    values: list[object] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
    texts = [str(part) for part in values] + [source.words for source in argument.sources]
    for part in values:
        contact = inputs.people.get(part)
        if contact is not None:  # an address stands for its owner's name and relation
            texts += [contact.name, contact.relation or ""]
    return frozenset(part for text in texts for part in text_stems(text))


@lru_cache(maxsize=4096)
def text_stems(text: str) -> frozenset[str]:
    """The stems of a text."""
    return frozenset(map(stem, tokenize(text)))

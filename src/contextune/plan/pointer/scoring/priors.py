"""Statistics from training examples: where the values of arguments come from, and how common words are."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any

from contextune.plan.pointer.values.candidate import OMITTED
from contextune.plan.schema import Parameter
from contextune.types import Tool

_PRIOR_WEIGHT = 4.0
"""Smoothing: the weight of the frequencies over all tools, in examples."""
_MIN_EXAMPLES = 8
"""Examples needed before other origins are ruled out."""


@dataclass(frozen=True)
class FilledArgument:
    """An example: an argument of a tool, and the origins of its right value."""

    tool: str
    argument: str
    origins: frozenset[str]


class ArgumentPriors:
    """Frequencies of origins, by tool and argument name, and by argument name alone."""

    def __init__(self, counts: Mapping[str, Mapping[str, float]], totals: Mapping[str, float]) -> None:
        self._counts, self._totals = counts, totals

    @classmethod
    def from_examples(cls, examples: Iterable[FilledArgument]) -> "ArgumentPriors":
        """Count the origins in the examples."""
        counts: dict[str, Counter[str]] = {}
        totals: Counter[str] = Counter()
        for example in examples:
            for key in (f"{example.tool}.{example.argument}", example.argument):
                totals[key] += 1
                counts.setdefault(key, Counter()).update(example.origins)
        return cls(counts, totals)

    def has_examples(self, tool: Tool, parameter: Parameter) -> bool:
        """Whether there were examples of this argument of this tool."""
        return f"{tool.name}.{parameter.name}" in self._totals

    def origin_frequencies(
        self, tool: Tool, parameter: Parameter, origins: Sequence[str]
    ) -> tuple[list[float], list[float]]:
        """How often each origin was right: for this argument of this tool, and for the name in all tools."""
        nan = float("nan")
        named, own = parameter.name, f"{tool.name}.{parameter.name}"
        if named not in self._totals:
            return [nan] * len(origins), [nan] * len(origins)
        broad = {o: self._counts[named].get(o, 0.0) / self._totals[named] for o in set(origins)}
        total, mine = self._totals.get(own, 0.0), self._counts.get(own, {})
        narrow = {o: (mine.get(o, 0.0) + _PRIOR_WEIGHT * broad[o]) / (total + _PRIOR_WEIGHT) for o in broad}
        return [narrow[o] for o in origins], [broad[o] for o in origins]

    def given_rate(self, tool: Tool, parameter: Parameter) -> float:
        """How often the argument was given at all; NaN without examples."""
        absent, _ = self.origin_frequencies(tool, parameter, [OMITTED])
        return 1 - absent[0]

    def known_origins(self, tool: Tool, parameter: Parameter) -> frozenset[str] | None:
        """All origins of this argument in the examples; None if there are too few examples."""
        own = f"{tool.name}.{parameter.name}"
        return frozenset(self._counts[own]) if self._totals.get(own, 0) >= _MIN_EXAMPLES else None

    def to_json(self) -> dict[str, Any]:
        """Serialise to JSON."""
        return {
            "totals": dict(self._totals),
            "counts": {key: dict(sorted(counts.items())) for key, counts in sorted(self._counts.items())},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ArgumentPriors":
        """Parse the form that `to_json` writes."""
        return cls(data["counts"], data["totals"])


class CommonWords:
    """Document frequencies of words, which tell names from common words."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts

    @classmethod
    def from_texts(cls, texts: Iterable[Iterable[str]], *, min_count: int = 4) -> "CommonWords":
        """Count the texts (lists of words) that contain each word; drop words below `min_count`."""
        counts: Counter[str] = Counter()
        for text in texts:
            counts.update(set(text))
        return cls({word: count for word, count in sorted(counts.items()) if count >= min_count})

    def log_count(self, word: str) -> float:
        """log(1 + document frequency): 0 for an unknown word."""
        return log1p(self.counts.get(word, 0))


@dataclass(frozen=True)
class ArgumentStatistics:
    """The learned statistics that features read."""

    priors: ArgumentPriors
    common: CommonWords

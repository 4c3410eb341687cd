"""What is known of arguments from examples: where their values mostly stand, and which words are common."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Any

from contextune.plan.pointer.candidates import NOTHING
from contextune.plan.schema import Parameter
from contextune.types import Tool

_WEIGHT = 4.0
"""So many examples of one argument of one tool count as much as all arguments of that name."""
_ENOUGH = 8
"""Examples that tell where values of an argument do not come from."""


@dataclass(frozen=True)
class FilledArgument:
    """An example: an argument of a tool, and the origins that its right value has."""

    tool: str
    argument: str
    origins: frozenset[str]


class ArgumentPriors:
    """How often each argument was filled from each origin: by tool and name, and by name alone."""

    def __init__(self, counts: Mapping[str, Mapping[str, float]], totals: Mapping[str, float]) -> None:
        self._counts, self._totals = counts, totals

    @classmethod
    def of(cls, examples: Iterable[FilledArgument]) -> "ArgumentPriors":
        """Count."""
        counts: dict[str, Counter[str]] = {}
        totals: Counter[str] = Counter()
        for example in examples:
            for key in (f"{example.tool}.{example.argument}", example.argument):
                totals[key] += 1
                counts.setdefault(key, Counter()).update(example.origins)
        return cls(counts, totals)

    def known(self, tool: Tool, parameter: Parameter) -> bool:
        """Whether there were examples of this argument of this tool."""
        return f"{tool.name}.{parameter.name}" in self._totals

    def of_origins(
        self, tool: Tool, parameter: Parameter, origins: Sequence[str]
    ) -> tuple[list[float], list[float]]:
        """For each origin, how often it was right: for this argument of this tool, and for the name."""
        nan = float("nan")
        named, own = parameter.name, f"{tool.name}.{parameter.name}"
        if named not in self._totals:
            return [nan] * len(origins), [nan] * len(origins)
        broad = {o: self._counts[named].get(o, 0.0) / self._totals[named] for o in set(origins)}
        total, mine = self._totals.get(own, 0.0), self._counts.get(own, {})
        narrow = {o: (mine.get(o, 0.0) + _WEIGHT * broad[o]) / (total + _WEIGHT) for o in broad}
        return [narrow[o] for o in origins], [broad[o] for o in origins]

    def given(self, tool: Tool, parameter: Parameter) -> float:
        """How often the argument was given at all; NaN where nothing is known of it."""
        absent, _ = self.of_origins(tool, parameter, [NOTHING])
        return 1 - absent[0]

    def seen(self, tool: Tool, parameter: Parameter) -> frozenset[str] | None:
        """All places that values of this argument came from; None where examples are too few to tell."""
        own = f"{tool.name}.{parameter.name}"
        return frozenset(self._counts[own]) if self._totals.get(own, 0) >= _ENOUGH else None

    def to_json(self) -> dict[str, Any]:
        """To be written down."""
        return {
            "totals": dict(self._totals),
            "counts": {key: dict(sorted(counts.items())) for key, counts in sorted(self._counts.items())},
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "ArgumentPriors":
        """What was written down."""
        return cls(found["counts"], found["totals"])


class CommonWords:
    """In how many texts words stand, so that names can be told from words that anybody uses."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts

    @classmethod
    def of(cls, texts: Iterable[Iterable[str]], *, least: int = 4) -> "CommonWords":
        """Count the texts, each given as its words; what stands in fewer than `least` is not common."""
        found: Counter[str] = Counter()
        for text in texts:
            found.update(set(text))
        return cls({word: count for word, count in sorted(found.items()) if count >= least})

    def level(self, word: str) -> float:
        """0 for a word that is not known, more for a common one."""
        return log1p(self.counts.get(word, 0))


@dataclass(frozen=True)
class ArgumentStatistics:
    """What is learnt besides the trees."""

    priors: ArgumentPriors
    common: CommonWords

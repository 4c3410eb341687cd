"""How often tools are called, and with which arguments: what calls usually look like."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_SMOOTHING = 2.0
"""Weight of the arguments' own frequencies against those of their combination, in calls."""


@dataclass(frozen=True)
class CallStatistics:
    """Counts of calls by tool, and by tool and given arguments."""

    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    patterns: Mapping[str, int] = field(default_factory=dict[str, int])
    """By `tool(argument,argument)`, arguments in alphabetical order."""

    @classmethod
    def from_calls(cls, calls: Iterable[tuple[str, Iterable[str]]]) -> "CallStatistics":
        """Count calls, each a tool and the names of its arguments."""
        tools: Counter[str] = Counter()
        patterns: Counter[str] = Counter()
        for tool, arguments in calls:
            tools[tool] += 1
            patterns[_pattern(tool, arguments)] += 1
        return cls(dict(sorted(tools.items())), dict(sorted(patterns.items())))

    def tool_share(self, tool: str) -> float:
        """The share of calls that are of this tool; NaN if it was never called, as it may be a new one."""
        if tool not in self.tools:
            return float("nan")
        return self.tools[tool] / sum(self.tools.values())

    def pattern_share(self, tool: str, arguments: Iterable[str]) -> float:
        """The share of the tool's calls that have exactly these arguments; NaN for a new tool."""
        if tool not in self.tools:
            return float("nan")
        count = self.patterns.get(_pattern(tool, arguments), 0)
        return (count + _SMOOTHING / 4) / (self.tools[tool] + _SMOOTHING)

    def to_json(self) -> dict[str, Any]:
        """Serialise to JSON."""
        return {"tools": dict(self.tools), "patterns": dict(self.patterns)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "CallStatistics":
        """Parse the form that `to_json` writes."""
        return cls(data["tools"], data["patterns"])


def _pattern(tool: str, arguments: Iterable[str]) -> str:
    return f"{tool}({','.join(sorted(arguments))})"

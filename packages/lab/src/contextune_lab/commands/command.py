"""A command and the tools that may serve it."""

from dataclasses import dataclass

from contextune.types import Turn

SERVED, EITHER, UNSERVED = "served", "served or refused", "unserved"
"""Whether one of the tools must serve a command, may serve it, or none does."""


@dataclass(frozen=True, slots=True)
class Command:
    """What somebody said, with the tools that are acceptable for it."""

    id: str
    text: str
    label: str
    """What the data set says was meant."""
    tools: frozenset[str]
    """Names of bundled tools; any of them is right."""
    may_refuse: bool = False
    """Whether it is right as well to say that no tool serves."""
    history: tuple[Turn, ...] = ()

    @property
    def part(self) -> str:
        """`SERVED`, `EITHER` or `UNSERVED`."""
        if not self.tools:
            return UNSERVED
        return EITHER if self.may_refuse else SERVED

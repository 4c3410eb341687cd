"""The cost of a wrong call, from what the tool's name and description say it does.

A wrong search is a moment lost, a wrong note can be edited, but a mail cannot be called back. Servers
describe their own tools, so a claim in the annotations may only raise the cost, unless the server is trusted.
"""

from collections.abc import Mapping
from typing import Literal

from contextune.tools.profiles.effects import Effect, first_effect, name_effect, tool_effect, verb_effect
from contextune.types import Annotations, Tool

Cost = Literal["read", "write", "send"]
"""`read` changes nothing that lasts, `write` creates or changes the user's own data, `send` reaches other
people, deletes or pays."""
COSTS: tuple[Cost, ...] = ("read", "write", "send")
"""All costs, cheapest first."""

_BY_EFFECT: Mapping[Effect, Cost] = {
    "reads": "read",
    "changes": "write",
    "sends": "send",
    "deletes": "send",
    "pays": "send",
}


def call_cost(tool: Tool, *, trusted: bool = False) -> Cost:
    """The cost of calling a tool by mistake; `trusted` annotations may also lower it."""
    words = _cost_of_words(tool)
    claimed = _claimed(tool.annotations)
    if claimed is None:
        return words
    return claimed if trusted else strictest(words, claimed)


def strictest(*costs: Cost) -> Cost:
    """The highest of the costs."""
    return COSTS[max(map(COSTS.index, costs))]


def is_verb(word: str) -> bool:
    """Whether a word is a known verb of tool names."""
    return verb_effect(word) is not None


def _claimed(annotations: Annotations) -> Cost | None:
    """The cost that the annotations claim, if any."""
    if annotations.destructive is True:
        return "send"
    if annotations.read_only is None:
        return None
    return "read" if annotations.read_only else "write"


def _cost_of_words(tool: Tool) -> Cost:
    effect, by_name = tool_effect(tool), name_effect(tool.name)
    begins = first_effect(tool.description)
    if by_name is None or by_name == "reads":
        # a verb that is not known may change something
        is_read = effect.only_reads and (by_name == "reads" or begins == "reads")
        costs: list[Cost] = [_BY_EFFECT[kind] for kind in effect.kinds]
        return strictest(*costs) if is_read else strictest("write", *costs)
    # "Starts a song" says less than the name; "Deletes …" behind a harmless name is a warning
    warned: Cost = "read" if begins is None else _BY_EFFECT[begins]
    by_words = _BY_EFFECT[by_name]
    return warned if warned == "send" else by_words


def singular(word: str) -> str:
    """A word of a tool's name without the s of plural or third person: "addresses" is "address"."""
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word.removesuffix("es")
    return word if word.endswith(("ss", "us", "is")) else word.removesuffix("s")

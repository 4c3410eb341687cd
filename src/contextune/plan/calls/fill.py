"""Fill calls of the likeliest tools, and variants of them with another value of an argument."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from contextune.plan.calls.orders.said_tools import asked_tools, open_tools, said_tools
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.planner import ArgumentChoice, FilledCall, PointerPlanner
from contextune.plan.values import normalize_value
from contextune.types import ToolHit

MAX_TOOLS = 4
"""Tools whose calls are filled: filling takes most of the planning time."""
MAX_VARIANTS = 3
_VARIED_TOOLS = 2
"""Tools, likeliest first, whose arguments are varied."""
_UNLIKELY = 4.0
"""Tools that are this much less likely than the first, in log probability, are not filled."""
_CLOSE = 4.0
"""Candidates of an argument that score this much lower than the chosen one are no alternative."""
_READ_TOOLS, _READ_SHARE = 3, 0.1
"""So many tools are filled besides because of the reader, if it finds them this likely."""


@dataclass(frozen=True, eq=False)
class CallCandidate:
    """A filled call, the rank of its tool, and how it differs from the best filling of that tool."""

    filled: FilledCall
    rank: int
    """Of the tool among the retrieved ones, from 0."""
    varied: str = ""
    """The argument that has its second-best value; empty for the best filling."""
    behind: float = 0.0
    """How much lower the scorer rates that value."""


def fill_calls(
    planner: PointerPlanner,
    inputs: PlanningInput,
    tools: Sequence[ToolHit],
    known: Mapping[str, float] | None = None,
    read: Mapping[str, float] | None = None,
    *,
    max_tools: int = MAX_TOOLS,
    max_variants: int = MAX_VARIANTS,
) -> list[CallCandidate]:
    """The calls to choose from: one per likely tool, then variants whose argument is a close decision.

    `known` are probabilities of tools, by name, from the tool classifier; `read` are those of the reader.
    """
    calls = [
        CallCandidate(filled, rank)
        for rank in said_tools(tools, inputs)
        or _open_or_likely(tools, inputs, known or {}, read or {}, max_tools)
        if (filled := planner.fill_tool(inputs, tools[rank].tool)) is not None
    ]
    variants = [
        (behind, call, choice, other)
        for call in calls[:_VARIED_TOOLS]
        for choice in call.filled.choices
        if (other := _second_best(choice, inputs)) is not None
        and (behind := float(choice.scores[choice.index] - choice.scores[other])) < _CLOSE
    ]
    variants.sort(key=lambda variant: variant[0])  # the closest decisions first
    for behind, call, choice, other in variants[:max_variants]:
        name = choice.parameter.name
        filled = planner.fill_variant(inputs, call.filled, name, other)
        if filled is not None:
            calls.append(CallCandidate(filled, call.rank, name, behind))
    return calls


def _open_or_likely(
    tools: Sequence[ToolHit],
    inputs: PlanningInput,
    known: Mapping[str, float],
    read: Mapping[str, float],
    limit: int,
) -> list[int]:
    """The likely tools, unless the request says a kind of tool that the likeliest is not of."""
    likely, said = likely_tools(tools, _joined(known, read), limit), open_tools(tools, inputs)
    if said and likely[0] not in said:
        return said
    more = (*_read_tools(tools, read), *asked_tools(tools, inputs))
    return [*likely, *(rank for rank in dict.fromkeys(more) if rank not in likely)]


def _joined(known: Mapping[str, float], read: Mapping[str, float]) -> Mapping[str, float]:
    """The geometric means of the probabilities; those of the classifier if the reader has not read."""
    return {name: sqrt(share * read.get(name, 0.0)) for name, share in known.items()} if read else known


def _read_tools(tools: Sequence[ToolHit], read: Mapping[str, float]) -> list[int]:
    """The ranks of the tools that the reader finds likely."""
    shares = [(read.get(hit.tool.name, 0.0), rank) for rank, hit in enumerate(tools)]
    return [rank for share, rank in sorted(shares, key=_by_share)[:_READ_TOOLS] if share >= _READ_SHARE]


def _by_share(pair: tuple[float, int]) -> tuple[float, int]:
    return -pair[0], pair[1]


def likely_tools(tools: Sequence[ToolHit], known: Mapping[str, float], limit: int) -> list[int]:
    """The ranks of the tools that are worth filling, likeliest first.

    Likely by both the tool ranker and the tool classifier; a tool that the classifier does not know counts
    as likely as the ranker says.
    """
    if not tools:
        return []
    scores = np.array([hit.score for hit in tools], np.float64)
    ranked = scores - scores.max()
    highest = max(known.values(), default=1.0)
    classified = np.array([np.log(known.get(hit.tool.name, highest) + 1e-9) for hit in tools])
    likely = ranked + classified - np.log(highest + 1e-9)
    order = [int(rank) for rank in np.argsort(-likely, kind="stable")[:limit]]
    return [rank for rank in order if likely[order[0]] - likely[rank] < _UNLIKELY]


def _second_best(choice: ArgumentChoice, inputs: PlanningInput) -> int | None:
    """The best candidate that means something else than the chosen one; omission is one, too."""
    if choice.chosen.is_omitted:
        return None

    def meaning(index: int) -> object:
        candidate = choice.candidates[index]
        if candidate.is_omitted:
            return None
        return normalize_value(candidate.value, choice.parameter, inputs.people)

    chosen = meaning(choice.index)
    order = map(int, np.argsort(-choice.scores, kind="stable"))
    return next((index for index in order if meaning(index) != chosen), None)

"""Fine-tuning and evaluation prompts for a planner language model.

A target call contains only values that occur in the prompt, so that the model learns to leave arguments out
instead of inventing them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from contextune.datasets import bundled_personas, training_personas
from contextune.llm.chat import Message
from contextune.plan.language_model.grounding import Grounder, UngroundedError
from contextune.plan.language_model.planner import MAX_TOOLS, call_json
from contextune.plan.language_model.prompt import plan_messages
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import tool_parameters
from contextune.types import ItemHit, Tool, ToolHit
from contextune_lab.train.planned_requests import NO_CONTEXT, ORACLE, RETRIEVED, PlannedRequest

ToolChooser = Callable[[PlannedRequest], Sequence[ToolHit]]
_VISIBLE_HITS = 5
"""Relevant items are put among the first n hits."""


def target_call(request: PlannedRequest, planning_input: PlanningInput, tool: Tool) -> str:
    """The gold call, limited to values that can be grounded in the planning input."""
    grounder = Grounder(planning_input)
    arguments: dict[str, Any] = {}
    for parameter in tool_parameters(tool):
        values = request.expected.args.get(parameter.name)
        if values is None:
            continue
        try:
            grounder.ground(values[0], parameter)
        except UngroundedError:
            continue
        arguments[parameter.name] = values[0]
    return call_json(tool.name, arguments)


def training_rows(
    requests: Sequence[PlannedRequest],
    choose_tools: ToolChooser,
    tools: Mapping[str, Tool],
    *,
    thoughts: Mapping[str, str] | None = None,
    seed: int = 0,
) -> Iterator[dict[str, Any]]:
    """Training rows: retrieved context for every request; for some also gold context, none, or no tools.

    `thoughts` are chains of thought by request; every third request that has one is also asked with it.
    """
    rng = Random(seed)  # noqa: S311  # no secrets here
    for number, request in enumerate(requests):
        right_tool = tools[request.expected.tool]
        tools_offered = _with_right([hit.tool for hit in choose_tools(request)][:MAX_TOOLS], right_tool)
        yield _training_row(request, _with_relevant_items(request, rng), tools_offered, right_tool)
        if number % 3 == 2 and (thought := (thoughts or {}).get(request.name)):
            inputs = _with_relevant_items(request, rng)
            yield _training_row(request, inputs, tools_offered, right_tool, thought)
        if number % 3 == 0:
            few = rng.choice(([right_tool], tools_offered))
            yield _training_row(request, request.with_context(ORACLE), few, right_tool)
        if number % 6 == 1:
            yield _training_row(request, request.with_context(NO_CONTEXT), tools_offered, right_tool)
        if number % 6 == 4:
            yield _training_row(request, request.with_context(NO_CONTEXT), (), right_tool)


def evaluation_rows(
    requests: Sequence[PlannedRequest],
    rows: Mapping[str, tuple[str, ToolChooser | None]],
    thoughts: Mapping[str, Mapping[str, str]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Evaluation prompts per request and row; `rows` gives the context and the tool chooser of each row.

    `thoughts` has the chains of thought of the rows that are guided by one: by row, then by request.
    """
    for request in requests:
        for row, (context, choose_tools) in rows.items():
            tools_offered = [hit.tool for hit in choose_tools(request)][:MAX_TOOLS] if choose_tools else []
            thought = (thoughts or {}).get(row, {}).get(request.name)
            messages = plan_messages(request.with_context(context), tools_offered, thought=thought)
            yield {
                "fold": request.fold,
                "name": request.name,
                "row": row,
                "tools": [tool.name for tool in tools_offered],
                "asked": _message_rows(messages),
            }


def dataset_thoughts() -> dict[str, str]:
    """The chains of thought of the dataset, by request."""
    return {
        persona.name(query): query.gold.cot
        for persona in (*bundled_personas(), *training_personas())
        for query in persona.queries
        if query.gold.cot
    }


def oracle_tool(tools: Mapping[str, Tool]) -> ToolChooser:
    """Always choose the gold tool."""
    return lambda request: [ToolHit(tools[request.expected.tool], 1.0)]


def _training_row(
    request: PlannedRequest,
    planning_input: PlanningInput,
    tools_offered: Sequence[Tool],
    right_tool: Tool,
    thought: str | None = None,
) -> dict[str, Any]:
    return {
        "fold": request.fold,
        "asked": _message_rows(plan_messages(planning_input, tools_offered, thought=thought)),
        "answer": target_call(request, planning_input, right_tool),
    }


def _with_relevant_items(request: PlannedRequest, rng: Random) -> PlanningInput:
    """The retrieved hits, with missing relevant items inserted."""
    hits = list(request.with_context(RETRIEVED).hits)
    visible = {hit.item.id for hit in hits[:_VISIBLE_HITS]}
    for name in request.relevant:
        if name not in visible:
            hits = [hit for hit in hits if hit.item.id != name]
            place = rng.randrange(min(_VISIBLE_HITS, len(hits) + 1))
            score = hits[min(place, len(hits) - 1)].score if hits else 0.0
            hits.insert(place, ItemHit(request.items[name], score))
    return replace(request.planning_input, hits=hits)


def _with_right(tools_offered: list[Tool], right_tool: Tool) -> list[Tool]:
    return tools_offered if right_tool in tools_offered else [*tools_offered[: MAX_TOOLS - 1], right_tool]


def _message_rows(messages: Sequence[Message]) -> list[list[str]]:
    return [[message.role, message.content] for message in messages]

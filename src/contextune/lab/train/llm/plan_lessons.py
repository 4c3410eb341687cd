"""What a language model learns planning from, and what it is asked to be measured: messages and answers.

An answer holds only what can be seen: a value that stands nowhere in what is shown is left out of it, so that
leaving out, not making up, is what is learnt.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from contextune.lab.train.rankers.argument_examples import ALONE, FOUND, ORACLE, PlannedRequest
from contextune.llm.chat import Message
from contextune.plan.language_model.grounding import Grounder, UngroundedError
from contextune.plan.language_model.planner import TOOLS, call_text
from contextune.plan.language_model.prompt import plan_messages
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import parameters
from contextune.types import ItemHit, Tool, ToolHit

Choose = Callable[[PlannedRequest], Sequence[ToolHit]]
_SHOWN = 5
"""The right items are among so many, in lessons."""


def answer(one: PlannedRequest, seen: PlanningInput, tool: Tool) -> str:
    """The right call, as far as what is seen has its values."""
    ground = Grounder(seen)
    given: dict[str, Any] = {}
    for parameter in parameters(tool):
        wanted = one.expected.args.get(parameter.name)
        if wanted is None:
            continue
        try:
            ground.argument(wanted[0], parameter)
        except UngroundedError:
            continue
        given[parameter.name] = wanted[0]
    return call_text(tool.name, given)


def lessons(
    requests: Sequence[PlannedRequest], chosen: Choose, tools: Mapping[str, Tool], *, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """With what was found; some also with the right context, with none, and without tools."""
    luck = Random(seed)  # noqa: S311  # no secrets here
    for number, one in enumerate(requests):
        right = tools[one.expected.api]
        offered = _with_right([hit.tool for hit in chosen(one)][:TOOLS], right)
        yield _lesson(one, _completed(one, luck), offered, right)
        if number % 3 == 0:
            few = luck.choice(([right], offered))
            yield _lesson(one, one.seeing(ORACLE), few, right)
        if number % 6 == 1:
            yield _lesson(one, one.seeing(ALONE), offered, right)
        if number % 6 == 4:
            yield _lesson(one, one.seeing(ALONE), (), right)


def questions(
    requests: Sequence[PlannedRequest], rows: Mapping[str, tuple[str, Choose | None]]
) -> Iterator[dict[str, Any]]:
    """What is asked for each row of the table: `rows` says what is seen, and who chooses the tools."""
    for one in requests:
        for row, (what, choose) in rows.items():
            offered = [hit.tool for hit in choose(one)][:TOOLS] if choose else []
            asked = plan_messages(one.seeing(what), offered)
            yield {"fold": one.fold, "name": one.name, "row": row, "asked": _spelled(asked)}


def right_tool(tools: Mapping[str, Tool]) -> Choose:
    """The tool the request was written for."""
    return lambda one: [ToolHit(tools[one.expected.api], 1.0)]


def _lesson(one: PlannedRequest, seen: PlanningInput, offered: Sequence[Tool], right: Tool) -> dict[str, Any]:
    return {
        "fold": one.fold,
        "asked": _spelled(plan_messages(seen, offered)),
        "answer": answer(one, seen, right),
    }


def _completed(one: PlannedRequest, luck: Random) -> PlanningInput:
    """What was found, with the right items put in where they were missed."""
    hits = list(one.seeing(FOUND).hits)
    shown = {hit.item.id for hit in hits[:_SHOWN]}
    for name in one.right:
        if name not in shown:
            hits = [hit for hit in hits if hit.item.id != name]
            place = luck.randrange(min(_SHOWN, len(hits) + 1))
            score = hits[min(place, len(hits) - 1)].score if hits else 0.0
            missed: ItemHit = ItemHit(one.items[name], score)
            hits.insert(place, missed)
    return replace(one.situation, hits=hits)


def _with_right(offered: list[Tool], right: Tool) -> list[Tool]:
    return offered if right in offered else [*offered[: TOOLS - 1], right]


def _spelled(messages: Sequence[Message]) -> list[list[str]]:
    return [[one.role, one.content] for one in messages]

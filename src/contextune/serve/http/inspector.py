"""What the inspector shows of a request: the answer, what weighed how much, and the tools without context."""

from collections.abc import Sequence

from contextune.plan import explain
from contextune.serve.http import responses
from contextune.tuner import Tuner
from contextune.types import Item, Plan, Request


class InspectedItem(responses.ItemHitReply):
    """An item that was found, and how much each family of signals raised it over what is typical."""

    title: str
    when: str | None
    signals: dict[str, float]


class InspectedPlan(responses.PlanReply):
    """A call to make, and in words where each of its arguments comes from."""

    why: dict[str, str]


class InspectReply(responses.ToolsReply):
    """The answer, taken apart; `alone` are the tools that the words alone find, without your items."""

    request: responses.RequestReply
    context: list[InspectedItem]
    alone: responses.ToolsReply
    plans: list[InspectedPlan]
    seconds: dict[str, float]


def inspect(tuner: Tuner, request: Request, k: int, tools: int) -> InspectReply:
    """All that can be seen of a request."""
    answer = tuner.answer(request, k, max_tools=tools)
    steps = tuner.steps(request, k, max_tools=tools, answer=answer)
    alone = tuner.tools(request, tools, context=[])
    signals = tuner.signals(request, k)
    whole = responses.answer_reply(answer, None, why=True)
    # a later step may point at items that were found for it alone
    known = {
        item.id: item for item in tuner.store.items(request.user, _pointed(steps.plans if steps else ()))
    }
    known |= {hit.item.id: hit.item for hit in answer.context}
    return {
        "request": whole["request"],
        "context": [
            {
                **said,
                "title": hit.item.title,
                "when": hit.item.time.isoformat() if hit.item.time else None,
                "signals": dict(signals.get(hit.item.id, {})),
            }
            for said, hit in zip(whole["context"], answer.context, strict=True)
        ],
        "tools": whole["tools"],
        "fits": whole["fits"],
        "alone": {
            "tools": responses.tools_reply(alone.hits, why=True),
            "fits": None if alone.fits is None else float(alone.fits),
        },
        "plans": [_plan(plan, known) for plan in steps] if steps else [],
        "seconds": whole["seconds"],
    }


def _pointed(plans: Sequence[Plan]) -> list[str]:
    sources = [
        source for plan in plans for argument in plan.arguments.values() for source in argument.sources
    ]
    return [source.item for source in sources if source.kind != "contact" and source.item]


def _plan(plan: Plan, known: dict[str, Item]) -> InspectedPlan:
    return {**responses.plan_reply(plan), "why": dict(explain.reasons(plan, known))}

"""Data of the inspector page: the answer, feature contributions, and the tools found without context."""

from collections.abc import Callable, Sequence
from datetime import datetime

from typing_extensions import TypedDict

from contextune.answers import AnswerSource, ExtractedAnswer, extract_answer
from contextune.plan import explain
from contextune.plan.plan_json import PlanJson, plan_to_json
from contextune.plan.policy import wording
from contextune.serve.http import responses
from contextune.tuner import Tuner
from contextune.types import Item, Plan, Request, Tool, format_item_time, format_time, local_time, user_time


class InspectedSource(TypedDict):
    """The item that a sentence is from; its time in words."""

    item: str
    kind: str
    title: str
    when_text: str


class InspectedCorrection(TypedDict):
    """What a later item says about the same."""

    text: str
    source: InspectedSource


class InspectedAnswer(TypedDict):
    """What the items say to a question, in their own words; `covers` says which part of a list it is."""

    text: str
    covers: str
    source: InspectedSource
    correction: InspectedCorrection | None


class InspectedItem(responses.ItemHitReply):
    """An item with each feature family's contribution to its score, relative to the mean of the hits."""

    title: str
    """Its title; the first words of an item without one."""
    when: str | None
    """Its time in the user's zone, ISO 8601."""
    when_text: str
    """The same in words; the zone is named if the item was given in another."""
    signals: dict[str, float]


class InspectedPlan(PlanJson):
    """A call in words, with the source of each argument in words."""

    sentence: str
    why: dict[str, str]


class InspectReply(responses.ToolsReply):
    """The answer in detail; `alone` has the tools found by the text alone, without your items."""

    request: responses.RequestReply
    answer: InspectedAnswer | None
    """What the items say, where the call only reads them."""
    clock: str
    """The time of the request on the user's clock, to the second, without an offset."""
    context: list[InspectedItem]
    alone: responses.ToolsReply
    words_only: bool
    """Whether vectors had no part in the ranking of the items."""
    preparation: responses.PreparationReply
    plans: list[InspectedPlan]
    seconds: dict[str, float]


def inspect(
    tuner: Tuner, request: Request, k: int, max_tools: int, max_bytes: int, find_tool: Callable[[str], Tool]
) -> InspectReply:
    """Answer a request and collect everything that explains the answer.

    `find_tool` returns a tool of the catalogue by its id.
    """
    answer = tuner.answer(request, k, max_tools=max_tools)
    steps = tuner.steps(request, k, max_tools=max_tools, answer=answer)
    several = steps is not None and len(steps) > 1
    tools_without_context = tuner.tools(request, max_tools, context=[])
    signals = tuner.signals(request, k)
    reply = responses.answer_reply(answer, None, max_bytes, why=True)
    # a later step may have sources among items retrieved for that step only
    source_ids = _source_items(steps.plans if steps else ())
    items = {item.id: item for item in tuner.store.items(request.user, source_ids)}
    items |= {hit.item.id: hit.item for hit in answer.context}
    zone, preparation = tuner.store.user(request.user).zone, tuner.preparation(request.user)
    return {
        "request": reply["request"],
        "answer": None if several else _answer_reply(extract_answer(answer, tuner.store), request.time),
        "clock": local_time(request.time, zone).isoformat(timespec="seconds"),
        "context": [
            {
                **hit_reply,
                "title": hit.item.label,
                "when": user_time(hit.item.time, zone).isoformat() if hit.item.time else None,
                "when_text": format_item_time(hit.item, zone, request.time),
                "signals": dict(signals.get(hit.item.id, {})),
            }
            for hit_reply, hit in zip(
                reply["context"], answer.context, strict=False
            )  # fewer if they are large
        ],
        "words_only": answer.words_only,
        "preparation": {"ready": preparation.ready, "total": preparation.total},
        "tools": reply["tools"],
        "fits": reply["fits"],
        "alone": {
            "tools": responses.tools_reply(tools_without_context.hits, why=True),
            "fits": None if tools_without_context.fits is None else float(tools_without_context.fits),
        },
        "plans": [_plan_reply(plan, items, find_tool(plan.tool)) for plan in steps] if steps else [],
        "seconds": reply["seconds"],
    }


def _answer_reply(answer: ExtractedAnswer | None, now: datetime) -> InspectedAnswer | None:
    if answer is None:
        return None
    correction = answer.correction
    return {
        "text": answer.text,
        "covers": answer.covers,
        "source": _source_reply(answer.source, now),
        "correction": correction
        and {"text": correction.text, "source": _source_reply(correction.source, now)},
    }


def _source_reply(source: AnswerSource, now: datetime) -> InspectedSource:
    when = format_time(source.time, source.time.tzinfo, now) if source.time else ""
    return {"item": source.item, "kind": source.kind, "title": source.title, "when_text": when}


def _source_items(plans: Sequence[Plan]) -> list[str]:
    sources = [
        source for plan in plans for argument in plan.arguments.values() for source in argument.sources
    ]
    return [source.item for source in sources if source.kind != "contact" and source.item]


def _plan_reply(plan: Plan, items: dict[str, Item], tool: Tool) -> InspectedPlan:
    return {
        **plan_to_json(plan),
        "sentence": wording.sentence(wording.describe_plan(plan, tool)),
        "why": dict(explain.explain_arguments(plan, items)),
    }

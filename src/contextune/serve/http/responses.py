"""What clients get: the library's values as JSON, as typed dicts, which the API's document is made from."""

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response
from typing_extensions import TypedDict

from contextune.plan import Steps
from contextune.plan.multi_step.steps import written
from contextune.tools.loaders import tool_json
from contextune.types import Answer, Item, ItemHit, Plan, Request, ToolHit, UsageEvent, User


class TurnReply(TypedDict):
    """One line of the talk before."""

    speaker: str
    text: str


class RequestReply(TypedDict):
    """The request as it was understood."""

    text: str
    time: str
    place: str | list[float] | None
    history: list[TurnReply]


class ItemReply(TypedDict):
    """One thing your applications hold."""

    id: str
    app: str
    fields: dict[str, Any]


class ItemHitReply(TypedDict):
    """An item that was found: how strongly, and why in words."""

    item: ItemReply
    score: float
    reasons: list[str]


class ToolHitReply(TypedDict):
    """A tool that was found, with its id and schema."""

    id: str
    tool: dict[str, Any]
    score: float
    reasons: list[str]


class SourceReply(TypedDict):
    """Where a value was read."""

    kind: str
    item: str | None
    field: str | None
    words: str


class ArgumentReply(TypedDict):
    """One value of a call, where it comes from, and how probable it is that it is right."""

    value: Any
    sources: list[SourceReply]
    confidence: float


class MissingReply(TypedDict):
    """What to ask for before the call can be made."""

    argument: str
    question: str


class PlanReply(TypedDict):
    """The call to make; nothing is called by this service."""

    name: str
    tool: str
    arguments: dict[str, ArgumentReply]
    confidence: float
    missing: list[MissingReply]
    ready: bool


class ContextReply(TypedDict):
    """The items a request hangs on, best first."""

    context: list[ItemHitReply]


class ToolsReply(TypedDict):
    """The tools that can serve a request, best first, and how probable it is that any does."""

    tools: list[ToolHitReply]
    fits: float | None


class PlansReply(TypedDict):
    """The call to make, or none."""

    plan: PlanReply | None


class AnswerReply(TypedDict):
    """All there is to say to a request. `steps` are there where it asks for several things."""

    request: RequestReply
    context: list[ItemHitReply]
    tools: list[ToolHitReply]
    plan: PlanReply | None
    steps: list[PlanReply]
    seconds: dict[str, float]
    fits: float | None
    queries: list[str]


class ItemsReply(TypedDict):
    """Some of your items, by id, and where to go on."""

    items: list[ItemReply]
    total: int
    next: int | None


class UsageEventReply(TypedDict):
    """One time you turned to an item."""

    item: str
    time: str
    place: str | None


class UsageEventsReply(TypedDict):
    """Some of your uses, in order of time, and where to go on."""

    uses: list[UsageEventReply]
    total: int
    next: int | None


class ContactReply(TypedDict):
    """Somebody you know."""

    name: str
    email: str | None
    phone: str | None
    relation: str | None
    more: dict[str, Any]


class UserReply(TypedDict):
    """What is known of you."""

    profile: dict[str, Any]
    places: dict[str, list[float]]
    contacts: list[ContactReply]
    zone: str | None


class CountReply(TypedDict):
    """How many there were."""

    count: int


class HealthReply(TypedDict):
    """Whether the service can work."""

    status: str
    version: str


class ErrorDetail(TypedDict):
    """What is wrong and what to do; `where` names the parts of the request."""

    code: str
    message: str
    where: list[str]
    request: str


class ErrorReply(TypedDict):
    """A request that was turned away."""

    error: ErrorDetail


class JsonResponse(Response):
    """JSON. Half a character out of a broken mail is written escaped, as UTF-8 has no place for it."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes."""
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(content, separators=(",", ":"), default=str).encode()


def item_reply(item: Item) -> ItemReply:
    """An item, in the form it is put in."""
    return {"id": item.id, "app": item.app, "fields": dict(item.fields)}


def context_reply(hits: Sequence[ItemHit], *, why: bool) -> list[ItemHitReply]:
    """Items found; without `why` the reasons are not even worked out."""
    return [
        {
            "item": item_reply(hit.item),
            "score": float(hit.score),
            "reasons": list(hit.reasons) if why else [],
        }
        for hit in hits
    ]


def tools_reply(hits: Sequence[ToolHit], *, why: bool) -> list[ToolHitReply]:
    """Tools found."""
    return [
        {
            "id": hit.tool.id,
            "tool": tool_json(hit.tool),
            "score": float(hit.score),
            "reasons": list(hit.reasons) if why else [],
        }
        for hit in hits
    ]


def plan_reply(plan: Plan) -> PlanReply:
    """A plan with where every value comes from; what an earlier step will give is `{"$step": …}`."""
    values = written(plan)
    return {
        "name": plan.name,
        "tool": plan.tool,
        "arguments": {
            name: {
                "value": values[name],
                "sources": [
                    {"kind": one.kind, "item": one.item, "field": one.field, "words": one.words}
                    for one in argument.sources
                ],
                "confidence": float(argument.confidence),
            }
            for name, argument in plan.arguments.items()
        },
        "confidence": float(plan.confidence),
        "missing": [{"argument": one.argument, "question": one.question} for one in plan.missing],
        "ready": plan.ready,
    }


def answer_reply(answer: Answer, steps: Steps | None, *, why: bool) -> AnswerReply:
    """The whole answer."""
    return {
        "request": _request_reply(answer.request),
        "context": context_reply(answer.context, why=why),
        "tools": tools_reply(answer.tools, why=why),
        "plan": plan_reply(answer.plan) if answer.plan else None,
        "steps": [plan_reply(plan) for plan in steps] if steps and len(steps) > 1 else [],
        "seconds": {name: round(seconds, 6) for name, seconds in answer.seconds.items()},
        "fits": None if answer.fits is None else float(answer.fits),
        "queries": list(answer.queries),
    }


def _request_reply(request: Request) -> RequestReply:
    place = request.place
    return {
        "text": request.text,
        "time": request.time.isoformat(),
        "place": place if place is None or isinstance(place, str) else [*place],
        "history": [{"speaker": turn.speaker, "text": turn.text} for turn in request.history],
    }


def use_reply(use: UsageEvent) -> UsageEventReply:
    """A use, in the form it is put in."""
    return {"item": use.item, "time": use.time.isoformat(), "place": use.place}


def me_reply(user: User) -> UserReply:
    """A user, in the form it is put in."""
    return {
        "profile": dict(user.profile),
        "places": {name: [*place] for name, place in user.places.items()},
        "contacts": [
            {
                "name": one.name,
                "email": one.email,
                "phone": one.phone,
                "relation": one.relation,
                "more": dict(one.more),
            }
            for one in user.contacts
        ],
        "zone": user.zone.key if user.zone else None,
    }

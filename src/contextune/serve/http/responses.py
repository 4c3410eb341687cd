"""Response bodies (TypedDict), from which FastAPI generates the OpenAPI schemas."""

import json
from collections.abc import Sequence
from typing import Any

from starlette.responses import Response
from typing_extensions import TypedDict

from contextune.answers import ExtractedAnswer, answer_json, state_shown
from contextune.answers.extracted import ExtractedAnswerJson
from contextune.plan import Steps
from contextune.plan.plan_json import PlanJson, plan_to_json
from contextune.tools.loaders import tool_to_json
from contextune.types import Answer, Contact, Item, ItemHit, Request, ToolHit, UsageEvent, User
from contextune.types.state_json import TurnOutcomeJson, TurnStateJson, reply_to_json, state_to_json


class TurnReply(TypedDict):
    """One earlier turn of the conversation."""

    speaker: str
    text: str


class RequestReply(TypedDict):
    """The request, with time and place resolved."""

    text: str
    time: str
    place: str | list[float] | None
    history: list[TurnReply]


class ItemReply(TypedDict):
    """One item of an application."""

    id: str
    app: str
    fields: dict[str, Any]


class ItemHitReply(TypedDict):
    """A retrieved item with its score and reasons."""

    item: ItemReply
    score: float
    reasons: list[str]
    probability: float | None
    """That the request needs the item; null if it was not read beside the request."""


class ToolHitReply(TypedDict):
    """A retrieved tool with its id, schema, score and reasons."""

    id: str
    tool: dict[str, Any]
    score: float
    reasons: list[str]


class ContactReply(TypedDict):
    """A contact."""

    name: str
    email: str | None
    phone: str | None
    relation: str | None
    more: dict[str, Any]


class ContextReply(TypedDict):
    """The items a request needs, best first, without those that it hardly needs, and the people it means.

    `words_only` if they were ranked without vectors.
    """

    context: list[ItemHitReply]
    people: list[ContactReply]
    words_only: bool


class ToolsReply(TypedDict):
    """The tools that can serve a request, best first; `fits`: probability that any of them does."""

    tools: list[ToolHitReply]
    fits: float | None


class PlansReply(TypedDict):
    """The call to make, or null; for `reply` and `state`, see `AnswerReply`."""

    plan: PlanJson | None
    reply: TurnOutcomeJson | None
    state: TurnStateJson | None


class AnswerReply(TypedDict):
    """Context, tools and plan; `steps` is non-empty if the request needs several calls.

    `answer` is what your items say to a question, in their own words; null unless the call only reads them.
    `people` are the contacts that the request means. `reply` says how it was understood as a reply to
    the turn before, null for one of its own. Send `state` with the next request of the conversation.
    """

    request: RequestReply
    answer: ExtractedAnswerJson | None
    context: list[ItemHitReply]
    people: list[ContactReply]
    tools: list[ToolHitReply]
    plan: PlanJson | None
    steps: list[PlanJson]
    seconds: dict[str, float]
    fits: float | None
    queries: list[str]
    words_only: bool
    reply: TurnOutcomeJson | None
    state: TurnStateJson


class ItemsReply(TypedDict):
    """A page of your items, ordered by id; `next` is the `start` of the next page."""

    items: list[ItemReply]
    total: int
    next: int | None


class UsageEventReply(TypedDict):
    """One use of an item."""

    item: str
    time: str
    place: str | None


class UsageEventsReply(TypedDict):
    """A page of your uses, ordered by time; `next` is the `start` of the next page."""

    uses: list[UsageEventReply]
    total: int
    next: int | None


class UserReply(TypedDict):
    """Your profile, named places, contacts and time zone."""

    profile: dict[str, Any]
    places: dict[str, list[float] | str]
    contacts: list[ContactReply]
    zone: str | None


class CountReply(TypedDict):
    """The number of entries added or deleted."""

    count: int


class UnreadTimeReply(TypedDict):
    """A field that is named like a time, is not one in `count` of the items, and is read as text there."""

    app: str
    field: str
    count: int


class PutItemsReply(TypedDict):
    """The number of items written, and their fields that should be times."""

    count: int
    unread_times: list[UnreadTimeReply]


class PreparationReply(TypedDict):
    """How many of your items have vectors; until all have, requests are answered by words or have to wait."""

    ready: int
    total: int


class HealthReply(TypedDict):
    """The service is healthy."""

    status: str
    version: str


class ErrorDetail(TypedDict):
    """What is wrong and what to do; `where` lists the invalid fields, `request` is the request id."""

    code: str
    message: str
    where: list[str]
    request: str


class ErrorReply(TypedDict):
    """An error response."""

    error: ErrorDetail


class JsonResponse(Response):
    """JSON response; lone surrogates, as in broken mail, are escaped because UTF-8 cannot encode them."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=str)
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(content, separators=(",", ":"), default=str).encode()


def item_reply(item: Item) -> ItemReply:
    """An item in the format of `ItemBody`."""
    return {"id": item.id, "app": item.app, "fields": dict(item.fields)}


def context_reply(hits: Sequence[ItemHit], max_bytes: int, *, why: bool) -> list[ItemHitReply]:
    """Retrieved items; without `why` the reasons are not computed. Those past `max_bytes` are left out."""
    return [
        {
            "item": item_reply(hit.item),
            "score": float(hit.score),
            "reasons": list(hit.reasons) if why else [],
            "probability": hit.probability,
        }
        for hit in hits[: _count_within([hit.item for hit in hits], max_bytes)]
    ]


def _count_within(items: Sequence[Item], max_bytes: int) -> int:
    """Number of items, from the first, that have at most `max_bytes` as JSON; one at least."""
    size = 0
    for number, item in enumerate(items):
        size += len(json.dumps(dict(item.fields), ensure_ascii=False).encode("utf-8", "surrogatepass"))
        if size > max_bytes:
            return max(number, 1)
    return len(items)


def tools_reply(hits: Sequence[ToolHit], *, why: bool) -> list[ToolHitReply]:
    """Retrieved tools."""
    return [
        {
            "id": hit.tool.id,
            "tool": tool_to_json(hit.tool),
            "score": float(hit.score),
            "reasons": list(hit.reasons) if why else [],
        }
        for hit in hits
    ]


def answer_reply(
    answer: Answer,
    steps: Steps | None,
    max_bytes: int,
    *,
    why: bool,
    extracted: ExtractedAnswer | None = None,
) -> AnswerReply:
    """The answer as a response, with at most `max_bytes` of items; `extracted` is what the items say."""
    return {
        "request": _request_reply(answer.request),
        "answer": answer_json(extracted) if extracted else None,
        "context": context_reply(answer.context, max_bytes, why=why),
        "people": people_reply(answer.people),
        "tools": tools_reply(answer.tools, why=why),
        "plan": plan_to_json(answer.plan) if answer.plan else None,
        "steps": [plan_to_json(plan) for plan in steps] if steps and len(steps) > 1 else [],
        "seconds": {name: round(seconds, 6) for name, seconds in answer.seconds.items()},
        "fits": None if answer.fits is None else float(answer.fits),
        "queries": list(answer.queries),
        "words_only": answer.words_only,
        "reply": reply_to_json(answer.reply),
        "state": state_to_json(state_shown(answer, steps, extracted)),
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
    """A use in the format of `UsageEventBody`."""
    return {"item": use.item, "time": use.time.isoformat(), "place": use.place}


def user_reply(user: User) -> UserReply:
    """A user in the format of `UserBody`."""
    return {
        "profile": dict(user.profile),
        "places": {name: at if isinstance(at, str) else [*at] for name, at in user.places.items()},
        "contacts": people_reply(user.contacts),
        "zone": user.zone.key if user.zone else None,
    }


def people_reply(contacts: Sequence[Contact]) -> list[ContactReply]:
    """Contacts with all that their cards say."""
    return [
        {
            "name": contact.name,
            "email": contact.email,
            "phone": contact.phone,
            "relation": contact.relation,
            "more": dict(contact.more),
        }
        for contact in contacts
    ]

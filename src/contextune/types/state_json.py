"""`TurnState` as JSON, which a client gets with an answer and sends back with the next request."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from typing_extensions import TypedDict

from contextune.errors import InvalidRequestError
from contextune.types.answer import (
    Argument,
    Decision,
    Missing,
    Option,
    OutcomeKind,
    Plan,
    Question,
    Source,
    TurnOutcome,
    TurnState,
)

_MAX_ITEMS, _MAX_OPTIONS = 100, 10
_DECISIONS: Mapping[str, Decision] = {"act": "act", "confirm": "confirm", "ask": "ask"}


class TurnOutcomeJson(TypedDict):
    """How a request was understood as a reply: `kind`, and what to say, unless the plan says it."""

    kind: OutcomeKind
    text: str


class StateOptionJson(TypedDict):
    """One answer to the open question."""

    label: str
    call: "StateCallJson"


class StateCallJson(TypedDict):
    """A call, with the item that each value is from, and the question about it, if there is one."""

    tool: str
    arguments: dict[str, Any]
    sources: dict[str, dict[str, str]]
    decision: str | None
    missing: dict[str, str]
    question: str
    argument: str | None
    options: list[StateOptionJson]


class TurnStateJson(TypedDict):
    """What a turn left: send it back as `state` with the next request of the conversation."""

    text: str
    call: StateCallJson | None
    pending: StateCallJson | None
    items: list[str]
    about: str | None


def reply_to_json(reply: TurnOutcome | None) -> TurnOutcomeJson | None:
    """A reply as JSON."""
    return {"kind": reply.kind, "text": reply.text} if reply else None


def state_to_json(state: TurnState) -> TurnStateJson:
    """A state as JSON."""
    return {
        "text": state.text,
        "call": _call_to_json(state.call) if state.call else None,
        "pending": _call_to_json(state.pending) if state.pending else None,
        "items": list(state.items[:_MAX_ITEMS]),
        "about": state.about,
    }


def state_from_json(data: Mapping[str, Any]) -> TurnState:
    """The state of its JSON; raises `InvalidRequestError` for anything else."""
    try:
        call, pending = data.get("call"), data.get("pending")
        items = cast("Sequence[object]", data.get("items") or ())
        about = data.get("about")
        if unknown := data.keys() - TurnStateJson.__annotations__.keys():
            _fail(f"has no {min(unknown)!r}")
        read = _call_from_json(call) if call else None
        return TurnState(
            _text(data.get("text", "")),
            read,
            # the same object, so that it is known that the last call is what was asked about
            (read if pending == call else _call_from_json(pending)) if pending else None,
            tuple(_text(item) for item in items[:_MAX_ITEMS]),
            None if about is None else _text(about),
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        _fail("is not what an answer had")


def _call_to_json(plan: Plan) -> StateCallJson:
    question = plan.question
    sources = {name: argument.sources[0] for name, argument in plan.arguments.items() if argument.sources}
    return {
        "tool": plan.tool,
        "arguments": plan.args,
        "sources": {
            name: {"item": source.item, "field": source.field}
            for name, source in sources.items()
            if source.kind == "item" and source.item and source.field
        },
        "decision": plan.decision,
        "missing": {missing.argument: missing.question for missing in plan.missing},
        "question": question.text if question else "",
        "argument": question.argument if question else None,
        "options": [
            {"label": option.label, "call": _call_to_json(option.plan)}
            for option in (question.options if question else ())
        ],
    }


def _call_from_json(data: Mapping[str, Any], *, is_option: bool = False) -> Plan:
    tool = _text(data["tool"])
    sources = {
        name: (Source("item", _text(source["item"]), _text(source["field"])),)
        for name, source in dict(data.get("sources") or {}).items()
    }
    arguments = {
        _text(name): Argument(value, sources.get(name, ())) for name, value in dict(data["arguments"]).items()
    }
    missing = tuple(
        Missing(_text(name), _text(text)) for name, text in dict(data.get("missing") or {}).items()
    )
    options = () if is_option else tuple(data.get("options") or ())[:_MAX_OPTIONS]
    text, argument = _text(data.get("question") or ""), data.get("argument")
    question = Question(
        text,
        tuple(
            Option(_text(each["label"]), _call_from_json(each["call"], is_option=True)) for each in options
        ),
        None if argument is None else _text(argument),
    )
    decision = data.get("decision")
    return Plan(
        tool,
        arguments,
        missing=missing,
        decision=None if decision is None else _DECISIONS[decision],
        question=question if text else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _fail(why: str) -> NoReturn:
    raise InvalidRequestError(f"the state {why}: pass back the `state` of the last answer unchanged")

"""Plans as JSON, the same in the HTTP service, the inspector and `contextune ask --json`."""

from datetime import tzinfo
from typing import Any

from typing_extensions import TypedDict

from contextune.plan.multi_step.steps import Steps, json_args
from contextune.types import Answer, Argument, Decision, Plan, Question, user_time


class SourceJson(TypedDict):
    """Where an argument value comes from."""

    kind: str
    item: str | None
    field: str | None
    words: str


class ArgumentJson(TypedDict):
    """One argument of a call: value, sources and probability of being right."""

    value: Any
    sources: list[SourceJson]
    confidence: float


class MissingJson(TypedDict):
    """A missing argument and the question to ask the user for it."""

    argument: str
    question: str


class OptionJson(TypedDict):
    """One answer to a question: a label, and the call it leads to with its probability."""

    label: str
    tool: str
    arguments: dict[str, Any]
    confidence: float


class QuestionJson(TypedDict):
    """What to say to the user; `argument` is what is asked for, null for the whole call."""

    text: str
    argument: str | None
    options: list[OptionJson]


class PlanJson(TypedDict):
    """The call to make: `tool` is the tool's id, `name` its name. It has not been made.

    `decision` is act, confirm, ask or none; `ready` means act. Otherwise `question` is what to tell the user.
    """

    name: str
    tool: str
    arguments: dict[str, ArgumentJson]
    confidence: float
    missing: list[MissingJson]
    decision: Decision | None
    question: QuestionJson | None
    ready: bool


def plan_to_json(plan: Plan) -> PlanJson:
    """A plan with the source of every value; the result of an earlier step is `{"$step": …}`."""
    values = json_args(plan)
    return {
        "name": plan.name,
        "tool": plan.tool,
        "arguments": {name: _argument(argument, values[name]) for name, argument in plan.arguments.items()},
        "confidence": float(plan.confidence),
        "missing": [{"argument": missing.argument, "question": missing.question} for missing in plan.missing],
        "decision": plan.decision,
        "question": question_to_json(plan.question) if plan.question else None,
        "ready": plan.ready,
    }


def question_to_json(question: Question) -> QuestionJson:
    """A question with its options as calls."""
    return {
        "text": question.text,
        "argument": question.argument,
        "options": [
            {
                "label": option.label,
                "tool": option.plan.tool,
                "arguments": json_args(option.plan),
                "confidence": float(option.plan.confidence),
            }
            for option in question.options
        ],
    }


def answer_to_json(answer: Answer, steps: Steps | None, zone: tzinfo | None) -> dict[str, Any]:
    """An answer; `plans` has a call, or one for each step, and `decision` is that on all of them."""
    return {
        "decision": steps.decision if steps else "none",
        "confidence": float(steps.confidence) if steps else None,
        "fits": None if answer.fits is None else float(answer.fits),
        "plans": [plan_to_json(plan) for plan in steps] if steps else [],
        "context": [
            {
                "id": hit.item.id,
                "app": hit.item.app,
                "title": hit.item.title,
                "time": user_time(hit.item.time, zone).isoformat() if hit.item.time else None,
                "score": float(hit.score),
                "reasons": list(hit.reasons),
            }
            for hit in answer.context
        ],
        "tools": [hit.tool.id for hit in answer.tools],
        "words_only": answer.words_only,
    }


def _argument(argument: Argument, value: Any) -> ArgumentJson:
    return {
        "value": value,
        "sources": [
            {"kind": source.kind, "item": source.item, "field": source.field, "words": source.words}
            for source in argument.sources
        ],
        "confidence": float(argument.confidence),
    }

"""`ExtractedAnswer`: sentences of stored items, with the items they are from."""

from dataclasses import dataclass, replace
from datetime import datetime

from typing_extensions import TypedDict

from contextune.plan import Steps
from contextune.types import Answer, Item, TurnState, User, user_time


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """The item that a sentence is from."""

    item: str
    """The id of the item."""
    app: str
    kind: str
    """What a person calls such an item: event, email, note."""
    title: str
    time: datetime | None = None
    """The time of the item, in the zone of the user."""

    @classmethod
    def of(cls, item: Item, user: User) -> "AnswerSource":
        """The source for an item."""
        time = user_time(item.time, user.zone) if item.time else None
        return cls(item.id, item.app, item.schema.noun, item.label, time)


@dataclass(frozen=True, slots=True)
class Correction:
    """What a later item says about the same."""

    text: str
    source: AnswerSource


@dataclass(frozen=True, slots=True)
class ExtractedAnswer:
    """What stored items say to a question, in their own words; nothing is composed beyond times and names."""

    text: str
    """The sentence, or the time, place and people of an item; of a list, a line for each entry."""
    source: AnswerSource
    """The item that it is from; of a list, the first."""
    others: tuple[AnswerSource, ...] = ()
    """Of a list, the items behind the first."""
    covers: str = ""
    """Of a list, what it covers: "3 of 12 phone calls"."""
    correction: Correction | None = None
    """What a later mail or message says, if it disagrees."""

    @property
    def items(self) -> tuple[str, ...]:
        """The ids of the items that it is from, in the order of their lines."""
        return (self.source.item, *(other.item for other in self.others))


class AnswerSourceJson(TypedDict):
    """The item that an answer is from, with its time in the user's zone."""

    item: str
    app: str
    kind: str
    title: str
    time: str | None


class CorrectionJson(TypedDict):
    """What a later item says about the same."""

    text: str
    source: AnswerSourceJson


class ExtractedAnswerJson(TypedDict):
    """What stored items say to a question, and where; `covers` says which part of a list is shown."""

    text: str
    source: AnswerSourceJson
    others: list[AnswerSourceJson]
    covers: str
    correction: CorrectionJson | None


def state_shown(answer: Answer, steps: Steps | None, extracted: ExtractedAnswer | None) -> TurnState:
    """What the next request may refer to, where an answer is shown with its steps and what the items say.

    A question about several steps as one call is not shown, so that it cannot be answered.
    """
    state = answer.state.showing(extracted.items) if extracted else answer.state
    if steps is None or len(steps) < 2:
        return state
    before = answer.request.state
    return replace(state, pending=before.pending if before else None)


def answer_json(answer: ExtractedAnswer) -> ExtractedAnswerJson:
    """The answer as JSON."""
    correction = answer.correction
    return {
        "text": answer.text,
        "source": _source_json(answer.source),
        "others": [_source_json(source) for source in answer.others],
        "covers": answer.covers,
        "correction": correction and {"text": correction.text, "source": _source_json(correction.source)},
    }


def _source_json(source: AnswerSource) -> AnswerSourceJson:
    return {
        "item": source.item,
        "app": source.app,
        "kind": source.kind,
        "title": source.title,
        "time": source.time.isoformat() if source.time else None,
    }

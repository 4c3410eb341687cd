"""Reasons to doubt the call for a question: it shows another item, or one without what is asked for."""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.orders.tool_kinds import starts_with
from contextune.plan.calls.used_data import used_ids, used_items
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.asked_item import (
    ATTRIBUTES,
    READ_APPS,
    asked_fact,
    asked_item,
    question_words,
    shares_word,
)
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.people.call_questions import names_unknown_caller
from contextune.plan.pointer.people.named_people import (
    asked_speaker,
    is_missed_call,
    said_topic,
)
from contextune.plan.pointer.people.senders import sender_of
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.argument_words import SENDERS
from contextune.plan.policy.cost import call_cost, singular
from contextune.plan.schema import tool_parameters
from contextune.search.tokenize import identifier_words
from contextune.types import Plan, Tool

_MIN_TELLING = 2
"""Telling words of a question from which on the item that answers it has one of them."""

_VOICE = re.compile(
    r"\b(?:voice|voicemail|message|machine|record(?:ing|ed)|play|listen|hear|beep)\b", re.IGNORECASE
)

_FROM = re.compile(
    r"\b(?:(?:e-?)?mails?|messages?|anything|something) from (?P<who>(?:my|the|our) \w+|[A-Z]\w+)"
)

_PLAYBACK = frozenset(["skip", "pause", "resume", "stop"])
_ASKS = re.compile(
    rf"{OPENING}(?:what|who|when|where|which|how (?:much|many|long))(?:['’]?s|['’]re)?\b", re.IGNORECASE
)
_OWN_FACT = re.compile(
    rf"{OPENING}what(?:['’]?s| is| was| are) (?:my|our|the) (?:[^\W\d_]+ )(?P<head>[^\W\d_]+)[\s.!?]*$",
    re.IGNORECASE,
)


def plays_no_message(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It plays a voice message of somebody who has not called in vain, or wrote a mail."""
    if "voicemail" not in identifier_words(tool.name) or _VOICE.search(inputs.request.text):
        return False
    person = next((n for v in plan.args.values() if (n := inputs.people.index(v)) is not None), None)
    if person is None:
        return False
    items = [hit.item for hit in inputs.hits]
    has_written = asked_speaker(inputs) == person and any(
        inputs.people.index(sender_of(item)) == person for item in items
    )
    return has_written or not any(is_missed_call(item, person, inputs) for item in items)


def reads_something_else(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It shows an item with no telling word of the question, where others have some or a fact is asked."""
    topic = frozenset(folded_words(said_topic(inputs.request.text))) - STOP_WORDS
    words = tuple(topic) or question_words(inputs.request.text)
    if (len(words) < _MIN_TELLING and not topic) or call_cost(tool) != "read" or tool.app not in READ_APPS:
        return False
    chosen = used_ids(plan)
    named = [item.id for item in inputs.items if shares_word(item, words, inputs)]
    is_named = bool(named or topic) or asked_fact(inputs.request.text) is not None
    return bool(chosen) and is_named and chosen.isdisjoint(named)


def reads_one_of_several(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It shows one of the events ahead that a question names equally well: "When is my flight?"."""
    asked = asked_item(inputs)
    return asked is not None and asked.is_one_of_several and tool.app == asked.app and bool(plan.arguments)


def lacks_the_fact(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It shows an item without a word for what is asked: a blood report says no blood group."""
    match = _OWN_FACT.match(inputs.request.text)
    if match is None or call_cost(tool) != "read" or tool.app not in READ_APPS:
        return False
    head = folded_words(match["head"])[-1:]
    if not head or singular(head[0]) in ATTRIBUTES or item_app(singular(head[0])):
        return False
    items = used_items(plan, inputs)
    return bool(items) and not any(shares_word(item, head, inputs) for item in items)


def acts_on_playback(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:  # noqa: ARG001  # as all doubts
    """It skips or stops what is playing, where the request asks something: "What's next?"."""
    return starts_with(tool, _PLAYBACK) and _ASKS.match(inputs.request.text) is not None


def lists_calls_of_another(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It lists the calls of a contact, where the request asks for somebody who is none."""
    return tool.app == "PhoneCall" and bool(plan.arguments) and names_unknown_caller(inputs)


def ignores_the_sender(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It lists messages of anybody, where the request says from whom."""
    if plan.arguments or not any(SENDERS.intersection(p.words) for p in tool_parameters(tool)):
        return False
    match = _FROM.search(inputs.request.text)
    return match is not None and not any(
        phrase.first < match.end("who") and match.start("who") < phrase.last for phrase in inputs.time_phrases
    )

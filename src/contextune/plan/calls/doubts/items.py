"""Reasons to doubt a call because of its item: one with no word of what the request or the talk is about."""

import re
from datetime import date

from contextune.context.history import day_of_history
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.antecedents import points_back
from contextune.plan.calls.used_data import used_items
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.spelling import respelled
from contextune.plan.pointer.values.named_lists import said_list
from contextune.plan.policy.cost import call_cost
from contextune.plan.schema import tool_parameters
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Plan, Tool, local_time

_ABOUT = re.compile(
    r"\b(?:the|my|that|our) (?P<noun>[a-z-]+) (?:about|regarding|concerning|to|for) (?P<topic>[^,;:.!?]+)",
    re.IGNORECASE,
)
DELETING = frozenset(["delete", "cancel", "remove", "trash", "erase"])


def deletes_something_else(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It deletes an item with no word of its topic: "Delete the reminder about the sunscreen"."""
    match = _ABOUT.search(inputs.request.text)
    if match is None or not item_app(match["noun"]) or DELETING.isdisjoint(identifier_words(tool.name)):
        return False
    topic = frozenset(folded_words(match["topic"])) - STOP_WORDS
    texts = [frozenset(folded_words(item.text)) for item in used_items(plan, inputs)]
    is_said = any(word in text or respelled(word, text) in text for text in texts for word in topic)
    is_time = any(
        phrase.first < match.end("topic") and match.start("topic") < phrase.last
        for phrase in inputs.time_phrases
    )
    return bool(topic and texts) and not is_time and not is_said


def leaves_the_topic(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It changes an item for "it" of which the last turns say no word, or one of several of their day."""
    request = inputs.request
    items = used_items(plan, inputs)
    if not request.history or not items or call_cost(tool) == "read" or not points_back(request.text):
        return False
    turns = " ".join(turn.text for turn in request.history[-2:])
    words = frozenset(folded_words(turns)) - STOP_WORDS
    if any(words.intersection(folded_words(item.title)) for item in items):
        return False
    day = day_of_history(request, inputs.now)
    if day is None:
        return True
    days = {start.date() for start, _ in day.readings}
    return len({item.title for item in inputs.items if _start_day(item, inputs) in days}) != 1


def _start_day(item: Item, inputs: PlanningInput) -> date | None:
    start = item.times.get("start")
    return local_time(start, inputs.user.zone).date() if start else None


def guesses_the_list(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It shows a list that no reminder is on, or another one than is said: "my garden to-do list"."""
    if not any(parameter.words == ("list",) for parameter in tool_parameters(tool)):
        return False
    argument = plan.arguments.get("list")
    if said_list(inputs) is None:
        return False
    return argument is None or all(source.kind == "said" for source in argument.sources)

"""The list of reminders that a request names: "my garden to-do list"."""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.spans import TextSpan
from contextune.plan.values import normalize_text
from contextune.search import tokenize
from contextune.types import Source

_LIST = re.compile(
    r"\b(?:my|the|our) (?P<name>[^\W_][\w'’&-]*(?: [^\W_][\w'’&-]*){0,2}?)"
    r"(?: (?:to[- ]?dos?|tasks?|reminders?))? list\b",
    re.IGNORECASE,
)
_KINDS = frozenset(
    tokenize("to do todo dos todos task tasks reminder reminders whole full entire open latest")
)


def said_list(inputs: PlanningInput) -> TextSpan | None:
    """The name of a list; none in "my to-do list"."""
    match = _LIST.search(inputs.request.text)
    if match is None or not (STOP_WORDS | _KINDS).isdisjoint(tokenize(match["name"])):
        return None
    return TextSpan(*match.span("name"), match["name"], "name", "list")


def named_list(inputs: PlanningInput) -> list[Candidate]:
    """The list that is said, in its stored spelling if a reminder is on such a list."""
    span = said_list(inputs)
    if span is None:
        return []
    for number, item in enumerate(inputs.items):
        name = str(item.fields.get("list") or "")
        if name and normalize_text(name) == normalize_text(span.text):
            source = Source("item", item.id, "list", span.text)
            return [Candidate(name, f"{item.app}.list", (source,), number, "list", span)]
    return [Candidate(span.text, "said name", (Source("said", words=span.text),), span=span)]

"""Reasons to doubt whom a call reaches: one person, where the request joins several."""

import re
from itertools import pairwise
from typing import NamedTuple

from contextune.plan.calls.used_data import reached_people
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.late_arrivals import says_late
from contextune.plan.pointer.text.direct_speech import is_person
from contextune.plan.policy.cost import call_cost
from contextune.search import tokenize
from contextune.types import Plan, Tool

_JOINT = re.compile(r",? (?:and|&|plus|or) |, ")
_ROLE = re.compile(r"\b(?:my|our|the) (?P<role>[^\W\d_]+)", re.IGNORECASE)
_STRANGER = re.compile(
    r",? (?:and|&|plus) (?!I\b)[^\W\d_a-z][^\W\d_]+(?! (?:is|are|was|were|will|has|have)\b)"
)
"""Somebody unknown beside a contact: "Email Ana and Zebulon"."""

_OWNED = re.compile(r"['’]s? (?P<who>[^\W\d_]+)")


class _Person(NamedTuple):
    """Where a request names or describes somebody, and which contacts that may be."""

    start: int
    end: int
    contacts: frozenset[int]


def reaches_one_of_several(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It reaches one of the people whom the request joins: "Email Ana and Bo that …"."""
    if call_cost(tool) != "send":
        return False
    reached = reached_people(plan, inputs)
    people, text = _people(inputs), inputs.request.text
    if any(
        person.contacts & reached
        and _STRANGER.match(text, person.end)
        and not _is_named_after(person, people)
        for person in people
    ):
        return True
    return any(
        _JOINT.fullmatch(text, first.end, second.start)
        and (first.contacts | second.contacts) & reached
        and not first.contacts & second.contacts  # "my sister, Ana, …" is one
        for first, second in pairwise(people)
    )


def guesses_who_waits(_: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It reaches somebody, where the request only says that the user will be late."""
    return call_cost(tool) == "send" and says_late(inputs.request.text)


def reaches_the_owner(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It reaches somebody of whom the request names a relation: "Tell Ana's manager that …"."""
    if call_cost(tool) != "send":
        return False
    reached = reached_people(plan, inputs)
    owners = [inputs.names[number] for number in reached if inputs.names[number].possessive]
    following = (_OWNED.match(inputs.request.text, match.end) for match in owners)
    return any(match is not None and is_person(match["who"]) for match in following)


def _is_named_after(person: _Person, people: list[_Person]) -> bool:
    """Whether the next name is a contact's, too: then the pair tells."""
    return any(other.start > person.end for other in people)


def _people(inputs: PlanningInput) -> list[_Person]:
    """The people of the request in order; the longest of overlapping names."""
    text = inputs.request.text
    named = [(match.start, match.end, n) for n, match in enumerate(inputs.names) if match.words]
    for match in _ROLE.finditer(text):
        counts = inputs.people.count_relation_matches(tokenize(match["role"]))
        named += [(*match.span(), number) for number, count in enumerate(counts) if count]
    people: list[_Person] = []
    for start, end in sorted({(start, end) for start, end, _ in named}, key=lambda r: (r[0], -r[1])):
        if not people or start >= people[-1].end:
            contacts = frozenset(n for first, last, n in named if (first, last) == (start, end))
            people.append(_Person(start, end, contacts))
    return people

"""The orders that a request consists of: values of one do not reach into the next.

"Play Hello by Adele and turn the lights off" are two orders, whether or not a tool serves the second one.
"""

from typing import cast

from contextune.plan.multi_step.split import split_request
from contextune.plan.planning_input import PlanningInput

_KEPT = "clauses"


def clause_ranges(inputs: PlanningInput) -> list[tuple[int, int]]:
    """The ranges of characters of the orders; of a simple request there is one."""
    if _KEPT not in inputs.kept:
        inputs.kept[_KEPT] = _find_ranges(inputs)
    return cast("list[tuple[int, int]]", inputs.kept[_KEPT])


def _find_ranges(inputs: PlanningInput) -> list[tuple[int, int]]:
    text = inputs.request.text
    names = [item.title for item in inputs.items] + [contact.name for contact in inputs.user.contacts]
    ranges: list[tuple[int, int]] = []
    for part in split_request(text, names=names):
        start = text.index(part, ranges[-1][1] if ranges else 0)
        ranges.append((start, start + len(part)))
    return ranges


def clauses(inputs: PlanningInput) -> list[str]:
    """The orders."""
    return [inputs.request.text[start:end] for start, end in clause_ranges(inputs)]


def crosses_clauses(start: int, end: int, inputs: PlanningInput) -> bool:
    """Whether a range of the request belongs to more than one order."""
    ranges = clause_ranges(inputs)
    return len(ranges) > 1 and sum(first < end and start < last for first, last in ranges) > 1

"""What the user said about the call for the same request before: "wrong", "it was the other one".

Feedback on items reorders what is found. Planners also read items that are ranked behind the first, so an
item that was wrong is kept from them, and a call that was wrong as a whole is not proposed again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextune.context.history import depends_on_history
from contextune.plan.policy import Readings
from contextune.search import tokenize
from contextune.search.request_text import canonical_request
from contextune.types import ContextHits, Feedback, ItemHit, Plan, Request

_WRONG = -0.5
"""Judgement from which on an item is not planned with; feedback on the same request gives at most -1."""


def without_rejected(hits: Sequence[ItemHit], judged: Mapping[str, float]) -> Sequence[ItemHit]:
    """The hits without the items that were wrong for this request; `judged` is by id."""
    wrong = {item for item, value in judged.items() if value <= _WRONG}
    if not wrong:
        return hits
    kept = [hit for hit in hits if hit.item.id not in wrong]
    if not isinstance(hits, ContextHits):
        return kept
    return ContextHits(kept, words_only=hits.words_only)


def wrong_tools(request: Request, feedback: Sequence[Feedback]) -> frozenset[str]:
    """The tools that were wrong when the same was asked; what was said last of a tool counts."""
    if depends_on_history(request):
        return frozenset()
    words = _words(request)
    verdicts = {
        entry.tool: entry.ok
        for entry in feedback
        if entry.tool and not entry.request.history and _words(entry.request) == words
    }
    return frozenset(tool for tool, ok in verdicts.items() if not ok)


def _words(request: Request) -> frozenset[str]:
    return frozenset(tokenize(canonical_request(request.text)))


def without_wrong_calls(readings: Readings, tools: frozenset[str]) -> Readings:
    """The readings without calls of these tools over no item: they would be the same calls again.

    A call of such a tool over another item stays, since the item was rejected with it.
    """
    if not tools:
        return readings
    return replace(readings, plans=tuple(plan for plan in readings.plans if not _is_again(plan, tools)))


def _is_again(plan: Plan, tools: frozenset[str]) -> bool:
    has_item = any(source.item for argument in plan.arguments.values() for source in argument.sources)
    return plan.tool in tools and not has_item

"""Items that a request names by words of their titles, though others are ranked before them.

Rankers that learnt from hints put the appointment of the moment before "the MOT", and a planner reads few
items. Of each application, the best-ranked item is added whose title has more of the said words than those
that are read.
"""

from collections.abc import Sequence
from dataclasses import replace

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.asked_item import question_words
from contextune.plan.pointer.items.item_words import is_inflection
from contextune.plan.pointer.items.references import described_items, said_object
from contextune.plan.pointer.request_words import folded_vocabulary, time_words
from contextune.types import ContextHits, ItemHit


def with_named_hits(inputs: PlanningInput, context: Sequence[ItemHit]) -> PlanningInput:
    """The input with those of its context and behind it that the request names better than what it reads."""
    words = _object_words(inputs)
    if not words:
        return inputs
    read = {item.id for item in inputs.items}
    most: dict[str, int] = {}
    for item in inputs.items:
        most[item.app] = max(most.get(item.app, 0), _count(words, item.title))
    named: dict[str, ItemHit] = {}
    further = context.further if isinstance(context, ContextHits) else ()
    for hit in (*context, *further):
        if hit.item.id in read:
            continue
        app, count = hit.item.app, _count(words, hit.item.title)
        if count > most.get(app, 0):
            most[app], named[app] = count, hit
    return replace(inputs, named_hits=tuple(named.values())) if named else inputs


def _object_words(inputs: PlanningInput) -> frozenset[str]:
    """The words for what an order or a question is about."""
    text = inputs.request.text
    words = said_object(text)[0].union(question_words(text))
    words = words.union(*(described for _, described in described_items(inputs)))
    return words - time_words(inputs)


def _count(words: frozenset[str], title: str) -> int:
    """How many of the words a title has, in any form."""
    own = folded_vocabulary(title)
    return sum(word in own or any(is_inflection(word, other) for other in own) for word in words)

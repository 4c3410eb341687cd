"""Rows of items: a request beside its best candidates, and beside those that it needs."""

from random import Random

from contextune.context.enriched.habits import habit_phrases
from contextune.context.index import UserState
from contextune.reading.texts import item_text
from contextune.types import Item, local_time
from contextune_lab.train.reading.rows import ListRow, RowRequest

_CANDIDATES, _PERSONA_CANDIDATES = 16, 9
_PERSONA_SHARE = 0.75
"""Share of the personas' requests that make a row; there are many."""
_NOTHING_SHARE = 0.5
"""Share of the requests without a needed item that make a row."""


def item_row(request: RowRequest, state: UserState, draw: Random, *, is_persona: bool) -> ListRow | None:
    """The row of a request; None if it has fewer than two candidates, or was not drawn."""
    labels = request.labels
    count = _PERSONA_CANDIDATES if is_persona else _CANDIDATES
    items = {item.id: item for item in request.best[:count]}
    items |= {item: request.by_id[item] for item in sorted(labels.needs) + sorted(labels.helps)}
    if len(items) < 2 or not (labels.needs or draw.random() < _NOTHING_SHARE):
        return None
    if is_persona and draw.random() >= _PERSONA_SHARE:
        return None
    texts = [_text(request, state, item) for item in items.values()]
    return ListRow(labels.id, request.source, request.text, texts, [labels.grade(item) for item in items])


def _text(request: RowRequest, state: UserState, item: Item) -> str:
    """An item with the habits that the user had by then."""
    user, now = request.user, request.now
    uses = [use for use in state.enriched.uses_of(item.id) if local_time(use.time, user.zone) < now]
    habits = habit_phrases(item, user, uses) if uses else ()
    return item_text(item, now, user, request.names, request.words, habits)

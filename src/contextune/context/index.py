"""UserIndex: one user's items with tokens, vectors and columns, updated incrementally."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from contextune.context.enriched.items import EnrichedItems
from contextune.context.mentions import MentionIndex
from contextune.context.searched_text import searched_text
from contextune.context.signals import ItemColumns
from contextune.context.signals.row_list import RowNumbers, as_row_list
from contextune.context.signals.row_mapping import RowMapping
from contextune.embed import Matrix
from contextune.search import LexicalIndex, tokenize
from contextune.store import StoreRevision
from contextune.types import Item, User, local_time

_FEW = 256
"""So many changed items are added to a lexical index; for more, a new one is built."""
Value = TypeVar("Value")


_FOLLOWS_H = 0.5
"""An item within so many hours after another may continue it, as messages of a conversation do."""


class _lazy_property(Generic[Value]):  # noqa: N801  # used as a decorator
    """`functools.cached_property` without its lock, which in Python 3.11 is shared by all instances."""

    def __init__(self, compute: "Callable[[UserIndex], Value]") -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, index: "UserIndex", owner: type["UserIndex"]) -> Value:
        value = vars(index)[self._compute.__name__] = self._compute(index)
        return value


class UserIndex:
    """A user's items, one row each; tokens, vectors and columns are computed on first use."""

    def __init__(
        self,
        user: User,
        items: list[Item],
        embed: Callable[[Sequence[str]], Matrix],
        *,
        previous: "UserIndex | None" = None,
    ) -> None:
        """`previous` is the index before a change; what it computed for unchanged items is reused."""
        self.user = user
        # sorted: an application is a slice, and items that a request cannot see do not affect the order
        self.items: Sequence[Item] = sorted(items, key=_order)
        self._embed = embed
        if previous:
            self._reuse(previous, self._compare(previous))
        else:
            self._created = self._creation_times(self.items)

    def updated(
        self, items: Sequence[Item], deleted: Collection[str]
    ) -> "tuple[UserIndex, RowMapping | None]":
        """The index after items were written and others deleted, with the mapping of its rows.

        The same index and None if that changes nothing.
        """
        row_by_id = self.row_by_id
        written = [
            item for item in items if item.id not in row_by_id or self.items[row_by_id[item.id]] != item
        ]
        removed = {row_by_id[name] for name in (*deleted, *(i.id for i in written)) if name in row_by_id}
        kept_again = [item for item in items if item.id in deleted and item.id in row_by_id]
        added = sorted({item.id: item for item in (*written, *kept_again)}.values(), key=_order)
        if not removed and not added:
            return self, None
        positions = [bisect_left(self.items, _order(item), key=_order) for item in added]
        mapping = RowMapping.from_edits(len(self.items), sorted(removed), positions)
        index = UserIndex.__new__(UserIndex)
        index.user, index._embed = self.user, self._embed
        index.items = as_row_list(self.items).moved(mapping, added)
        index._reuse(self, mapping)
        return index, mapping

    @classmethod
    def restored(
        cls, user: User, embed: Callable[[Sequence[str]], Matrix], parts: Mapping[str, object]
    ) -> "UserIndex":
        """An index of which everything in `parts` is known: attributes by name, and `_created`."""
        index = cls.__new__(cls)
        index.user, index._embed = user, embed
        vars(index).update(parts)
        return index

    @property
    def created(self) -> NDArray[np.datetime64]:
        """When each item was created, on the user's wall clock; not a time if unknown."""
        return self._created

    @_lazy_property
    def texts(self) -> Sequence[str]:
        """The text of each item."""
        return [searched_text(item) for item in self.items]

    @_lazy_property
    def tokens(self) -> Sequence[list[str]]:
        """The tokens of each item."""
        # interned: most words occur in many items
        interned: dict[str, str] = {}
        return [[interned.setdefault(word, word) for word in tokenize(text)] for text in self.texts]

    @_lazy_property
    def vectors(self) -> Matrix:
        """One row per item."""
        return self._embed(self.texts)

    @_lazy_property
    def item_columns(self) -> ItemColumns:
        """Times, places and people as columns, for the features."""
        return ItemColumns(self.user, self.items, self.tokens, self.row_by_id)

    @_lazy_property
    def preceding(self) -> NDArray[np.int64]:
        """For each row, that of the item created right before it in the same application; -1 if long ago."""
        columns = self.item_columns
        made = columns.times["made"]
        order = np.lexsort((made, columns.app))
        before, after = order[:-1], order[1:]
        with np.errstate(invalid="ignore"):
            follows = (columns.app[before] == columns.app[after]) & (made[after] - made[before] <= _FOLLOWS_H)
        rows = np.full(len(order), -1, np.int64)
        rows[after[follows]] = before[follows]
        return rows

    @_lazy_property
    def ids(self) -> Sequence[str]:
        """The id of each item."""
        return [item.id for item in self.items]

    @_lazy_property
    def row_by_id(self) -> RowNumbers:
        """The row of each item."""
        return RowNumbers(self.ids)

    @_lazy_property
    def apps(self) -> Mapping[str, slice]:
        """The rows of each application."""
        parts: dict[str, slice] = {}
        start = 0
        while start < len(self.items):
            app = self.items[start].app
            stop = bisect_right(self.items, app, start, key=lambda item: item.app)
            parts[app] = slice(start, stop)
            start = stop
        return parts

    @_lazy_property
    def lexical(self) -> Mapping[str, LexicalIndex]:
        """A lexical index per application."""
        return {app: LexicalIndex(self.tokens[part]) for app, part in self.apps.items()}

    @_lazy_property
    def store_lexical(self) -> LexicalIndex:
        """A lexical index of all items as one collection, whose scores are comparable across applications."""
        return LexicalIndex(self.tokens)

    @_lazy_property
    def people(self) -> Sequence[tuple[str, ...]]:
        """The names, addresses and numbers of the people in each item."""
        return [item.people for item in self.items]

    @_lazy_property
    def mentions(self) -> MentionIndex:
        """Rows by names of people and by titles, for candidates of large stores."""
        return MentionIndex(self.people, self.item_columns.title_words)

    def lexical_scores(self, query: Sequence[str], visible: NDArray[np.bool_]) -> NDArray[np.float64]:
        """BM25T score of each item; each application is its own collection, of its visible items."""
        scores = np.zeros(len(self.items))
        for app, part in self.apps.items():
            scores[part] = self.lexical[app].scores(query, visible=visible[part])
        return scores

    def visible(self, time: datetime) -> NDArray[np.bool_]:
        """Whether each item existed at this time; items without a creation time always do."""
        now = np.datetime64(local_time(time, self.user.zone), "us")
        return np.isnat(self._created) | (self._created <= now)

    def _creation_times(self, items: Sequence[Item]) -> NDArray[np.datetime64]:
        """Creation times on the user's wall clock."""
        times = [local_time(made, self.user.zone) if (made := item.made) else None for item in items]
        return np.array(times, dtype="datetime64[us]")

    def _compare(self, previous: "UserIndex") -> RowMapping:
        """Find the rows of equal items, and keep the previous objects."""
        previous_items = previous.items
        # for each item its row in `previous`, or -1 if it is new or changed
        previous_rows = [
            row if (row := previous.row_by_id.get(item.id, -1)) >= 0 and previous_items[row] == item else -1
            for item in self.items
        ]
        # keep the identical objects, which makes later comparisons cheap
        self.items = [
            item if row < 0 else previous_items[row]
            for item, row in zip(self.items, previous_rows, strict=True)
        ]
        return RowMapping.from_previous_rows(previous_rows)

    def _reuse(self, previous: "UserIndex", mapping: RowMapping) -> None:
        """Fill in what `previous` has computed; only changed items are computed again."""
        computed, own = vars(previous), vars(self)
        changed = [self.items[row] for row in mapping.changed]
        if previous.user.zone == self.user.zone:
            self._created = mapping.merge(previous._created, self._creation_times(changed))
        else:
            self._created = self._creation_times(self.items)
        if "row_by_id" in computed:
            own["row_by_id"] = previous.row_by_id.moved(mapping, [item.id for item in changed])
        if "ids" in computed:
            own["ids"] = as_row_list(previous.ids).moved(mapping, [item.id for item in changed])
        if "texts" in computed:
            own["texts"] = as_row_list(previous.texts).moved(
                mapping, [searched_text(item) for item in changed]
            )
        if "tokens" in computed:
            tokens = [tokenize(self.texts[row]) for row in mapping.changed]
            own["tokens"] = as_row_list(previous.tokens).moved(mapping, tokens)
        if "people" in computed:
            own["people"] = as_row_list(previous.people).moved(mapping, [item.people for item in changed])
        if "vectors" in computed and len(previous.vectors):
            vectors = previous.vectors[mapping.previous_rows]
            if changed:
                vectors[mapping.changed] = self._embed([self.texts[row] for row in mapping.changed])
            own["vectors"] = vectors
        if "lexical" in computed:
            own["lexical"] = {app: self._updated_lexical(previous, mapping, app) for app in self.apps}
        if "store_lexical" in computed and len(changed) <= _FEW:
            own["store_lexical"] = previous.store_lexical.updated(
                mapping.source, [self.tokens[row] for row in mapping.changed]
            )
        if "item_columns" in computed and previous.user == self.user:
            own["item_columns"] = previous.item_columns.updated(
                self.items, self.tokens, self.row_by_id, mapping
            )
            mentions = computed.get("mentions")
            if mentions and (
                updated := mentions.updated(mapping, self.people, self.item_columns.title_words)
            ):
                own["mentions"] = updated

    def _updated_lexical(self, previous: "UserIndex", mapping: RowMapping, app: str) -> LexicalIndex:
        """The lexical index of an application after a change."""
        part, before = self.apps[app], previous.apps.get(app)
        if before is None:
            return LexicalIndex(self.tokens[part])
        if mapping.keeps(part, before):
            return previous.lexical[app]
        own = mapping.part(part, before.start)
        if len(own.changed) > _FEW:
            return LexicalIndex(self.tokens[part])
        start: int = part.start
        changed = [self.tokens[start + row] for row in own.changed]
        return previous.lexical[app].updated(own.source, changed)


def _order(item: Item) -> tuple[str, str]:
    return item.app, item.id


@dataclass(frozen=True, slots=True)
class UserState:
    """A user's items and usage at one revision of the store."""

    revision: StoreRevision
    index: UserIndex
    enriched: EnrichedItems
    changes: int = 0
    """Number of entries that changed since the state was first computed or read from a snapshot."""
    erased: int = 0
    """`changes` when the store last erased the snapshots of the user."""

"""Rows that the reading model is trained on, and their files."""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from contextune.context.build_scene import resolve_place
from contextune.rank import Ranker
from contextune.reading.texts import Names, brief_item_text, request_text
from contextune.search import tokenize
from contextune.types import Item, Request, User, local_time
from contextune_lab.train.reading.scenes import RankedRequest
from contextune_lab.train.reading.sources import RequestSource, SourceRequest

Kind = Literal["item", "tool", "call"]
KINDS: tuple[Kind, ...] = ("item", "tool", "call")
_BEST = 24
"""Candidates of a request that rows may take, best first."""
_BRIEF_ITEMS = 3


@dataclass(frozen=True)
class ListRow:
    """A request beside items or tools with their grades; the first text of a tool row is "no tool"."""

    id: str
    source: str
    """What it is from: a world, `persona`, or a public set."""
    request: str
    texts: Sequence[str]
    grades: Sequence[int]


@dataclass(frozen=True)
class ArgumentRow:
    """An argument as text, the values that its type admits, and those that are right."""

    text: str
    values: Sequence[int]
    gold: Sequence[int] | None
    """Columns as in `CallReading.scores`: not given, a span, then the values. None: unknown."""
    span: tuple[int, int] | None = None
    """The right span of the request, as characters."""


@dataclass(frozen=True)
class CallTrainingRow:
    """A request beside a tool with its arguments and their candidate values."""

    id: str
    source: str
    request: str
    tool: str
    fits: bool
    """Whether the tool serves the request."""
    arguments: Sequence[ArgumentRow]
    values: Sequence[str]


@dataclass
class TrainingRows:
    """Rows by kind."""

    items: list[ListRow] = field(default_factory=list[ListRow])
    tools: list[ListRow] = field(default_factory=list[ListRow])
    calls: list[CallTrainingRow] = field(default_factory=list[CallTrainingRow])

    def save(self, folder: Path) -> None:
        """Write one file for each kind."""
        folder.mkdir(parents=True, exist_ok=True)
        for kind, rows in zip(KINDS, (self.items, self.tools, self.calls), strict=True):
            with gzip.open(folder / f"{kind}.jsonl.gz", "wt", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows)

    @classmethod
    def load(cls, folders: Iterable[Path]) -> "TrainingRows":
        """The rows of several folders together."""
        rows = cls()
        for folder in folders:
            rows.items += [ListRow(**row) for row in _read(folder / "item.jsonl.gz")]
            rows.tools += [ListRow(**row) for row in _read(folder / "tool.jsonl.gz")]
            rows.calls += [_call_row(row) for row in _read(folder / "call.jsonl.gz")]
        return rows


def _read(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _call_row(row: Mapping[str, Any]) -> CallTrainingRow:
    arguments = [
        ArgumentRow(**{**each, "span": tuple(each["span"]) if each["span"] else None})
        for each in row["arguments"]
    ]
    return CallTrainingRow(**{**row, "arguments": arguments})


@dataclass(frozen=True, eq=False)
class RowRequest:
    """A request with what rows of all kinds are made of: its text, its best items, people and words."""

    source: str
    labels: SourceRequest
    user: User
    best: Sequence[Item]
    """Candidates, best first."""
    by_id: Mapping[str, Item]
    """The best candidates, and all that are needed or help."""

    @classmethod
    def build(cls, source: RequestSource, ranked: RankedRequest, wide: Ranker | None) -> "RowRequest":
        """From the ranked candidates; `wide` has not seen the request."""
        items = ranked.ranked.scene.items
        best = [items[number] for number in ranked.order(wide)[1][:_BEST].tolist()]
        index, labels = ranked.state.index, ranked.labels
        wanted = [index.items[index.row_by_id[item]] for item in sorted(labels.needs | labels.helps)]
        name = "persona" if source.is_persona else source.name
        return cls(name, labels, ranked.user, best, {item.id: item for item in (*best, *wanted)})

    @property
    def request(self) -> Request:
        """The request, completed from its conversation."""
        return self.labels.request

    @cached_property
    def now(self) -> datetime:
        """The minute of the request on the user's clock."""
        return local_time(self.request.time, self.user.zone).replace(second=0, microsecond=0)

    @cached_property
    def names(self) -> Names:
        """What people are called."""
        return Names(self.user)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the request."""
        return frozenset(tokenize(self.request.text))

    @cached_property
    def text(self) -> str:
        """The request as the model reads it beside an item."""
        return request_text(self.request, self.now, resolve_place(self.request, self.user))

    def text_with_items(self, count: int = _BRIEF_ITEMS) -> str:
        """The request with its first items, as the model reads it beside a tool."""
        texts = (brief_item_text(item, self.now, self.user, self.names) for item in self.best[:count])
        return self.text + "".join(f" || {number} {text}" for number, text in enumerate(texts, 1))

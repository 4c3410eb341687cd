"""Build the rows of worlds and personas.

    python -m contextune_lab.train.reading.build_rows OUT --worlds FOLDER --wide FOLDER [--personas]

`OUT` gets `item.jsonl.gz`, `tool.jsonl.gz` and `call.jsonl.gz`. `--wide` is the folder of the first rankers
by fold (`first_ranker`), so that the items come in an order that was not trained on the request.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from contextune.context.enriched.habits import habit_phrases
from contextune.context.index import UserState
from contextune.context.reading import WIDE_FEATURES
from contextune.datasets import bundled_personas, training_personas
from contextune.embed import Embedder
from contextune.rank import Ranker
from contextune.reading.texts import item_text
from contextune.types import Item, local_time
from contextune_lab.train.reading.manifest import READING_WORLDS
from contextune_lab.train.reading.processes import for_each
from contextune_lab.train.reading.rows import ListRow, RowRequest, TrainingRows
from contextune_lab.train.reading.rows_calls import CallRows
from contextune_lab.train.reading.rows_tools import ToolRows
from contextune_lab.train.reading.scenes import ranked_requests
from contextune_lab.train.reading.sources import RequestSource, open_persona, open_worlds

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


class RowBuilder:
    """Collects the rows of requests of stores."""

    def __init__(self, seed: int | str = 7, embedder: Embedder | None = None) -> None:
        self.rows = TrainingRows()
        self._draw = Random(seed)  # noqa: S311  # repeatable, not secret
        self._embedder = embedder
        self._tools = ToolRows(self._draw, embedder)
        self._calls = CallRows(self._draw)

    def add(self, source: RequestSource, wide: Ranker | None = None) -> None:
        """Add the rows of all requests of a source; `wide` orders the candidates and has not seen them."""
        for ranked in ranked_requests(source, self._embedder):
            request = RowRequest.build(source, ranked, wide)
            if row := item_row(request, ranked.state, self._draw, is_persona=source.is_persona):
                self.rows.items.append(row)
            if source.is_persona and not request.labels.calls:
                continue
            for variant in self._tools.variants(source, request):
                tools, others = self._tools.row(request, variant)
                self.rows.tools.append(tools)
                self.rows.calls += self._calls.rows(request, variant, others)


def wide_file(folder: Path, fold: int | None = None) -> Path:
    """The file of the first ranker that has not seen a fold; by default, of the one that has seen all."""
    return folder / ("wide.json.gz" if fold is None else f"wide-{fold}.json.gz")


def wide_ranker(folder: Path | None, fold: int) -> Ranker | None:
    """The first ranker that has not seen a fold; None without a folder."""
    return Ranker.load(wide_file(folder, fold), WIDE_FEATURES) if folder else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the rows from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--worlds", type=Path, help="the folder of the worlds; light worlds are bundled")
    parser.add_argument(
        "--wide", type=Path, help="the first rankers by fold; by default, the bundled ranking"
    )
    parser.add_argument("--names", default=",".join(READING_WORLDS), help="worlds, separated by commas")
    parser.add_argument("--personas", action="store_true", help="also of all personas")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    names = [*filter(None, options.names.split(","))]
    if options.personas:
        names += [persona.id for persona in (*bundled_personas(), *training_personas())]
    read = for_each(partial(_rows, options.worlds, options.wide), names, processes=options.processes)
    joined = TrainingRows()
    for rows in read.values():
        joined.items.extend(rows.items)
        joined.tools.extend(rows.tools)
        joined.calls.extend(rows.calls)
    joined.save(options.out)


def _rows(worlds: Path | None, wide: Path | None, name: str) -> TrainingRows:
    """The rows of a world or a persona."""
    builder = RowBuilder(name)
    for persona in (*bundled_personas(), *training_personas()):
        if persona.id == name:
            with open_persona(persona) as source:
                builder.add(source, wide_ranker(wide, source.fold))
            return builder.rows
    for source in open_worlds([name], worlds):
        builder.add(source, wide_ranker(wide, source.fold))
    return builder.rows


if __name__ == "__main__":
    main()

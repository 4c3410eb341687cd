"""Training set of the reader, as one JSON file for a machine with a GPU.

    python -m contextune_lab.train.reader.data DATA.json --cache FOLDER

The rows are the requests of the call ranker, with the items that models found which have not seen the
persona, and the pairs. `FOLDER` is the cache of `contextune train calls`.
"""

import json
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from contextune.datasets import Pair, bundled_pairs, training_pairs
from contextune.embed import default_embedder
from contextune.plan.reader.text import SEPARATOR, item_part, reader_parts
from contextune.tools import bundled_toolbox
from contextune.types import Progress
from contextune_lab.train.embedder.fold_vectors import bundled_folds
from contextune_lab.train.rankers.calls.data import CallDataBuilder
from contextune_lab.train.rankers.calls.requests import FULL, REMOVED, CallRequest
from contextune_lab.train.reader.rows import EXPLICIT, IMPLICIT, PAIR, ReaderData, ReaderRow

_APP_SEPARATOR = " — "
"""Texts of pairs start with the application."""


def training_set(requests: Iterable[CallRequest], pairs: Sequence[Pair]) -> ReaderData:
    """Rows of all requests and pairs; not of the copies without tools, whose text is the same."""
    rows = [_request_row(request) for request in requests if request.source != REMOVED]
    return {
        "separator": SEPARATOR,
        "tools": sorted(tool.name for tool in bundled_toolbox()),
        "rows": [*rows, *map(_pair_row, pairs)],
    }


def _request_row(request: CallRequest) -> ReaderRow:
    inputs = request.inputs
    text, moment, *items = reader_parts(inputs.request, [hit.item for hit in inputs.hits], inputs.user.zone)
    group = EXPLICIT if request.kind == EXPLICIT else IMPLICIT
    return {
        "name": request.name,
        "fold": request.fold,
        "group": group if request.source == FULL else request.source,
        "text": text,
        "moment": moment,
        "items": items,
        "tool": request.tool,
    }


def _pair_row(pair: Pair) -> ReaderRow:
    items = [
        item_part(item.app, item.text.split(_APP_SEPARATOR, 1)[-1]) for item in (*pair.items, pair.distractor)
    ]
    return {
        "name": f"pair/{pair.id}",
        "fold": None,
        "group": PAIR,
        "text": pair.query,
        "moment": "",
        "items": items,
        "tool": pair.api,
    }


@contextmanager
def _show_stage(stage: str) -> Generator[Progress]:
    typer.echo(stage)
    yield _ignore


def _ignore(_done: int, _total: int) -> None:
    """Progress within a stage is not shown."""


def main(
    out: Annotated[Path, typer.Argument(help="JSON file to write.")],
    cache: Annotated[Path, typer.Option(help="Cache folder of `contextune train calls`.")],
    personas: Annotated[
        int | None, typer.Option(min=1, help="Only this many personas of each fold, to try it out.")
    ] = None,
) -> None:
    """Write the training set of the reader."""
    pairs = [*bundled_pairs(), *training_pairs()]
    catalogue = {tool.name: tool for tool in bundled_toolbox()}
    builder = CallDataBuilder(
        bundled_folds(), default_embedder(), catalogue, pairs, cache, _show_stage, personas
    )
    data = training_set((filled.request for filled in builder.build().filled), pairs)
    out.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
    typer.echo(f"{out}: {len(data['rows'])} rows")


if __name__ == "__main__":
    typer.run(main)

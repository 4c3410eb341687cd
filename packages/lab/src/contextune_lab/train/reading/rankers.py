"""Train the rankers after the reading model: of items, of tools, of values, and of whole calls.

    python -m contextune_lab.train.reading.rankers MODEL WIDE OUT --worlds FOLDER

`MODEL` is the folder of the reading model, `WIDE` that of the first rankers. The worlds are ones that the
reading model has not seen. Each stage is trained on what rankers without the world made of the stage before;
the figures that are printed are of held-out worlds, too. `OUT` gets `reading_ranker`, `reading_tools` and
`reading_calls` with the rankers of all worlds, and in `held_out/WORLD` those without a world, which
`contextune bench worlds --held-out OUT/held_out` measures. With `--rows`, what was
read is kept there, and a run that was cut off goes on.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import argparse
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from contextune.context.reading import CLOSE_FEATURES
from contextune.datasets import bundled_personas, training_personas
from contextune.plan.arguments.value_features import VALUE_FEATURES
from contextune.plan.reading_planner import CALL_FEATURES
from contextune.rank import CandidateGroup, Ranker, RankerSettings
from contextune.reading.model import ReadingModel
from contextune.tools.reading import FIT_FEATURES, TOOL_FEATURES, ToolReadingRankers
from contextune_lab.train.reading.build_rows import wide_file, wide_ranker
from contextune_lab.train.reading.manifest import RANKER_WORLDS, write_manifests
from contextune_lab.train.reading.processes import for_each
from contextune_lab.train.reading.read_sources import (
    ItemRankers,
    ReadCallRow,
    ReadItemRow,
    ReadToolRow,
    SourceReader,
    read_source_items,
)
from contextune_lab.train.reading.rows_values import ValueRow
from contextune_lab.train.reading.sources import fold_of, open_persona, open_worlds
from contextune_lab.worlds.held_out import CALLS as CALLS_FOLDER
from contextune_lab.worlds.held_out import RANKERS
from contextune_lab.worlds.held_out import TOOLS as TOOLS_FOLDER
from contextune_lab.worlds.splits import leave_one_out

_Row = TypeVar("_Row")
_Model = TypeVar("_Model")
_PERSONA_REQUESTS = 420
_NEEDED = 2
CLOSE = RankerSettings(rounds=140, rate=0.06, leaves=8, smallest_leaf=40, feature_share=0.5, truncation=8)
NEEDED = RankerSettings(
    rounds=110, rate=0.06, seeds=1, leaves=8, smallest_leaf=60, feature_share=0.5, objective="binary"
)
TOOLS = RankerSettings(rounds=150, rate=0.06, leaves=8, smallest_leaf=30, feature_share=0.6, truncation=6)
FITS = RankerSettings(
    rounds=120, rate=0.06, seeds=1, leaves=6, smallest_leaf=30, feature_share=0.7, objective="binary"
)
VALUES = RankerSettings(
    rounds=300, rate=0.08, seeds=1, leaves=31, smallest_leaf=30, feature_share=0.4, objective="binary"
)
CALLS = RankerSettings(
    rounds=140, rate=0.05, leaves=10, smallest_leaf=40, feature_share=0.5, objective="binary"
)


def fit_items(rows: Sequence[ReadItemRow]) -> ItemRankers:
    """The rankers of items."""
    ranked = [
        CandidateGroup(row.matrix, row.grades)
        for row in rows
        if (row.grades == _NEEDED).any() and not (row.grades == _NEEDED).all()
    ]
    single = [
        CandidateGroup(row.matrix, (row.grades == _NEEDED).astype(np.int64)) for row in rows if row.items
    ]
    return ItemRankers(Ranker.fit(ranked, CLOSE_FEATURES, CLOSE), Ranker.fit(single, CLOSE_FEATURES, NEEDED))


def fit_tools(rows: Sequence[ReadToolRow]) -> ToolReadingRankers:
    """The rankers of tools."""
    ranked = [CandidateGroup(row.read.matrix, row.grades) for row in rows if row.grades.any()]
    features = np.vstack([row.read.fit for row in rows])
    served = np.array([int(bool(row.right)) for row in rows], np.int64)
    return ToolReadingRankers(
        Ranker.fit(ranked, TOOL_FEATURES, TOOLS),
        Ranker.fit([CandidateGroup(features, served)], FIT_FEATURES, FITS),
    )


def fit_values(rows: Sequence[ValueRow]) -> Ranker:
    """The ranker of values."""
    return Ranker.fit([CandidateGroup(row.matrix, row.right) for row in rows], VALUE_FEATURES, VALUES)


def fit_calls(rows: Sequence[ReadCallRow]) -> Ranker:
    """The ranker of calls."""
    groups = [CandidateGroup(row.features, row.right) for row in rows if len(row.right)]
    return Ranker.fit(groups, CALL_FEATURES, CALLS)


def fit_held_out(
    rows: Mapping[str, Sequence[_Row]], fit: Callable[[Sequence[_Row]], _Model], more: Sequence[_Row] = ()
) -> dict[str, _Model]:
    """For each world, a model of all others and of `more`."""
    return {
        world: fit([*(row for other in others for row in rows[other]), *more])
        for world, others in leave_one_out(rows)
    }


@dataclass(frozen=True)
class RankerTraining:
    """The inputs of the training of all rankers."""

    model: Path
    """The folder of the reading model."""
    wide: Path
    worlds: Path
    names: Sequence[str] = RANKER_WORLDS
    processes: int = 1
    rows: Path | None = None
    """Where rows are kept."""

    def read_items(self) -> dict[str, list[ReadItemRow]]:
        """The items of each world."""
        return self._each("items", partial(_read_items, self))

    def read_personas(self, count: int = _PERSONA_REQUESTS, seed: int = 9) -> list[ReadItemRow]:
        """The items of some personas' own requests."""
        personas = [*bundled_personas(), *training_personas()]
        names: list[str] = []
        for number in np.random.default_rng(seed).permutation(len(personas)).tolist():
            names.append(personas[number].id)
            count -= len(personas[number].queries)
            if count <= 0:
                break
        read = for_each(
            partial(_read_persona, self), names, processes=self.processes, keep=self.rows, stage="items"
        )
        return [row for rows in read.values() for row in rows]

    def read_tools(
        self, items: Mapping[str, Sequence[ReadItemRow]], rankers: Mapping[str, ItemRankers]
    ) -> dict[str, list[ReadToolRow]]:
        """The tools of each world."""
        return self._each("tools", partial(_read_tools, self, items, rankers))

    def read_values(
        self, items: Mapping[str, Sequence[ReadItemRow]], rankers: Mapping[str, ItemRankers]
    ) -> dict[str, list[ValueRow]]:
        """The values of the right calls of each world."""
        return self._each("values", partial(_read_values, self, items, rankers))

    def read_calls(
        self,
        items: Mapping[str, Sequence[ReadItemRow]],
        item_rankers: Mapping[str, ItemRankers],
        tools: Mapping[str, Sequence[ReadToolRow]],
        tool_rankers: Mapping[str, ToolReadingRankers],
        value_rankers: Mapping[str, Ranker],
    ) -> dict[str, list[ReadCallRow]]:
        """The calls of each world."""
        return self._each(
            "calls", partial(_read_calls, self, items, item_rankers, tools, tool_rankers, value_rankers)
        )

    def _each(self, stage: str, read: Callable[[str], list[_Row]]) -> dict[str, list[_Row]]:
        return for_each(read, self.names, processes=self.processes, keep=self.rows, stage=stage)

    def load_model(self) -> ReadingModel:
        """The reading model, with one thread: the processes share the cores."""
        return ReadingModel(self.model, threads=1)

    def wide_ranker(self, fold: int) -> Ranker:
        """The first ranker that has not seen a fold."""
        ranker = wide_ranker(self.wide, fold)
        assert ranker is not None  # noqa: S101  # a folder was given
        return ranker


def _read_items(training: RankerTraining, name: str) -> list[ReadItemRow]:
    [rows] = [
        list(read_source_items(source, training.wide_ranker(source.fold), training.load_model()))
        for source in open_worlds([name], training.worlds)
    ]
    return rows


def _read_persona(training: RankerTraining, name: str) -> list[ReadItemRow]:
    [persona] = [each for each in (*bundled_personas(), *training_personas()) if each.id == name]
    with open_persona(persona) as source:
        own = [request for request in source.requests if "/own/" in request.id]
        kept = replace(source, requests=own)
        return list(read_source_items(kept, training.wide_ranker(source.fold), training.load_model()))


def _read_tools(
    training: RankerTraining,
    items: Mapping[str, Sequence[ReadItemRow]],
    rankers: Mapping[str, ItemRankers],
    name: str,
) -> list[ReadToolRow]:
    [rows] = [
        list(SourceReader(source, rankers[name], training.load_model()).tools(items[name]))
        for source in open_worlds([name], training.worlds)
    ]
    return rows


def _read_values(
    training: RankerTraining,
    items: Mapping[str, Sequence[ReadItemRow]],
    rankers: Mapping[str, ItemRankers],
    name: str,
) -> list[ValueRow]:
    [rows] = [
        list(SourceReader(source, rankers[name], training.load_model()).values(items[name]))
        for source in open_worlds([name], training.worlds)
    ]
    return rows


def _read_calls(
    training: RankerTraining,
    items: Mapping[str, Sequence[ReadItemRow]],
    item_rankers: Mapping[str, ItemRankers],
    tools: Mapping[str, Sequence[ReadToolRow]],
    tool_rankers: Mapping[str, ToolReadingRankers],
    value_rankers: Mapping[str, Ranker],
    name: str,
) -> list[ReadCallRow]:
    [rows] = [
        list(
            SourceReader(source, item_rankers[name], training.load_model()).calls(
                items[name], tools[name], tool_rankers[name], value_rankers[name]
            )
        )
        for source in open_worlds([name], training.worlds)
    ]
    return rows


def item_recall(rows: Sequence[ReadItemRow], rankers: ItemRankers, depth: int) -> float:
    """Recall of needed items among the first `depth`; items that were not read count as missed."""
    shares: list[float] = []
    for row in rows:
        if row.needed:
            first = np.argsort(-rankers.close.score(row.matrix), kind="stable")[:depth]
            shares.append(float((row.grades[first] == _NEEDED).sum()) / min(depth, row.needed))
    return float(np.mean(shares)) if shares else float("nan")


def tool_accuracy(rows: Sequence[ReadToolRow], rankers: ToolReadingRankers) -> float:
    """Share of the served requests whose first tool is right."""
    right = [
        bool(row.grades[int(np.argmax(rankers.tools.score(row.read.matrix)))])
        for row in rows
        if row.right and row.read.hits
    ]
    return float(np.mean(right)) if right else float("nan")


def value_accuracy(rows: Sequence[ValueRow], ranker: Ranker) -> float:
    """Share of the arguments of right calls whose likeliest value is right."""
    scores = np.split(
        ranker.score(np.vstack([row.matrix for row in rows])), np.cumsum([len(row.right) for row in rows])
    )
    right = [row.right[int(np.argmax(part))] for row, part in zip(rows, scores, strict=False)]
    return float(np.mean(right)) if right else float("nan")


def call_accuracy(rows: Sequence[ReadCallRow], ranker: Ranker) -> float:
    """Share of the requests with filled calls whose likeliest one is right."""
    right = [int(row.right[int(np.argmax(ranker.score(row.features)))]) for row in rows if len(row.right)]
    return float(np.mean(right)) if right else float("nan")


def train_rankers(training: RankerTraining, out: Path, report: Callable[[str], None] = print) -> None:
    """Run all stages, and write the rankers."""
    items, personas = training.read_items(), training.read_personas()
    item_rankers = fit_held_out(items, fit_items, personas)
    _report(report, "items, recall@3", items, item_rankers, lambda rows, each: item_recall(rows, each, 3))
    tools = training.read_tools(items, item_rankers)
    tool_rankers = fit_held_out(tools, fit_tools)
    _report(report, "tools, first right", tools, tool_rankers, tool_accuracy)
    values = training.read_values(items, item_rankers)
    value_rankers = fit_held_out(values, fit_values)
    _report(report, "values, right", values, value_rankers, value_accuracy)
    calls = training.read_calls(items, item_rankers, tools, tool_rankers, value_rankers)
    call_rankers = fit_held_out(calls, fit_calls)
    _report(report, "calls, first right", calls, call_rankers, call_accuracy)
    for world in training.names:
        without = TrainedRankers(
            item_rankers[world], tool_rankers[world], value_rankers[world], call_rankers[world]
        )
        without.save(out / "held_out" / world, wide_file(training.wide, fold_of(world)))
    final = TrainedRankers(
        fit_items([*(row for rows in items.values() for row in rows), *personas]),
        fit_tools([row for rows in tools.values() for row in rows]),
        fit_values([row for rows in values.values() for row in rows]),
        fit_calls([row for rows in calls.values() for row in rows]),
    )
    final.save(out, wide_file(training.wide))
    write_manifests(out)


@dataclass(frozen=True)
class TrainedRankers:
    """All rankers after the reading model."""

    items: ItemRankers
    tools: ToolReadingRankers
    values: Ranker
    calls: Ranker

    def save(self, folder: Path, wide: Path) -> None:
        """Write them, and a copy of the ranker before the reading model, as they are in the package."""
        _save(folder / RANKERS, {"close": self.items.close, "needed": self.items.needed})
        shutil.copyfile(wide, folder / RANKERS / "wide.json.gz")
        _save(folder / TOOLS_FOLDER, {"tools": self.tools.tools, "fits": self.tools.fits})
        _save(folder / CALLS_FOLDER, {"right": self.calls, "values": self.values})


def _report(
    report: Callable[[str], None],
    what: str,
    rows: Mapping[str, Sequence[_Row]],
    models: Mapping[str, _Model],
    measure: Callable[[Sequence[_Row], _Model], float],
) -> None:
    """Print a figure for each held-out world."""
    shown = ", ".join(f"{world} {100 * measure(rows[world], models[world]):.1f}" for world in rows)
    report(f"{what}: {shown}")


def _save(folder: Path, rankers: Mapping[str, Ranker]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, ranker in rankers.items():
        ranker.save(folder / f"{name}.json.gz")


def main(arguments: Sequence[str] | None = None) -> None:
    """Train from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("wide", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--worlds", type=Path, required=True, help="the folder of the worlds")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="a folder to keep rows in")
    options = parser.parse_args(arguments)
    training = RankerTraining(
        options.model, options.wide, options.worlds, processes=options.processes, rows=options.rows
    )
    train_rankers(training, options.out)


if __name__ == "__main__":
    main()

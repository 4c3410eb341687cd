"""Rows of values: the options of each argument of a right call, and which of them are right.

They train the ranker of values after the reading model.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.context.build_scene import resolve_place
from contextune.embed import Embedder
from contextune.evaluate.outcomes import Judge
from contextune.evaluate.requests import WorldCall
from contextune.plan.arguments.leaves import Leaf
from contextune.plan.arguments.options import ValueOption, listed_parts
from contextune.plan.arguments.reader import ReadArguments, read_arguments
from contextune.plan.arguments.value_features import ValueScene
from contextune.plan.planning_input import PlanningInput
from contextune.reading.model import ReadingModel
from contextune.reading.texts import request_text
from contextune.types import Tool
from contextune_lab.train.reading.rows_calls import leaf_argument
from contextune_lab.train.reading.sources import SourceRequest

_CALLS = 2
"""Right tools of a request that make rows."""


@dataclass(frozen=True, eq=False)
class ValueRow:
    """The options of one argument: features, and whether each is right."""

    id: str
    matrix: NDArray[np.float32]
    right: NDArray[np.int64]


def value_rows(
    labels: SourceRequest,
    inputs: PlanningInput,
    tools: Mapping[str, Tool],
    model: ReadingModel,
    judge: Judge,
    embedder: Embedder,
) -> Iterator[ValueRow]:
    """The rows of a request; the tools are those of the catalogue by id."""
    right = list(dict.fromkeys(call.tool for call in labels.calls if call.tool in tools))[:_CALLS]
    if not right:
        return
    scene = ValueScene(inputs, embedder)
    text = request_text(inputs.request, inputs.now, resolve_place(inputs.request, inputs.user))
    for read in read_arguments(model, inputs, text, [tools[name] for name in right]):
        calls = [call for call in labels.calls if call.tool == read.tool.id]
        yield from _rows(labels, read, scene, calls, judge)


def _rows(
    labels: SourceRequest, read: ReadArguments, scene: ValueScene, calls: Sequence[WorldCall], judge: Judge
) -> Iterator[ValueRow]:
    for number, leaf in enumerate(read.leaves):
        options = read.options[number]
        right = [int(_is_right(option, leaf, calls, judge, labels.free)) for option in options]
        if len(options) > 1:
            yield ValueRow(f"{labels.id}/{leaf.name}", read.matrix(scene, number), np.array(right, np.int64))


def _is_right(
    option: ValueOption, leaf: Leaf, calls: Sequence[WorldCall], judge: Judge, free: frozenset[str]
) -> bool:
    name = leaf.path[-1]
    for call in calls:
        want: Any = leaf_argument(call.args, leaf)
        if want is None or not option.is_given:
            if want is None and not option.is_given:
                return True
            continue
        wanted = cast("list[Any]", want) if isinstance(want, list) else [want]
        if leaf.is_list and option.span is not None:
            if judge.same_value(name, listed_parts(str(option.value)), wanted, frozenset()):
                return True
            continue
        if any(judge.same_value(name, option.value, each, free) for each in wanted):
            return True
    return False

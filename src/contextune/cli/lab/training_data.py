"""What planners are learnt from and measured on."""

from dataclasses import dataclass
from pathlib import Path

from contextune.cli import output
from contextune.datasets import bundled_pairs, training_pairs
from contextune.errors import ContextuneError
from contextune.lab.bench.quality import plans as bench
from contextune.lab.train.embedder.fold_vectors import FoldVectors, bundled_folds
from contextune.lab.train.rankers.argument_examples import PlannedRequest, from_personas, fused
from contextune.lab.train.rankers.argument_times import time_examples
from contextune.lab.train.rankers.arguments import ArgumentTrainingData
from contextune.lab.train.rankers.context import FeaturedExamples
from contextune.lab.train.rankers.context_examples import from_folds
from contextune.lab.train.rankers.tool_examples import (
    ToolExample,
    found_scores,
    people_examples,
    public_examples,
    without_context,
)
from contextune.lab.train.rankers.tool_examples import from_personas as tool_examples
from contextune.lab.train.rankers.tools import by_fold, shown
from contextune.tools import bundled_toolbox
from contextune.types import Tool


def tool_data(public: Path | None, vectors: Path | None) -> tuple[list[ToolExample], list[ToolExample]]:
    """Requests of the personas in the package, and those of public catalogues, if a folder is named."""
    if (public is None) != (vectors is None):
        raise ContextuneError("--public and --vectors go together: texts, and what embedders made of them")
    # read first: a folder that is not there is told before minutes of work
    others = public_examples(public, vectors) if public and vectors else []
    with output.progress("Context of personas") as update:
        return people_examples(bundled_folds(), progress=update), others


@dataclass(frozen=True, eq=False)
class PlanData:
    """Requests with what was found for them by what had not seen them, and all there is to learn from."""

    requests: list[PlannedRequest]
    tools: dict[str, Tool]
    tool_examples: list[ToolExample]
    lessons: ArgumentTrainingData


def plan_data(folds: FoldVectors) -> PlanData:
    """From the personas in the package and their vectors, from pairs, and from made requests about times."""
    examples = from_folds(folds)
    measured = FeaturedExamples.of(examples)
    with output.progress("Context of personas") as update:
        scores = found_scores(measured, progress=update)
    requests = from_personas(folds, examples, fused(measured, scores))
    tools = {tool.name: tool for tool in bundled_toolbox()}
    made = list(time_examples(folds.everybody, folds.fold, tools))
    with output.progress("Arguments") as update:
        lessons = ArgumentTrainingData.of(
            requests, made, [*bundled_pairs(), *training_pairs()], tools, progress=update
        )
    return PlanData(requests, tools, tool_examples(folds, examples, scores), lessons)


def chosen_tools(data: PlanData) -> dict[str, bench.Choose]:
    """For the rows that search for tools, who ranks them: what has not seen the request."""
    people = data.tool_examples
    with output.progress("Rankers of tools") as update:
        rankers = by_fold(shown([*people, *map(without_context, people)]), progress=update)
    return {
        bench.NOTHING: bench.said_tools(people, data.tools),
        bench.RAG: bench.ranked_tools(people, rankers, data.tools, context=False),
        bench.TUNED: bench.ranked_tools(people, rankers, data.tools, context=True),
    }

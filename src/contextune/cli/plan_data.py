"""What planners are learnt from and measured on."""

from dataclasses import dataclass

from contextune.bench import plan as bench
from contextune.cli import show
from contextune.sources import bundled_pairs, training_pairs
from contextune.tools import bundled_toolbox
from contextune.train.examples import from_folds
from contextune.train.fold_vectors import FoldVectors
from contextune.train.plan import Lessons
from contextune.train.plan_examples import Asked, from_personas, fused
from contextune.train.plan_times import time_examples
from contextune.train.ranker import Measured
from contextune.train.tool_examples import ToolExample, found_scores, without_context
from contextune.train.tool_examples import from_personas as tool_examples
from contextune.train.tools import by_fold, shown
from contextune.types import Tool


@dataclass(frozen=True, eq=False)
class PlanData:
    """Requests with what was found for them by what had not seen them, and all there is to learn from."""

    requests: list[Asked]
    tools: dict[str, Tool]
    tool_examples: list[ToolExample]
    lessons: Lessons


def plan_data(folds: FoldVectors) -> PlanData:
    """From the personas in the package and their vectors, from pairs, and from made requests about times."""
    examples = from_folds(folds)
    measured = Measured.of(examples)
    with show.progress("Context of personas") as update:
        scores = found_scores(measured, progress=update)
    requests = from_personas(folds, examples, fused(measured, scores))
    tools = {tool.name: tool for tool in bundled_toolbox()}
    made = list(time_examples(folds.everybody, folds.fold, tools))
    with show.progress("Arguments") as update:
        lessons = Lessons.of(requests, made, [*bundled_pairs(), *training_pairs()], tools, progress=update)
    return PlanData(requests, tools, tool_examples(folds, examples, scores), lessons)


def chosen_tools(data: PlanData) -> dict[str, bench.Choose]:
    """For the rows that search for tools, who ranks them: what has not seen the request."""
    people = data.tool_examples
    with show.progress("Rankers of tools") as update:
        rankers = by_fold(shown([*people, *map(without_context, people)]), progress=update)
    return {
        bench.NOTHING: bench.said_tools(people, data.tools),
        bench.RAG: bench.ranked_tools(people, rankers, data.tools, context=False),
        bench.TUNED: bench.ranked_tools(people, rankers, data.tools, context=True),
    }

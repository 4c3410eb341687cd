"""Load the training data of rankers and planners, with progress bars."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from contextune.cli import output
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.datasets import (
    bundled_personas,
    training_personas,
    training_requests,
)
from contextune.embed import Embedder, default_embedder
from contextune.errors import ContextuneError
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import Tool
from contextune_lab.bench.quality.plan import persona_plans as bench
from contextune_lab.public_data.context_sets import ContextSet
from contextune_lab.train.embedder.fold_vectors import FoldVectors, PersonaVectors, bundled_folds
from contextune_lab.train.planned_requests import (
    PlannedRequest,
    from_personas,
    fuse_out_of_fold,
)
from contextune_lab.train.rankers.context.embedded_personas import EmbeddedPersonas, TextVectors
from contextune_lab.train.rankers.context.examples import ContextExample, from_folds
from contextune_lab.train.rankers.context.mixture import (
    bundled_classifier,
    mixture_examples,
    training_request_examples,
    training_sets,
)
from contextune_lab.train.rankers.context.train import FeaturedExamples
from contextune_lab.train.rankers.tools.examples import (
    ToolExample,
    out_of_fold_context_scores,
    persona_examples,
    public_examples,
    untrained_examples,
    without_context,
)
from contextune_lab.train.rankers.tools.examples import from_personas as tool_examples
from contextune_lab.train.rankers.tools.train import fit_by_fold, with_features


def ranker_data(
    embedder: Embedder | None, public: Path | None = None, *, quick: bool = False, cache: Path | None = None
) -> tuple[list[ContextExample], RequestClassifier]:
    """Training examples of the context ranker, and the request classifier of its embedder.

    The bundled embedder was trained on the personas, so its vectors are those of the folds. Any other one
    embeds the texts here; `cache` is a file for their vectors.
    """
    # read first, so that a missing folder is reported before minutes of work
    sets = training_sets(public) if public else []
    if embedder is None:
        return _examples(bundled_folds(), default_embedder(), bundled_classifier(), sets, quick=quick), (
            bundled_classifier()
        )
    with SQLiteStore(cache) if cache else nullcontext() as store:
        texts = TextVectors(embedder, store)
        vectors = EmbeddedPersonas(
            bundled_personas(), training_personas(), texts, {} if quick else training_requests()
        )
        with output.progress("Embedding") as update:
            vectors.embed_all(update)
        return _examples(vectors, texts, vectors.classifier, sets, quick=quick), vectors.classifier


def _examples(
    vectors: PersonaVectors,
    embedder: Embedder,
    classifier: RequestClassifier,
    sets: Sequence[ContextSet],
    *,
    quick: bool,
) -> list[ContextExample]:
    with output.progress("Reading personas") as update:
        if quick:
            return from_folds(vectors, progress=update)
        return mixture_examples(vectors, sets, embedder=embedder, classifier=classifier, progress=update)


def tool_data(public: Path | None, vectors: Path | None) -> tuple[list[ToolExample], list[ToolExample]]:
    """Training examples from the bundled personas, and from public catalogues if a folder is given.

    Catalogues that no embedder is trained on need no vectors: they are embedded here.
    """
    if (public is None) != (vectors is None):
        raise ContextuneError(
            "--public and --vectors go together: the catalogues, and the vectors of their texts"
        )
    # read first, so that a missing folder is reported before minutes of work
    others = public_examples(public, vectors) if public and vectors else []
    if public:
        others += untrained_examples(public, default_embedder())
    with output.progress("Context of personas") as update:
        return persona_examples(bundled_folds(), progress=update), others


@dataclass(frozen=True, eq=False)
class PlanData:
    """Requests with out-of-fold context, and the examples that rank their tools."""

    requests: list[PlannedRequest]
    tools: dict[str, Tool]
    tool_examples: list[ToolExample]


def plan_data(folds: FoldVectors) -> PlanData:
    """The requests of the bundled personas, with context and tools of models that have not seen them."""
    examples = [*from_folds(folds), *training_request_examples(folds, with_items_only=False)]
    measured = FeaturedExamples.build(examples)
    with output.progress("Context of personas") as update:
        scores = out_of_fold_context_scores(measured, progress=update)
    fused = fuse_out_of_fold(measured, scores)
    requests = from_personas(folds, examples, fused)
    tools = {tool.name: tool for tool in bundled_toolbox()}
    return PlanData(requests, tools, tool_examples(folds, examples, scores))


def chosen_tools(data: PlanData, budget: int = 0) -> dict[str, bench.ToolChooser]:
    """How each row of the plan benchmark chooses tools; rankers are out of fold.

    With a `budget`, the row `BUDGET` chooses that many, as `TUNED` does.
    """
    people = data.tool_examples
    with output.progress("Tool rankers") as update:
        rankers = fit_by_fold(with_features([*people, *map(without_context, people)]), progress=update)
    choosers = {
        bench.NO_RETRIEVAL: bench.keyword_tools(people, data.tools),
        bench.RAG: bench.ranked_tools(people, rankers, data.tools, context=False),
        bench.TUNED: bench.ranked_tools(people, rankers, data.tools, context=True),
    }
    if budget:
        choosers[bench.BUDGET] = bench.ranked_tools(people, rankers, data.tools, context=True, k=budget)
    return choosers

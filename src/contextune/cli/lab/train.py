"""Commands that learn."""

import json
from pathlib import Path
from typing import Annotated

import typer

from contextune._internal.assets import asset
from contextune.cli import output
from contextune.cli.lab.training_data import chosen_tools, plan_data, tool_data
from contextune.context.ranker import ContextRanker, default_ranker
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.datasets import bundled_personas, training_personas
from contextune.embed import (
    Embedder,
    EndpointEmbedder,
    SentenceTransformersEmbedder,
    default_embedder,
)
from contextune.errors import ContextuneError
from contextune.lab.bench.quality import plans as plan_bench
from contextune.lab.train.embedder.fold_vectors import bundled_folds
from contextune.lab.train.llm import plan_lessons as lessons
from contextune.lab.train.rankers import arguments as plan_recipe
from contextune.lab.train.rankers import context as recipe
from contextune.lab.train.rankers import from_feedback as fed_back
from contextune.lab.train.rankers import tools as tool_recipe
from contextune.lab.train.rankers.context_examples import ContextExample, from_embedder, from_folds

app = typer.Typer(help="Learn from data.", no_args_is_help=True)


@app.command()
def ranker(
    out: Annotated[Path, typer.Option(help="Folder to write the ranker to.")],
    sentence_transformers: Annotated[
        str | None,
        typer.Option(help="Train for this sentence-transformers model instead of the one shipped."),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Train for a model behind this OpenAI-compatible URL; needs --model.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The endpoint's model.")] = None,
    from_store: Annotated[
        Path | None,
        typer.Option(help="Go on from the ranker in the package with the feedback in this store."),
    ] = None,
    user: Annotated[
        list[str] | None, typer.Option(help="With --from-store: this user only; may be repeated.")
    ] = None,
) -> None:
    """Train the ranker of context on the personas in the package, or go on with a store's feedback."""
    embedder = _embedder(sentence_transformers, endpoint, model)
    made = _continued(from_store, user, embedder) if from_store else _trained(embedder)
    made.save(out)
    output.out.print(
        f"Written to {out}: Tuner(store, ranker=ContextRanker.load(Path({str(out)!r})))", markup=False
    )


@app.command()
def tools(
    out: Annotated[Path, typer.Option(help="Folder to write the ranker to.")],
    public: Annotated[
        Path | None, typer.Option(help="Also learn from toolbench, toollens and metatool in this folder.")
    ] = None,
    vectors: Annotated[
        Path | None, typer.Option(help="With --public: their vectors, from the embedders' training run.")
    ] = None,
) -> None:
    """Train the ranker of tools, and what says that none fits."""
    people, others = tool_data(public, vectors)
    embedder = default_embedder()
    about = {
        "embedder": embedder.name,
        "requests of personas": len(people),
        "requests to public catalogues": len(others),
    }
    with output.progress("Training") as update:
        made = tool_recipe.train(people, others, embedder, about, progress=update)
    made.save(out)
    loaded = f"ToolRanker.load(Path({str(out)!r}))"
    output.out.print(f"Written to {out}: ToolRetriever(…, ranker={loaded})", markup=False)


@app.command()
def plan(out: Annotated[Path, typer.Option(help="Folder to write the planner to.")]) -> None:
    """Train what fills the arguments of calls, on the personas and pairs in the package."""
    data = plan_data(bundled_folds())
    about = {
        "requests of personas": len(data.requests),
        "arguments": len(data.lessons.examples),
        "common words": len(data.lessons.common.counts),
    }
    with output.progress("Training") as update:
        made = plan_recipe.train(data.lessons, about, progress=update)
    made.save(out)
    loaded = f"ArgumentScorer.load(Path({str(out)!r}))"
    output.out.print(f"Written to {out}: PointerPlanner({loaded})", markup=False)


@app.command()
def plan_lessons(out: Annotated[Path, typer.Option(help="The JSON file to write.")]) -> None:
    """Write what a language model learns planning from, and what it is asked to be measured."""
    data = plan_data(bundled_folds())
    chosen = chosen_tools(data)
    right = lessons.right_tool(data.tools)
    rows: dict[str, tuple[str, plan_bench.Choose | None]] = {
        row: (what, None if row == plan_bench.NOTHING else chosen.get(row, right))
        for row, what in plan_bench.SEEN.items()
    }
    measured = [one for one in data.requests if one.measured]
    found = {
        "lessons": list(lessons.lessons(data.requests, chosen[plan_bench.TUNED], data.tools)),
        "questions": list(lessons.questions(measured, rows)),
    }
    out.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    output.out.print(f"{len(found['lessons'])} lessons and {len(found['questions'])} questions in {out}")


def _trained(embedder: Embedder | None) -> ContextRanker:
    examples: list[ContextExample]
    with output.progress("Reading personas") as update:
        if embedder is None:
            examples = from_folds(bundled_folds(), progress=update)
            reader = RequestClassifier.load(asset("ranker") / "reader.npz")
        else:
            personas = [*bundled_personas(), *training_personas()]
            examples, reader = from_embedder(personas, embedder, progress=update)
    with output.progress("Signals") as update:
        data = recipe.FeaturedExamples.of(examples, progress=update)
    about = {
        "embedder": (embedder or default_embedder()).name,
        "personas": len({example.group for example in examples}),
        "requests": len(examples),
    }
    with output.progress("Training") as update:
        return recipe.train(data, reader, about, progress=update)


def _continued(path: Path, users: list[str] | None, embedder: Embedder | None) -> ContextRanker:
    if not path.exists():
        raise ContextuneError(f"there is no store at {str(path)!r}")
    before = default_ranker()
    with output.open_store(path) as store, output.progress("Reading feedback") as update:
        examples = fed_back.from_store(
            store, embedder or default_embedder(), before, users=users, progress=update
        )
    with output.progress("Training") as update:
        return fed_back.go_on(before, examples, progress=update)


def _embedder(sentence_transformers: str | None, endpoint: str | None, model: str | None) -> Embedder | None:
    if sentence_transformers and endpoint:
        raise ContextuneError("give --sentence-transformers or --endpoint, not both")
    if endpoint:
        if not model:
            raise ContextuneError("--endpoint needs --model: the name of the model to ask it for")
        return EndpointEmbedder(model, base_url=endpoint)
    return SentenceTransformersEmbedder(sentence_transformers) if sentence_transformers else None

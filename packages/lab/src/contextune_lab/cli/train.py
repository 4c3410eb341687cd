"""`contextune train`: train the rankers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.errors import ContextuneError

if TYPE_CHECKING:
    from contextune.context.ranker import ContextRanker
    from contextune.embed import Embedder

app = command_group(help="Train rankers.")


@app.command()
def ranker(
    out: Annotated[Path, typer.Option(help="Folder to write the ranker to.")],
    sentence_transformers: Annotated[
        str | None,
        typer.Option(help="Train for this sentence-transformers model instead of the bundled one."),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(help="Train for a model at this OpenAI-compatible URL; needs --model.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Name of the model at --endpoint.")] = None,
    public: Annotated[
        Path | None, typer.Option(help="Also train on workbench and ikat in this folder.")
    ] = None,
    quick: Annotated[
        bool, typer.Option(help="Train on the personas' own requests only: an eighth of the examples.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(help="Keep the vectors of another embedder in this file, for the next run."),
    ] = None,
    from_store: Annotated[
        str | None,
        typer.Option(help="Fine-tune a ranker on the feedback in this store: a file, or postgresql://…"),
    ] = None,
    base: Annotated[
        Path | None,
        typer.Option(help="With --from-store: the ranker to start from, as a fleet's; default: bundled."),
    ] = None,
    user: Annotated[
        list[str] | None, typer.Option(help="With --from-store: only this user; may be repeated.")
    ] = None,
) -> None:
    """Train the context ranker on the bundled personas, or fine-tune it on a store's feedback."""
    if public is not None and quick:
        raise ContextuneError("--quick leaves out all but the personas' own requests: omit it, or --public")
    embedder = _embedder(sentence_transformers, endpoint, model)
    fine_tuned = _fine_tune_ranker(from_store, user, embedder, base) if from_store else None
    ranker = fine_tuned or _train_ranker(embedder, public, quick=quick, cache=cache)
    ranker.save(out)
    output.out.print(
        f"Written to {out}: Tuner(store, ranker=ContextRanker.load(Path({str(out)!r})))", markup=False
    )


@app.command()
def tools(
    out: Annotated[Path, typer.Option(help="Folder to write the ranker to.")],
    public: Annotated[
        Path | None,
        typer.Option(help="Also train on the public catalogues in this folder: toolbench, bfcl and others."),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="With --public: file of their vectors, from the embedder training."),
    ] = None,
) -> None:
    """Train the tool ranker and the model that abstains when no tool fits."""
    from contextune.embed import default_embedder
    from contextune_lab.cli.training_data import tool_data
    from contextune_lab.train.rankers.tools import train as tool_recipe

    people, others = tool_data(public, vectors)
    embedder = default_embedder()
    about = {
        "embedder": embedder.name,
        "requests of personas": len(people),
        "requests to public catalogues": len(others),
    }
    with output.progress("Training") as update:
        ranker = tool_recipe.train(people, others, embedder, about, progress=update)
    ranker.save(out)
    loader = f"ToolRanker.load(Path({str(out)!r}))"
    output.out.print(f"Written to {out}: ToolRetriever(…, ranker={loader})", markup=False)


@app.command()
def plan_lessons(
    out: Annotated[Path, typer.Option(help="The JSON file to write.")],
    cot: Annotated[
        bool,
        typer.Option(help="Add prompts with a chain of thought: the dataset's, a large model's."),
    ] = False,
) -> None:
    """Export prompts for fine-tuning a language model on planning, and for its evaluation."""
    from contextune_lab.bench.large_model import large_model_cot
    from contextune_lab.bench.quality.plan import persona_plans as plan_bench
    from contextune_lab.cli.training_data import chosen_tools, plan_data
    from contextune_lab.train.embedder.fold_vectors import bundled_folds
    from contextune_lab.train.llm import plan_lessons as lessons

    data = plan_data(bundled_folds())
    chosen = chosen_tools(data)
    oracle = lessons.oracle_tool(data.tools)
    rows: dict[str, tuple[str, plan_bench.ToolChooser | None]] = {
        row: (what, None if row == plan_bench.NO_RETRIEVAL else chosen.get(row, oracle))
        for row, what in plan_bench.CONTEXT_BY_ROW.items()
    }
    thoughts = lessons.dataset_thoughts() if cot else {}
    guided: dict[str, dict[str, str]] = {}
    if cot:
        rows |= {row: (what, chosen[plan_bench.TUNED]) for row, what in plan_bench.GUIDED_ROWS.items()}
        guided = {plan_bench.TUNED_COT: thoughts, plan_bench.TUNED_LARGE_COT: large_model_cot()}
    measured = [request for request in data.requests if request.measured]
    prompts = {
        "lessons": list(
            lessons.training_rows(data.requests, chosen[plan_bench.TUNED], data.tools, thoughts=thoughts)
        ),
        "questions": list(lessons.evaluation_rows(measured, rows, guided)),
    }
    out.write_text(json.dumps(prompts, ensure_ascii=False), encoding="utf-8")
    output.out.print(f"{len(prompts['lessons'])} lessons and {len(prompts['questions'])} questions in {out}")


def _train_ranker(
    embedder: "Embedder | None", public: Path | None, *, quick: bool, cache: Path | None
) -> "ContextRanker":
    from contextune.embed import default_embedder
    from contextune_lab.cli.training_data import ranker_data
    from contextune_lab.train.rankers.context import train as recipe

    examples, classifier = ranker_data(embedder, public, quick=quick, cache=cache)
    with output.progress("Signals") as update:
        data = recipe.FeaturedExamples.build(examples, progress=update)
    about = {
        "embedder": (embedder or default_embedder()).name,
        "personas": len({example.group for example in examples}),
        "requests": len(examples),
    }
    with output.progress("Training") as update:
        return recipe.train(data, classifier, about, progress=update)


def _fine_tune_ranker(
    store: str, users: list[str] | None, embedder: "Embedder | None", base: Path | None
) -> "ContextRanker":
    from contextune.cli.options import open_store
    from contextune.context.ranker import default_ranker, load_ranker
    from contextune.embed import default_embedder
    from contextune_lab.train.rankers.context import from_feedback as feedback_recipe

    before = load_ranker(base) if base else default_ranker()
    with open_store(store) as opened, output.progress("Reading feedback") as update:
        examples = feedback_recipe.feedback_examples(
            opened, embedder or default_embedder(), before, users=users, progress=update
        )
    with output.progress("Training") as update:
        return feedback_recipe.continue_training(before, examples, progress=update)


def _embedder(
    sentence_transformers: str | None, endpoint: str | None, model: str | None
) -> "Embedder | None":
    from contextune.embed import EndpointEmbedder, SentenceTransformersEmbedder

    if sentence_transformers and endpoint:
        raise ContextuneError("give --sentence-transformers or --endpoint, not both")
    if endpoint:
        if not model:
            raise ContextuneError("--endpoint needs --model: the name of a model it serves")
        return EndpointEmbedder(model, base_url=endpoint)
    return SentenceTransformersEmbedder(sentence_transformers) if sentence_transformers else None

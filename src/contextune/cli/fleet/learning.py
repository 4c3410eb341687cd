"""`contextune fleet train`, `evaluate`, `models` and `rollback`."""

import math
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from contextune.cli import output
from contextune.cli.fleet.run import Address, CheckpointPath, Workers, batch_run, finish, worker_settings
from contextune.cli.options import DEFAULT_EMBEDDER, EmbedderName, StoreName, data_path

if TYPE_CHECKING:
    from contextune.evaluate.stats import Interval
    from contextune.fleet.train import FeedbackScores
    from contextune.types import Progress

MAX_SHARE = 0.05  # copied from the library, because help must not import it

Models = Annotated[
    Path | None,
    typer.Option(
        "--models",
        envvar="CONTEXTUNE_MODELS",
        help="Folder of the versions of the fleet's ranker; default: in your data folder.",
    ),
]


def train(
    store: StoreName = None,
    models: Models = None,
    name: Annotated[str | None, typer.Option(help="Name of the version; default: v1, v2, …")] = None,
    max_share: Annotated[
        float, typer.Option(min=0.001, max=1, help="Largest share of one user in the total weight.")
    ] = MAX_SHARE,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    workers: Workers = None,
    address: Address = None,
    checkpoint: CheckpointPath = None,
) -> None:
    """Train a ranker on the feedback of all users, and evaluate it on users held out.

    The new version becomes the current one unless it is worse than the one before on users held out.
    """
    from contextune.context.ranker import load_ranker
    from contextune.fleet.train import AFTER, BEFORE, train_fleet
    from contextune.rank import ModelVersions

    settings = worker_settings(store, embedder)
    folder = _models_path(models)
    versions = ModelVersions(folder)
    current = load_ranker(folder) if versions.versions else None
    version = name or versions.next_name()
    with batch_run(
        "train",
        [settings.store, embedder],
        checkpoint=checkpoint,
        address=address,
        workers=workers,
        files=[settings.store],
    ) as (done, execute):
        training = train_fleet(
            settings, done, show=_show, compared_with=current, max_share=max_share, execute=execute
        )
        versions.add(version, training.ranker.save, training.to_json())
        done.remove()
    print_scores(training.scores, {BEFORE: versions.current, AFTER: version})
    output.out.print(
        f"Trained on {training.requests:,} requests of {training.users:,} users, of whom none weighs more "
        f"than {training.largest_share:.1%}.",
        highlight=False,
    )
    if training.improves:
        versions.activate(version)
        output.out.print(f"{version} is current: pass --ranker {folder}", markup=False, highlight=False)
    else:
        output.print_error(
            f"{version} is worse than {versions.current} on users held out and is not made current; "
            f"'contextune fleet rollback {version}' does so nevertheless"
        )
        raise typer.Exit(1)


def evaluate(
    store: StoreName = None,
    ranker: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of a ranker or of versions, beside the bundled one; may be repeated."),
    ] = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    workers: Workers = None,
    address: Address = None,
    checkpoint: CheckpointPath = None,
) -> None:
    """Measure how well rankers find the items that users of a store have used, by their feedback."""
    from contextune.context.ranker import default_ranker, load_ranker
    from contextune.fleet import run_parts
    from contextune.fleet.feedback import feedback_parts, users_with_feedback
    from contextune.fleet.train import EvaluateFeedback, feedback_scores
    from contextune.rank.model_versions import BUNDLED

    settings = worker_settings(store, embedder)
    rankers = {BUNDLED: default_ranker()} | {str(path): load_ranker(path) for path in ranker or ()}
    with settings.open_store() as opened:
        parts = feedback_parts(opened, users_with_feedback(opened))
    run_settings = [settings.store, embedder, *(Path(name).resolve() for name in rankers)]
    with batch_run(
        "evaluate",
        run_settings,
        checkpoint=checkpoint,
        address=address,
        workers=workers,
        files=[settings.store],
    ) as (done, execute):
        with output.progress("Users") as update:
            work = EvaluateFeedback(settings, rankers)
            report = run_parts(work, parts, done, execute=execute, progress=update)
        scores = feedback_scores(done.contents(part.key for part in parts), list(rankers))
        finish(done, report)
    print_scores(scores, {name: name for name in rankers})


def models(models: Models = None) -> None:
    """List the versions of the fleet's ranker, with their figures on users held out."""
    from contextune.rank import ModelVersions

    folder = _models_path(models)
    versions = ModelVersions(folder)
    table = Table("", "version", "made", "users", "requests", "recall@3 before", "after")
    for name, version in versions.versions.items():
        about = version.about
        before, after = (
            f"{about['scores'][key]['recall@3']:.3f}" if "scores" in about else "–"
            for key in ("before", "after")
        )
        counts = (str(about.get(key, "–")) for key in ("users", "requests"))
        table.add_row("*" if name == versions.current else "", name, version.made, *counts, before, after)
    output.out.print(table)
    output.out.print(f"Current: {versions.current}, in {folder}", markup=False, highlight=False)


def rollback(
    name: Annotated[
        str | None, typer.Argument(help="Version, or bundled; default: the one before the current.")
    ] = None,
    models: Models = None,
) -> None:
    """Make another version of the fleet's ranker the current one."""
    from contextune.rank import ModelVersions

    current = ModelVersions(_models_path(models)).rollback(name)
    output.out.print(f"{current} is current; running services follow within seconds.", highlight=False)


def print_scores(scores: "FeedbackScores", titles: dict[str, str]) -> None:
    """Print the metrics of each ranker with their intervals."""
    title = f"{scores.requests:,} requests of {scores.users:,} users"
    metrics = list(next(iter(scores.intervals.values())))
    table = Table("ranker", *metrics, title=title, caption="95 % intervals over users")
    for key, name in titles.items():
        table.add_row(name, *map(_cell, scores.intervals[key].values()))
    output.out.print(table)


def _cell(interval: "Interval") -> str:
    spread = "" if math.isnan(interval.low) else f" ({interval.low:.3f}–{interval.high:.3f})"
    return f"{interval.mean:.3f}{spread}"


def _show(title: str) -> "AbstractContextManager[Progress]":
    return output.progress(title)


def _models_path(models: Path | None) -> Path:
    return data_path(models, "fleet-models")

"""The command that measures plans."""

from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.lab.training_data import chosen_tools, plan_data
from contextune.lab.bench.quality import plan_report
from contextune.lab.bench.quality import plans as bench
from contextune.lab.bench.quality.written_plans import WrittenPlans, read_answers
from contextune.lab.train.embedder.fold_vectors import bundled_folds
from contextune.lab.train.rankers import arguments as recipe
from contextune.plan.pointer.planner import PointerPlanner
from contextune.plan.pointer.scorer import ArgumentScorer


def add_to(app: typer.Typer) -> None:
    """Hang this module's command on the group."""
    app.command()(plan)


def plan(
    out: Annotated[Path | None, typer.Option(help="Folder for plans.json: figures and every plan.")] = None,
    written: Annotated[
        Path | None,
        typer.Option(help="Also plans by what a language model wrote: answers of a run."),
    ] = None,
) -> None:
    """Print how often the call planned is the right one, with and without retrieval and context."""
    data = plan_data(bundled_folds())
    chosen = chosen_tools(data)
    with output.progress("Scorers of arguments") as update:
        learnt = recipe.by_fold(data.lessons, progress=update)
    planners = {
        fold: PointerPlanner(
            ArgumentScorer(one.scores, one.known, recipe.doubts(data.lessons, learnt, fold), {})
        )
        for fold, one in learnt.items()
    }
    measured = [one for one in data.requests if one.measured]
    makers: dict[str, bench.PlanOf] = {"light": bench.light(planners)}
    model = WrittenPlans(read_answers(written), planners) if written else None
    if model:
        makers["language model"] = model
    for name, plan_of in makers.items():
        with output.progress("Planning") as update:
            rows = bench.plan_rows(measured, chosen, plan_of, data.tools, progress=update)
        output.out.rule(f"The {name} planner" if model else "", align="left")
        for table in plan_report.to_rich(rows):
            output.out.print(table)
        if out:
            plan_report.write(rows, out / name.replace(" ", "-") if model else out)
    if model:
        output.out.print(f"{model.without} of its calls could not be made: the light planner's stand in.")

"""Benchmark of planning: the planned call against the right one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.cli import output
from contextune_lab.cli.bench.options import Plot
from contextune_lab.cli.bench.recording import figures_folder, record, subfolder

if TYPE_CHECKING:
    from contextune_lab.bench.quality.plan.persona_plans import PlanRows


_GROUNDED = "language model"


def plan(
    out: Annotated[
        Path | None, typer.Option(help="Folder to write plans.json to: figures and every plan.")
    ] = None,
    written: Annotated[
        Path | None,
        typer.Option(help="Also measure the recorded answers of a language model."),
    ] = None,
    prompts: Annotated[
        Path | None,
        typer.Option(help="Write prompts of several sizes for any language model to this file, and stop."),
    ] = None,
    trust: Annotated[
        float, typer.Option(min=0, max=1, help="With --written: share of the model's calls that are right.")
    ] = 0.5,
    renamed: Annotated[
        bool, typer.Option(help="Also plan with the same tools under other names, without a language model.")
    ] = False,
    plot: Plot = None,
) -> None:
    """Measure how often the planned call is right, with and without retrieval and context."""
    from contextune.plan import ReadingPlanner
    from contextune_lab.bench.plan_tables import answers_table, plan_tables
    from contextune_lab.bench.quality.plan import budgets as plan_budgets
    from contextune_lab.bench.quality.plan import persona_plans as plan_bench
    from contextune_lab.bench.quality.plan import report as plan_report
    from contextune_lab.bench.quality.plan import written_plans as written_bench
    from contextune_lab.cli.bench.plan_budgets import measure_budgets, write_budget_prompts
    from contextune_lab.cli.training_data import chosen_tools, plan_data
    from contextune_lab.renamed_toolbox import renamed_toolboxes
    from contextune_lab.train.embedder.fold_vectors import bundled_folds

    # read first, so that a mistake is reported before minutes of work
    answers: written_bench.WrittenAnswers = written_bench.read_written_plans(written) if written else {}
    data = plan_data(bundled_folds())
    chosen = {
        row: plan_bench.cached_tools(choose)
        for row, choose in chosen_tools(data, plan_budgets.MAX_TOOLS).items()
    }
    choose_budget = chosen.pop(plan_bench.BUDGET)
    measured = [request for request in data.requests if request.measured]
    if prompts:
        write_budget_prompts(prompts, measured, choose_budget)
        return
    light_planner = ReadingPlanner()
    planner_functions: dict[str, plan_bench.PlanFunction] = {"light": plan_bench.light_plans(light_planner)}
    contexts, current = plan_bench.CONTEXT_BY_ROW, measured
    recorded = stale = None
    if written_bench.has_table_rows(answers):
        recorded = written_bench.WrittenPlans(answers, light_planner)
        planner_functions |= {
            _GROUNDED: recorded,
            "language model raw": written_bench.raw_plans(answers),
        }
        contexts = written_bench.recorded_rows(answers, measured)
        chosen = written_bench.guided_choosers(chosen)
        stale = written_bench.stale_answers(answers, measured, chosen, data.tools)
        names = {name for row in contexts for name in stale.get(row, ())}
        current = [request for request in measured if request.name not in names]
    for name, plan_function in planner_functions.items():
        light = name == "light"
        with output.progress("Planning") as update:
            rows = plan_bench.plan_rows(
                measured if name != _GROUNDED else current,
                chosen,
                plan_function,
                data.tools,
                contexts=plan_bench.CONTEXT_BY_ROW if light else contexts,
                progress=update,
            )
        output.out.rule(f"The {name} planner" if recorded else "", align="left")
        for table in plan_report.to_rich(rows):
            output.out.print(table)
        slug = name.replace(" ", "-")
        if folder := subfolder(out, "plan", slug):
            plan_report.write_json(rows, folder)
        if light and (figures := figures_folder(out, plot)):
            _plot_certainty(rows, figures)
        others = None
        if light and renamed:
            other_names = plan_bench.renamed_plans(plan_function, renamed_toolboxes())
            with output.progress("Renamed tools") as update:
                others = plan_bench.plan_rows(measured, chosen, other_names, data.tools, progress=update)
            output.out.rule("With renamed tools", align="left")
            output.out.print(plan_report.to_rich(others)[0])
        command = "contextune bench plan" + (" --written FILE" if name != "light" else "")
        record(out, *plan_tables(f"plan-{slug}", command + " --renamed" * bool(others), rows, others))
    if recorded and stale is not None:
        left_out = len(measured) - len(current)
        command = "contextune bench plan --written FILE"
        record(out, answers_table(command, len(measured), stale, left_out, recorded.fallbacks))
        if left_out:
            output.out.print(
                f"{left_out} requests were left out of the language model's tables: other tools are "
                "retrieved today than when their answers were recorded ("
                + ", ".join(f"{row}: {len(names)}" for row, names in stale.items() if names)
                + "). Make them again with contextune_lab.train.llm.plan_answers."
            )
        output.out.print(
            f"{recorded.fallbacks} calls were invalid and replaced by those of the light planner."
        )
    measure_budgets(out, answers, measured, choose_budget, light_planner, data.tools, trust)


def _plot_certainty(rows: "PlanRows", folder: Path) -> None:
    """Draw how often calls of each probability are right, with retrieved tools and context."""
    import numpy as np

    from contextune_lab.bench.plots import plot_reliability
    from contextune_lab.bench.quality.plan.persona_plans import TUNED
    from contextune_lab.reliability import reliability_bins

    planned = [(case.plan.confidence, case.verdict.exact) for case in rows[TUNED] if case.plan]
    bins = reliability_bins(
        np.array([right for _, right in planned]), np.array([confidence for confidence, _ in planned])
    )
    plot_reliability(
        bins, folder / "certainty.svg", title="Is the call right?", y_label="share of right calls"
    )

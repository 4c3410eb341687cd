"""Prompts for any language model at several retrieval budgets, and the table of its answers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from contextune.cli import output
from contextune_lab.cli.bench.recording import record

if TYPE_CHECKING:
    from contextune.plan import Planner
    from contextune.types import Tool
    from contextune_lab.bench.quality.plan.persona_plans import ToolChooser
    from contextune_lab.bench.quality.plan.written_plans import WrittenAnswers
    from contextune_lab.train.planned_requests import PlannedRequest


def write_budget_prompts(file: Path, requests: "Sequence[PlannedRequest]", choose: "ToolChooser") -> None:
    """Write the prompts to a file and print how to continue."""
    from contextune_lab.bench.quality.plan.budgets import write_prompts

    with output.progress("Prompts") as update:
        count = write_prompts(file, requests, choose, update)
    output.out.print(
        f"{count} prompts in {file}. Answer each with your model, and write one JSON object per line with"
        " the prompt's name, row and tools, and the model's text as answer. Pass that file as --written.",
        markup=False,
        soft_wrap=True,
    )


def measure_budgets(
    out: Path | None,
    answers: "WrittenAnswers",
    requests: "Sequence[PlannedRequest]",
    choose: "ToolChooser",
    fallback: "Planner",
    tools: "Mapping[str, Tool]",
    trust: float,
) -> None:
    """Print and record the table of the budgets that the file has answers for."""
    from contextune.plan import Policy
    from contextune_lab.bench.plan_tables import plan_budget_table
    from contextune_lab.bench.quality.plan.budgets import BudgetBench, answered_budgets
    from contextune_lab.docs.benchmark_tables import to_markdown

    if not answered_budgets(answers):
        return
    with output.progress("Budgets") as update:
        cases = BudgetBench(answers, choose, fallback, tools, Policy(), trust).run(requests, update)
    table = plan_budget_table("contextune bench plan --written FILE", cases)
    output.out.rule("A language model by retrieval budget", align="left")
    output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)
    for budget, answered in cases.items():
        if len(answered) < len(requests):
            output.out.print(
                f"{budget.row}: {len(requests) - len(answered)} of {len(requests)} requests were left out: no"
                " answer, or other tools are retrieved today.",
                markup=False,
                soft_wrap=True,
            )
    record(out, table)

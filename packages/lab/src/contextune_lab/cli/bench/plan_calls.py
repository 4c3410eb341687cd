"""Benchmark of tool and arguments chosen together, and of the decisions on them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from contextune.cli import output
from contextune_lab.cli.bench.recording import record
from contextune_lab.cli.call_training import call_data, print_figures

if TYPE_CHECKING:
    from contextune_lab.train.rankers.calls.examples import FilledRequest
    from contextune_lab.train.rankers.calls.train import RankedExample

_COMMAND = "contextune bench plan --calls FOLDER"


def measure_calls(out: Path | None, cache: Path, figures: Path | None = None) -> None:
    """Print and record calls and decisions on implicit, explicit and unserved requests, five-fold.

    Without the reader, and with it where the calls are in doubt.
    """
    from contextune.plan.calls.planner import after_doubt
    from contextune.tools import bundled_toolbox
    from contextune_lab.train.rankers.calls.train import cross_validate, reader_is_asked
    from contextune_lab.train.reader.fold_probabilities import fold_probabilities

    data = call_data(cache)
    with output.progress("Call rankers") as update:
        ranked, rankers = cross_validate(data.examples, progress=update)
    print_figures(ranked, list(rankers.values()))
    _measure(out, "plan-calls", data.filled, ranked)
    tools = {tool.name: tool for tool in bundled_toolbox()}
    with output.progress("Reading") as update:
        read = data.read(tools, fold_probabilities(), progress=update)
    with output.progress("Call rankers with the reader") as update:
        read_ranked, _ = cross_validate([filled.example for filled in read], progress=update)
    asked = reader_is_asked(ranked)
    with_reader = [
        (read[number], replace(read_ranked[number], ranked=after_doubt(read_ranked[number].ranked)))
        if asked[number]
        else (data.filled[number], row)
        for number, row in enumerate(ranked)
    ]
    output.out.print(f"The reader is asked for {100 * sum(asked) / len(asked):.1f} % of the requests.")
    _measure(out, "plan-calls-reader", [filled for filled, _ in with_reader], [row for _, row in with_reader])
    if figures:
        from contextune_lab.bench.plots import plot_reliability
        from contextune_lab.train.rankers.calls.report import best_call_bins

        plot_reliability(
            best_call_bins(ranked),
            figures / "call-certainty.svg",
            title="Is the call right?",
            y_label="share of right calls",
        )


def _measure(
    out: Path | None,
    name: str,
    filled: "Sequence[FilledRequest]",
    ranked: "Sequence[RankedExample]",
) -> None:
    from contextune.datasets import bundled_personas, training_personas, training_requests
    from contextune.plan import Policy
    from contextune.tools import bundled_toolbox
    from contextune_lab.bench.plan_tables import call_table
    from contextune_lab.bench.quality.plan import call_decisions
    from contextune_lab.docs.benchmark_tables import to_markdown
    from contextune_lab.train.splits import is_test

    more = training_requests()
    relevant = {
        persona.name(query): bool(query.gold.relevant)
        for persona in (*bundled_personas(), *training_personas())
        for query in (*persona.queries, *more.get(persona.id, ()))
    }
    tools = {tool.name: tool for tool in bundled_toolbox()}
    policy = Policy()
    cases = call_decisions.call_cases(filled, ranked, tools, relevant, policy)
    test = [case for case in cases if is_test(case.group)]
    for table_name, title, chosen in (
        (name, "Tool and arguments chosen together", cases),
        (f"{name}-test", "Test part: personas that no choice looked at", test),
    ):
        table = call_table(table_name, _COMMAND, call_decisions.call_rows(chosen, tools, policy))
        output.out.rule(title, align="left")
        output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)
        record(out, table)

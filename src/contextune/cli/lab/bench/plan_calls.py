"""Benchmark of tool and arguments chosen together, and of the decisions on them."""

from pathlib import Path

from contextune.cli import output
from contextune.cli.lab.bench.recording import record
from contextune.cli.lab.call_training import call_data, print_figures

_COMMAND = "contextune bench plan --calls FOLDER"


def measure_calls(out: Path | None, cache: Path, figures: Path | None = None) -> None:
    """Print and record calls and decisions on implicit, explicit and unserved requests, five-fold."""
    from contextune.datasets import bundled_personas, training_personas, training_requests
    from contextune.lab.bench.plan_tables import call_table
    from contextune.lab.bench.quality.plan import call_decisions
    from contextune.lab.docs.benchmark_tables import to_markdown
    from contextune.lab.train.rankers.calls.train import cross_validate
    from contextune.lab.train.splits import is_test
    from contextune.plan import Policy
    from contextune.tools import bundled_toolbox

    data = call_data(cache)
    with output.progress("Call rankers") as update:
        ranked, rankers = cross_validate(data.examples, progress=update)
    print_figures(ranked, list(rankers.values()))
    more = training_requests()
    relevant = {
        persona.name(query): bool(query.gold.relevant)
        for persona in (*bundled_personas(), *training_personas())
        for query in (*persona.queries, *more.get(persona.id, ()))
    }
    tools = {tool.name: tool for tool in bundled_toolbox()}
    policy = Policy()
    cases = call_decisions.call_cases(data.filled, ranked, tools, relevant, policy)
    test = [case for case in cases if is_test(case.group)]
    for name, title, chosen in (
        ("plan-calls", "Tool and arguments chosen together", cases),
        ("plan-calls-test", "Test part: personas that no choice looked at", test),
    ):
        table = call_table(name, _COMMAND, call_decisions.call_rows(chosen, tools, policy))
        output.out.rule(title, align="left")
        output.out.print(to_markdown(table), markup=False, highlight=False, soft_wrap=True)
        record(out, table)
    if figures:
        from contextune.lab.bench.plots import plot_reliability
        from contextune.lab.train.rankers.calls.report import best_call_bins

        plot_reliability(
            best_call_bins(ranked),
            figures / "call-certainty.svg",
            title="Is the call right?",
            y_label="share of right calls",
        )

"""Print answers: what the store says to a question, the call with how sure it is, then the items and why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from contextune.cli import output

if TYPE_CHECKING:
    from contextune.answers import AnswerSource, ExtractedAnswer
    from contextune.plan import Steps
    from contextune.types import Answer, Item, ItemHit, Plan, ToolHit

COMPACT_ITEMS = 3
"""Items that are printed without --why."""
_LIKELY = 0.5
"""Below this probability, nothing is stated as if it were sure."""
_TICK = "[green]✓[/] "
_DECISIONS = {"act": "make this call", "confirm": "confirm first", "ask": "ask first", "none": "no call"}


def print_answer(
    answer: "Answer",
    steps: "Steps | None",
    items: "Sequence[Item]",
    zone: tzinfo | None,
    *,
    why: bool,
    hint: str = "--why",
    extracted: "ExtractedAnswer | None" = None,
) -> None:
    """Print what to do and the items it rests on; with `why`, all items, sources, reasons and tools.

    `extracted`, what the store says to a question, comes first. `items` are those that arguments come from;
    times are shown in the `zone` of the user. The last line names `hint`, which prints more.
    """
    if extracted:
        print_extracted(extracted, zone, answer.request.time)
    from contextune.search.language import foreign_language

    language = foreign_language(answer.request.text)
    if language and (extracted or not _is_call(answer.plan)):  # else the question says so
        output.print_line(f"This looks like {language}, and calls are planned for English. What was found:")
    if steps and len(steps) > 1:
        print_steps(steps, items, why=why)
    elif not language or _is_call(answer.plan):
        print_plan(answer.plan, items, fits=answer.fits, why=why, answered=extracted is not None)
        if extracted is None:
            _print_unknown_words(answer)
    if answer.words_only:
        print_words_only()
    hits = answer.context if why or language else answer.context[:COMPACT_ITEMS]
    if not hits:
        output.print_line("No items up to this time.", style="dim")
    else:
        output.out.print()
        print_items(hits, zone, answer.request.time, why=why)
    if why:
        output.out.print()
        print_tools(answer.tools)
        _print_times(answer)
    elif hits:
        more = len(answer.context) - len(hits)
        rest = f"{more} more items, " if more > 1 else "1 more item, " if more else ""
        output.print_line(f"{hint} shows {rest}all reasons and the sources of the call", style="dim")


def _is_call(plan: "Plan | None") -> bool:
    return plan is not None and plan.decision != "none"


def _print_unknown_words(answer: "Answer") -> None:
    """Print why nothing fits, if nothing does."""
    if answer.unknown_words and (answer.plan is None or answer.plan.decision == "none"):
        output.print_line(f"nothing here knows: {escape(', '.join(answer.unknown_words))}", style="dim")


def print_extracted(extracted: "ExtractedAnswer", zone: tzinfo | None, now: datetime | None = None) -> None:
    """Print what the store says to a question, the items that it is from, and what a later one corrects."""
    for line in extracted.text.splitlines():
        output.print_line(f"[bold]{escape(line)}[/]")
    if extracted.covers:
        output.print_line(escape(extracted.covers), style="dim")
    else:
        output.print_line(f"from {_source_text(extracted.source, zone, now)}", style="dim")
    if correction := extracted.correction:
        output.print_line(f"but later: [bold]{escape(correction.text)}[/]")
        output.print_line(f"from {_source_text(correction.source, zone, now)}", style="dim")
    output.out.print()


def _source_text(source: "AnswerSource", zone: tzinfo | None, now: datetime | None) -> str:
    from contextune.types import format_time

    when = f", {format_time(source.time, zone, now)}" if source.time else ""
    return escape(f"the {source.kind} “{source.title}”{when}")


def print_words_only() -> None:
    """Say that items were ranked without vectors."""
    output.print_line(
        "Ranked by words, uses and times only: there are no vectors yet, or none for this script.",
        style="dim",
    )


def print_items(
    hits: "Sequence[ItemHit]",
    zone: tzinfo | None,
    now: datetime | None = None,
    *,
    why: bool,
    relevant: frozenset[str] = frozenset(),
) -> None:
    """Print ranked items, with a tick at those whose ids are `relevant`.

    `why` adds ids, scores and all reasons instead of the first.
    """
    from contextune.types import format_item_time

    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=3)
    table.add_column(no_wrap=True)
    table.add_column(ratio=4, style="dim")
    for rank, hit in enumerate(hits, 1):
        reasons = "; ".join(hit.reasons if why else hit.reasons[:1])
        if why:
            reasons = f"{reasons} ({hit.item.id}, score {hit.score:.3f})"
        table.add_row(
            f"{_TICK if hit.item.id in relevant else ''}{rank}",
            escape(hit.item.app),
            escape(item_title(hit.item)),
            format_item_time(hit.item, zone, now),
            escape(reasons),
        )
    output.out.print(table)


def item_title(item: "Item") -> str:
    """The title of an item; the first words of its text without one."""
    return item.label


def print_tools(hits: "Sequence[ToolHit]") -> None:
    """Print the names of the best tools in one line."""
    names = [escape(hit.tool.name) for hit in hits]
    output.print_line(f"[dim]tools:[/] {', '.join(names) or 'none'}")


def print_plan(
    plan: "Plan | None",
    items: "Sequence[Item]",
    *,
    fits: float | None = None,
    why: bool = False,
    correct: bool = False,
    answered: bool = False,
) -> None:
    """Print a call, or the question that comes before it, or that no tool fits, and how sure that is.

    `fits` is the probability that any tool fits. `why` adds the source of each value. If what the call reads
    has been shown (`answered`), only a choice between several calls is put as a question.
    """
    if plan is None:
        output.print_line("Nothing here can do that: there is no tool to call.")
        return
    if answered and plan.decision == "none":
        return  # the answer is not that nothing can be done
    if answered and plan.question and len(plan.question.options) < 2:
        plan = replace(plan, question=None)
    _print_plan("", plan, items, fits=fits, why=why, correct=correct)


def print_chosen(plan: "Plan", items: "Sequence[Item]") -> None:
    """Print the call that the user chose, with the source of each value."""
    from contextune.plan import explain

    output.print_line(f"[bold]{escape(explain.format_call(plan))}[/] (make this call, as you chose)")
    for name, reason in explain.explain_arguments(plan, {item.id: item for item in items}):
        output.print_line(f"  {escape(name)}: {escape(reason)}", style="dim")


def print_steps(steps: "Steps", items: "Sequence[Item]", *, why: bool = False) -> None:
    """Print the decision on all steps, then each step as `print_plan` prints a call."""
    decision = _DECISIONS[steps.decision] if steps.decision else "not decided"
    output.print_line(f"[bold]{len(steps)} steps[/]: {decision}, {steps.confidence:.0%} sure of all")
    for number, step in enumerate(steps, 1):
        _print_plan(f"{number}. ", step, items, why=why)


def _print_plan(
    prefix: str,
    plan: "Plan",
    items: "Sequence[Item]",
    *,
    fits: float | None = None,
    why: bool = False,
    correct: bool = False,
) -> None:
    from contextune.plan import explain

    call = f"{_TICK if correct else ''}[bold]{escape(explain.format_call(plan))}[/]"
    sure = _sure(plan.confidence)
    question = escape(plan.question.text) if plan.question else ""
    indent = " " * len(prefix)
    if plan.decision == "none":
        if fits is None:
            output.print_line(f"{prefix}[bold]Nothing here can do that[/]")
        elif 1 - fits < _LIKELY:
            output.print_line(f"{prefix}[bold]No call here is sure enough[/]")
        else:
            output.print_line(f"{prefix}[bold]Nothing here can do that[/] ({1 - fits:.0%} sure)")
        if plan.question is None or not plan.question.options:
            return
        output.print_line(f"{indent}[dim]nearest:[/] {call} [dim]({sure})[/]")
    elif question:
        output.print_line(f"{prefix}[bold]{question}[/] ({_DECISIONS[plan.decision or 'ask']}, {sure})")
        options = plan.question.options if plan.question else ()
        if len(options) > 1:  # a single one only repeats the call
            for number, option in enumerate(options, 1):
                output.print_line(
                    f"{indent}  {number}. {escape(option.label)} ({option.plan.confidence:.0%})"
                )
        output.print_line(f"{indent}{call}")
    else:
        decision = f"{_DECISIONS[plan.decision]}, " if plan.decision else ""
        output.print_line(f"{prefix}{call} ({decision}{sure})")
    if why:
        for name, reason in explain.explain_arguments(plan, {item.id: item for item in items}):
            output.print_line(f"{indent}  {escape(name)}: {escape(reason)}", style="dim")


def _sure(probability: float) -> str:
    return f"{probability:.0%} sure" if probability >= _LIKELY else f"only {probability:.0%} sure"


def _print_times(answer: "Answer") -> None:
    parts = [f"{stage} {seconds * 1000:.0f} ms" for stage, seconds in answer.seconds.items()]
    if answer.fits is not None:
        parts.insert(0, f"any tool fits: {answer.fits:.0%}")
    output.print_line(" · ".join(parts), style="dim")

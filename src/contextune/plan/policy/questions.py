"""Word the question that a decision puts to the user, with its machine-readable options."""

from collections.abc import Callable, Sequence
from datetime import date, datetime

from contextune.plan.policy.wording import (
    day_text,
    describe_plan,
    describe_tool,
    describe_values,
    is_person,
    join_or,
    label_text,
    moment_text,
    one_line,
    parse_moment,
    sentence,
    thing_of,
    value_text,
)
from contextune.plan.schema import Parameter, tool_parameters
from contextune.search.tokenize import identifier_words
from contextune.types import Missing, Option, Plan, Question, Tool

FindTool = Callable[[str], Tool]
_NOON = 12
_EVENING = 18
_DOUBTFUL = 0.5
"""Below this confidence in an argument, the question is about the argument and not about the whole call."""
_MAX_MISSING = 2
"""Missing arguments that one question asks for."""
_MAX_WORDS = 5
"""Words that a question names."""


def not_english(language: str) -> str:
    """Say that a request is in a language that plans are not made for."""
    return f"This looks like {language}, and calls are planned for English."


def no_tool_serves(
    plan: Plan,
    tool: Tool,
    *,
    offers_nearest: bool = True,
    is_likely: bool = True,
    unknown_words: Sequence[str] = (),
) -> Question:
    """Say that nothing here serves the request, or no call for sure, and which words were not understood.

    The nearest call is named if it is worth offering.
    """
    text = "No tool here can do that." if is_likely else "No call here is sure enough."
    if unknown_words:
        text = f"{text} Nothing here knows {_quoted(unknown_words)}."
    if not offers_nearest:
        return Question(text)
    nearest = sentence(describe_plan(plan, tool))
    return Question(f"{text} The nearest would be to {describe_tool(tool)}.", (Option(nearest, plan),))


def ask_to_confirm(plan: Plan, tool: Tool, left_out: Sequence[str] = ()) -> Question:
    """Ask whether to make the call as it is; `left_out` are words of the request that are not in it."""
    call = sentence(describe_plan(plan, tool))
    lacks = f" It leaves out {_quoted(left_out, 'and')}." if left_out else ""
    return Question(f"{call}?{lacks}", (Option(call, plan),))


def _quoted(words: Sequence[str], join: str = "or") -> str:
    return join_or([f"“{one_line(word)}”" for word in words[:_MAX_WORDS]], join)


def ask_to_correct(plan: Plan, tool: Tool) -> Question:
    """Propose an improbable call, and ask for what is probably wrong in it."""
    call = sentence(describe_plan(plan, tool))
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    weakest = min(plan.arguments, key=lambda name: plan.arguments[name].confidence, default=None)
    if weakest is None or weakest not in declared or plan.arguments[weakest].confidence >= _DOUBTFUL:
        return Question(f"{call}, or something else?", (Option(call, plan),))
    parameter = declared[weakest]
    other = (
        "someone else"
        if is_person(parameter)
        else "at another time"
        if parameter.kind == "moment"
        else "on another day"
        if parameter.kind == "day"
        else f"another {thing_of(tool, parameter)}"
    )
    return Question(f"{call}, or {other}?", (Option(call, plan),), weakest)


def ask_for_missing(plan: Plan, tool: Tool) -> Question:
    """Ask for the required arguments that have no value."""
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    texts = [_missing_text(missing, declared.get(missing.argument), tool) for missing in plan.missing]
    return Question(" ".join(dict.fromkeys(texts[:_MAX_MISSING])), (), plan.missing[0].argument)


def _missing_text(missing: Missing, parameter: Parameter | None, tool: Tool) -> str:
    if parameter is None:
        return missing.question
    words = identifier_words(tool.name)
    last = parameter.words[-1] if parameter.words else ""
    if is_person(parameter):
        unknown = f"“{one_line(missing.unknown)}” is not among your contacts. " if missing.unknown else ""
        if "call" in words and "history" not in words:
            return f"{unknown}Who should I call?"
        # the argument as "…": what is around it is the rest of the sentence
        before, _, after = describe_values(tool, {parameter.name: "…"}).partition("…")
        return f"{unknown}Who should I {before.strip()}{after}?"
    if parameter.kind == "moment":
        return "When?"
    if parameter.kind == "day":
        return "On which day?"
    if last in ("body", "message", "content"):
        return "What should it say?"
    if last in ("query", "topic", "keywords"):
        return "What should I search for?"
    if parameter.kind == "free" and last in ("name", "title"):
        return "What should it be called?"
    if parameter.kind == "text" and last in ("name", "subject", "title"):
        return f"Which {thing_of(tool, parameter)}?"
    return missing.question or f"Which {parameter.label}?"


def ask_between(plans: Sequence[Plan], find_tool: FindTool) -> Question:
    """Ask which of two or more readings is meant, by what they differ in."""
    tools = [find_tool(plan.tool) for plan in plans]
    differing = _differing_arguments(plans)
    if len({plan.tool for plan in plans}) == 1 and len(differing) == 1:
        name = differing[0]
        parameter = next((p for p in tool_parameters(tools[0]) if p.name == name), None)
        if parameter is not None and all(name in plan.arguments for plan in plans):
            return _ask_for_value(plans, tools[0], parameter)
    calls = [describe_plan(plan, tool) for plan, tool in zip(plans, tools, strict=True)]
    text = ", or ".join(filter(None, (", ".join(calls[:-1]), calls[-1])))
    options = tuple(Option(sentence(call), plan) for call, plan in zip(calls, plans, strict=True))
    return Question(f"{sentence(text)}?", options)


def _differing_arguments(plans: Sequence[Plan]) -> list[str]:
    names = dict.fromkeys(name for plan in plans for name in plan.arguments)
    return [name for name in names if any(plan.args.get(name) != plans[0].args.get(name) for plan in plans)]


def _ask_for_value(plans: Sequence[Plan], tool: Tool, parameter: Parameter) -> Question:
    values = [plan.args[parameter.name] for plan in plans]
    moments = [parse_moment(value) for value in values]
    times = [moment for moment in moments if moment is not None]
    if len(times) == len(values):
        text, labels = _ask_for_time(times)
    elif is_person(parameter):
        labels = [label_text(value) for value in values]
        text = sentence(describe_values(tool, {parameter.name: join_or(labels)}))
    else:
        labels = [label_text(value) for value in values]
        choices = join_or([value_text(value, parameter) for value in values])
        text = f"Which {thing_of(tool, parameter)}: {choices}"
    options = tuple(Option(label, plan) for label, plan in zip(labels, plans, strict=True))
    return Question(f"{text}?", options, parameter.name)


def _ask_for_time(moments: Sequence[datetime | date]) -> tuple[str, list[str]]:
    """The question between times, by what they differ in, and a label for each."""
    clocks = [moment for moment in moments if isinstance(moment, datetime)]
    if len(clocks) < len(moments) or len({clock.time() for clock in clocks}) == 1:
        days = [day_text(moment) for moment in moments]
        return sentence(join_or(days)), [day.removeprefix("on ") for day in days]
    if len({clock.date() for clock in clocks}) > 1:
        texts = [moment_text(clock) for clock in clocks]
        return sentence(join_or(texts)), [text.removeprefix("on ") for text in texts]
    if len({(clock.hour % _NOON, clock.minute) for clock in clocks}) == 1 and clocks[0].hour % _NOON:
        first = f"{clocks[0].hour % _NOON}" + (f":{clocks[0]:%M}" if clocks[0].minute else "")
        parts = [_part_of_day(clock) for clock in clocks]
        return f"At {first} {join_or(parts)}", [f"{first} {part}" for part in parts]
    times = [f"{clock:%H:%M}" for clock in clocks]
    return f"At {join_or(times)}", times


def _part_of_day(clock: datetime) -> str:
    if clock.hour < _NOON:
        return "in the morning"
    return "in the afternoon" if clock.hour < _EVENING else "in the evening"

"""Put the value that a reply says into a call: for what was asked, or in place of a value of its kind."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.arguments.leaves import Leaf, tool_leaves
from contextune.plan.arguments.options import person_form
from contextune.plan.policy.wording import is_person, parse_moment
from contextune.plan.schema import is_valid
from contextune.plan.turns.said_value import SaidValue
from contextune.plan.values import format_duration, normalize_text
from contextune.search import tokenize
from contextune.types import Argument, Item, Missing, Plan, Source, Tool

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_TIMES = ("moment", "day")
_TEXTS = ("text", "free")


def changed_calls(said: SaidValue, plan: Plan, tool: Tool) -> list[Plan]:
    """The call with the value in place of one of its kind: a call for each argument that may be meant.

    If no value of the call is of its kind, an argument that is free takes it. A time alone may be said
    without "no" or "make it"; any other value alone is no correction.
    """
    if not said.text or (said.way == "bare" and not said.is_time):
        return []
    fitting = [(leaf, values) for leaf in _leaves(tool) if (values := list(_values(said, leaf, plan, tool)))]
    given = [(leaf, values) for leaf, values in fitting if leaf.path[0] in plan.arguments]
    first = next((leaf for leaf, _ in given if leaf.parameter.kind in _TIMES), None)
    given = [pair for pair in given if pair[0] is first or pair[0].parameter.kind not in _TIMES]
    free = [pair for pair in fitting if pair[0].required or pair[0].parameter.kind in _TIMES]
    chosen = given or free[:1]
    return [_with(said, plan, leaf, value, tool) for leaf, values in chosen for value in values]


def filled_calls(said: SaidValue, plan: Plan, tool: Tool, name: str, items: Sequence[Item]) -> list[Plan]:
    """The call with the value for the argument that was asked for, in each form that may be meant.

    `items` are those that a text may name.
    """
    leaf = next((leaf for leaf in _leaves(tool) if leaf.path[0] == name), None)
    if leaf is None or not said.text:
        return []
    values = list(_values(said, leaf, plan, tool))
    if values or leaf.parameter.kind not in _TEXTS:
        return [_with(said, plan, leaf, value, tool) for value in values]
    if is_person(leaf.parameter):
        missing = [each for each in plan.missing if each.argument != name]
        unknown = Missing(name, leaf.parameter.question, unknown=said.bare)
        return [replace(plan, missing=(unknown, *missing))]
    titles = {item.title for item in items if item.title and _names(said.text, item)}
    is_missing = any(each.argument == name for each in plan.missing)
    text = titles.pop() if leaf.parameter.kind == "text" and len(titles) == 1 else said.text
    if text == said.text and not is_missing:
        return []
    return [_with(said, plan, leaf, [text] if leaf.is_list else text, tool)]


def with_item(plan: Plan, old: Item, new: Item) -> Plan | None:
    """The call over another item of the same kind; None if nothing in it is of the old one."""
    arguments = dict(plan.arguments)
    for name, argument in plan.arguments.items():
        source = next((source for source in argument.sources if source.item == old.id), None)
        field = source.field if source else None
        if field and argument.value == old.fields.get(field) and new.fields.get(field):
            arguments[name] = Argument(new.fields[field], (Source("item", new.id, field),))
    return None if arguments == plan.arguments else replace(plan, arguments=arguments)


def _leaves(tool: Tool) -> list[Leaf]:
    return [leaf for leaf in tool_leaves(tool) if len(leaf.path) == 1]


def _values(said: SaidValue, leaf: Leaf, plan: Plan, tool: Tool) -> Iterator[Any]:
    """The value in the forms that an argument may take."""
    parameter = leaf.parameter
    current = plan.args.get(leaf.path[0])
    if parameter.choices:
        words = normalize_text(said.bare)
        yield from (choice for choice in parameter.choices if normalize_text(str(choice)) == words)
    elif parameter.kind in _TIMES:
        if (moment := said.moment(parse_moment(current))) is not None:
            is_day = parameter.kind == "day"
            yield moment.date().isoformat() if is_day else moment.isoformat(timespec="minutes")
    elif parameter.kind == "duration" and said.length:
        yield format_duration(said.length)
    elif parameter.kind in ("number", "integer"):
        number = said.length.total_seconds() / _unit(leaf) if said.length else said.number
        if number is not None:
            yield int(number) if number == int(number) else number
    elif is_person(parameter):
        forms = (person_form(contact, parameter, tool) for contact in said.contacts)
        yield from ([form] if leaf.is_list else form for form in forms if form)


def _unit(leaf: Leaf) -> int:
    """The seconds that a number of an argument stands for; minutes unless a word says otherwise."""
    words = (word.removesuffix("s") for word in (*leaf.parameter.words, *leaf.parameter.description_words))
    return next((_UNITS[word] for word in words if word in _UNITS), _UNITS["minute"])


def _with(said: SaidValue, plan: Plan, leaf: Leaf, value: Any, tool: Tool) -> Plan:
    """The call with one value; without it, and asking for it, if the schema does not allow it."""
    name = leaf.path[0]
    missing = tuple(each for each in plan.missing if each.argument != name)
    arguments = {other: argument for other, argument in plan.arguments.items() if other != name}
    if not is_valid(value[0] if leaf.is_list else value, leaf.parameter):
        missing = (*missing, Missing(name, leaf.parameter.question))
        return replace(plan, arguments=arguments, missing=missing)
    kind = "time" if leaf.parameter.kind in _TIMES else "said"
    old, new = parse_moment(plan.args.get(name)), parse_moment(value)
    if isinstance(old, datetime) and isinstance(new, datetime):
        arguments |= _moved(arguments, old, new, tool)
    arguments[name] = Argument(value, (Source(kind, words=said.text),))
    declared = [leaf.path[0] for leaf in _leaves(tool) if leaf.path[0] in arguments]
    ordered = {
        each: arguments[each] for each in (*plan.arguments, *declared, *arguments) if each in arguments
    }
    return replace(plan, arguments=ordered, missing=missing)


def _moved(arguments: dict[str, Argument], old: datetime, new: datetime, tool: Tool) -> dict[str, Argument]:
    """The later times of a call, moved as the first one is: an event keeps its length."""
    moved: dict[str, Argument] = {}
    for leaf in _leaves(tool):
        argument = arguments.get(leaf.path[0])
        time = parse_moment(argument.value) if argument else None
        if argument and leaf.parameter.kind == "moment" and isinstance(time, datetime) and time > old:
            later = (time + (new - old)).isoformat(timespec="minutes")
            moved[leaf.path[0]] = replace(argument, value=later)
    return moved


def _names(text: str, item: Item) -> bool:
    """Whether all words of a text that tell something are in the title of an item."""
    words = frozenset(tokenize(text)) - STOP_WORDS
    return bool(words) and words <= frozenset(tokenize(item.title))

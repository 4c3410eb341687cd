"""What keeps a probable call from being made unasked, beside what it costs.

The request may name two people as well, the call may not say which time of a series is meant or may leave out
half of what was said, or the request is in a language that plans are not made for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from contextune.context.series import series_of
from contextune.plan.names import all_names, match_names
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.policy import RIVAL
from contextune.plan.policy.readings import Readings
from contextune.plan.policy.wording import is_person, parse_moment
from contextune.plan.schema import tool_parameters
from contextune.plan.values import normalize_text
from contextune.plan.words import folded_words
from contextune.search.language import foreign_language
from contextune.search.stop_words import STOP_WORDS
from contextune.search.tokenize import identifier_words, tokenize
from contextune.tools.profiles.effects import function_words, tool_effect, verb_effect
from contextune.types import Argument, Contact, Item, Plan, Source, Tool, local_time
from contextune.types.field_values import to_text

_FEW = 2
"""Words that a call may always leave out."""
_HALF = 0.5
"""Share of the words of a request from which on too many are left out."""


def doubt_readings(
    readings: Readings, inputs: PlanningInput, find_tool: Callable[[str], Tool], text: str
) -> Readings:
    """The readings with what keeps the first from being made; `text` is the request as the user wrote it."""
    if not readings.plans:
        return readings
    first = readings.plans[0]
    tool = find_tool(first.tool)
    same_name = namesakes(first, tool, inputs)
    known = [plan.args for plan in readings.plans if plan.tool == first.tool]
    other = RIVAL * first.confidence
    added = [replace(plan, confidence=other) for plan in same_name if plan.args not in known]
    return replace(
        readings,
        plans=(*readings.plans, *added),
        asks_first=bool(same_name),
        shows_first=readings.shows_first or is_undated(first, tool, inputs),
        left_out=words_left_out(first, tool, inputs),
        language=foreign_language(text),
    )


def namesakes(plan: Plan, tool: Tool, inputs: PlanningInput) -> list[Plan]:
    """The same call for each other person whom the request names by the same words.

    It is the same plan if its value does not tell them apart.
    """
    people = {parameter.name for parameter in tool_parameters(tool) if is_person(parameter)}
    plans: list[Plan] = []
    for name, argument in plan.arguments.items():
        if name not in people and all(source.kind != "contact" for source in argument.sources):
            continue
        values = _values(argument)
        for place, value in enumerate(values):
            index = inputs.people.index(value)
            if index is None:
                others = _named_by(str(value), inputs)
            elif not _is_written(str(value), inputs.people.contacts[index], inputs):
                others = list(_same_named(index, inputs))
            else:
                continue
            own = None if index is None else inputs.people.contacts[index]
            for other in others:
                way = _same_way(value, own, other)
                if way in values and way != value:
                    continue  # both are meant
                changed = [*values[:place], way, *values[place + 1 :]]
                is_list = isinstance(argument.value, list | tuple)
                source = Source("contact", other.name)
                replaced = replace(argument, value=changed if is_list else way, sources=(source,))
                plans.append(replace(plan, arguments={**plan.arguments, name: replaced}))
    return plans


def _values(argument: Argument) -> list[Any]:
    value = argument.value
    return [*cast("Sequence[Any]", value)] if isinstance(value, list | tuple) else [value]


def _is_written(value: str, contact: Contact, inputs: PlanningInput) -> bool:
    """Whether the request has the address or the number itself, which are of one person."""
    return value != contact.name and value.casefold() in inputs.request.text.casefold()


def _same_named(index: int, inputs: PlanningInput) -> Iterator[Contact]:
    """The other contacts whom the request names by the same words as one, and relates to as much."""
    match, contact = inputs.names[index], inputs.people.contacts[index]
    related = inputs.relation_matches[index]
    for number, other in enumerate(inputs.names):
        if number == index or not other.words or other.words < match.words or not other.overlaps(match):
            continue
        is_exact = match.share == 1.0 > other.share  # "Anna" is the whole name
        is_related = inputs.relation_matches[number] >= related
        if is_related and not is_exact and (other.first or not match.first):
            candidate = inputs.people.contacts[number]
            if not _is_same_person(contact, candidate):
                yield candidate


def _named_by(text: str, inputs: PlanningInput) -> list[Contact]:
    """The contacts that a text names equally well, if there are several."""
    contacts = inputs.people.contacts
    matches = match_names(text, contacts)
    best = max((match.words for match in matches), default=0.0)
    named = [
        contact for contact, match in zip(contacts, matches, strict=True) if best and match.words == best
    ]
    return named if any(not _is_same_person(named[0], other) for other in named[1:]) else []


def _is_same_person(contact: Contact, other: Contact) -> bool:
    """Whether two cards are of one name, and no address or number tells them apart."""
    if normalize_text(contact.name) != normalize_text(other.name):
        return False
    pairs = ((contact.email, other.email), (contact.phone, other.phone))
    return all(not first or not second or first == second for first, second in pairs)


def _same_way(value: Any, contact: Contact | None, other: Contact) -> Any:
    """The name, address or number of another contact, as the value is of one."""
    if contact is not None and value == contact.email:
        return other.email or other.name
    if contact is not None and value == contact.phone:
        return other.phone or other.name
    return other.name


def is_undated(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """Whether a call changes something that recurs, and no value of it says which time is meant."""
    if tool_effect(tool).only_reads:
        return False
    used = {source.item for argument in plan.arguments.values() for source in argument.sources}
    values = [value for argument in plan.arguments.values() for value in _values(argument)]
    days = {moment.isoformat()[:10] for value in values if (moment := parse_moment(value)) is not None}
    items = [hit.item for hit in inputs.hits]
    return any(
        item.id in used and item.id not in values and _day(item, inputs) not in days
        for item in items
        if _recurs(item, items)
    )


def _day(item: Item, inputs: PlanningInput) -> str:
    return local_time(item.time, inputs.user.zone).date().isoformat() if item.time else ""


def _recurs(item: Item, items: Sequence[Item]) -> bool:
    """Whether an item is one of a series, or has several times."""
    if series_of(item) is not None or item.fields.get("occurrences"):
        return True
    if item.schema.times.keys().isdisjoint(("start", "due")):
        return False
    return any(
        (other.app, other.title) == (item.app, item.title) and other.time != item.time for other in items
    )


def words_left_out(plan: Plan, tool: Tool, inputs: PlanningInput) -> tuple[str, ...]:
    """The words of a request that a call with a text leaves out, if they are half of what was said.

    A text that is an item's, such as the title of the event that is meant, leaves out nothing.
    """
    free = [parameter.name for parameter in tool_parameters(tool) if parameter.kind == "free"]
    if tool_effect(tool).only_reads or not free:
        return ()
    texts = [plan.arguments[name] for name in free if name in plan.arguments]
    if texts and all(any(source.kind == "item" for source in text.sources) for text in texts):
        return ()
    kept = {*_tool_words(tool), *_call_words(plan, inputs)}
    words = [
        word
        for word in tokenize(inputs.request.text)
        if word not in STOP_WORDS and word not in function_words()
    ]
    if words and verb_effect(words[0]) is not None:
        del words[0]  # what to do
    said = {folded: word for word in words for folded in folded_words(word)}
    left = [word for folded, word in said.items() if folded not in kept]
    return tuple(left) if len(left) >= max(_FEW, _HALF * len(said)) else ()


def _tool_words(tool: Tool) -> Iterator[str]:
    names = [tool.name, tool.title or "", *(parameter.name for parameter in tool_parameters(tool))]
    for text in (*(" ".join(identifier_words(name)) for name in names), tool.description):
        yield from folded_words(text)


def _call_words(plan: Plan, inputs: PlanningInput) -> Iterator[str]:
    """The words of what a call has: its values, what they are from, and the times if it has one."""
    items = {hit.item.id: hit.item for hit in inputs.hits}
    texts: list[str] = []
    for argument in plan.arguments.values():
        texts.append(to_text(argument.value))
        for value in _values(argument):
            if parse_moment(value) is not None:
                texts += [phrase.text for phrase in inputs.time_phrases]
            if (contact := inputs.people.get(value)) is not None:
                texts += [*all_names(contact), contact.relation or ""]
        for source in argument.sources:
            texts.append(source.words)
            if (item := items.get(source.item or "")) is not None:
                texts += [item.title, *item.people]
    for text in texts:
        yield from folded_words(text)

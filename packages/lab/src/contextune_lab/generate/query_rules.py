"""Rules of the persona format for queries and their gold labels."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from contextune.datasets import Persona, Query
from contextune.plan.judge import ANY_TEXT
from contextune.plan.schema import Parameter, is_valid, tool_parameters
from contextune.search import tokenize
from contextune.types import Item, Tool
from contextune_lab.generate.faults import RuleFault
from contextune_lab.generate.leaks import leaks

KINDS: Mapping[str, str] = {
    "semantic": "says the thing in other words than its own",
    "temporal": "leaves out the thing and says when: now, next, last night",
    "place": "leaves out what the place where they stand tells",
    "habit": "asks for the usual: what they do at this hour or at this place",
    "recency": "points at what was there just now",
    "person": "says what somebody is to them in place of a name",
    "cross": "needs things of two applications put together",
}
"""What each kind of query leaves out."""
GOLD = ("kind", "relevant", "cot", "api", "args", "tools")
TOOLS = 3
_NEEDED, _HELPS = 2, 1
_YEAR = timedelta(days=366)
_SENTENCES = 2
_SENTENCE = re.compile(r"[.!?…]+(?=\s|$)")
_APP_WORDS = {
    "Mail": r"mail|inbox|message|letter|wrote",
    "Calendar": r"calendar|event|appointment|\bbook|schedule",
    "Google": r"google|search|web|look(?:s|ed|ing)? up",
    "Notes": r"note",
    "Music": r"music|song|play",
    "Reminders": r"remind",
    "PhoneCall": r"phone|call|\brings?\b|rang|dial",
}
"""Patterns by which a chain of thought names an application."""


def query_faults(persona: Persona, tools: Mapping[str, Tool]) -> Iterator[RuleFault]:
    """Faults of the queries; `tools` is the toolbox by name."""
    text_counts = Counter(" ".join(tokenize(query.text)) for query in persona.queries)
    for number, query in enumerate(persona.queries):
        at = f"queries[{number}]"
        if text_counts[" ".join(tokenize(query.text))] > 1:
            yield RuleFault(f"{at}.query", "duplicate query: remove one")
        lacking = [name for name in GOLD if getattr(query.gold, name) is None]
        for name in lacking:
            yield RuleFault(at, f"{name!r} missing: every query needs gold labels")
        if query.time.tzinfo is not None:
            yield RuleFault(f"{at}.time", "has a time zone: times are local")
        if lacking or query.time.tzinfo is not None:
            continue
        for fault in (
            *request_faults(persona, query),
            *thought_faults(persona, query),
            *call_faults(persona, query, tools),
        ):
            yield RuleFault(f"{at}.{fault.where}", fault.what)


def request_faults(persona: Persona, query: Query) -> Iterator[RuleFault]:
    """Faults of the text, the kind and the relevant items of a query."""
    kind, relevant = query.gold.kind, dict(query.gold.relevant or {})
    if kind not in KINDS:
        yield RuleFault("kind", f"{kind!r} not one of {', '.join(KINDS)}")
    items_by_id = {item.id: item for item in persona.items}
    gone = [name for name in relevant if name not in items_by_id]
    for name in gone:
        yield RuleFault(f"relevant.{name}", "no item has this id")
    for name, grade in relevant.items():
        if grade not in (_HELPS, _NEEDED):
            yield RuleFault(f"relevant.{name}", f"grade must be 2 (needed) or 1 (helps), not {grade!r}")
        elif (
            name in items_by_id
            and (made := items_by_id[name].made)
            and made.replace(tzinfo=None) > query.time
        ):
            yield RuleFault(f"relevant.{name}", "made after the query")
    if _NEEDED not in relevant.values():
        yield RuleFault("relevant", "needs at least one item of grade 2")
    if gone:
        return
    gold = [items_by_id[name] for name in relevant]
    yield from _kind_faults(persona, query, gold)
    for name, rare in leaks(persona, query).items():
        words = ", ".join(map(repr, rare))
        yield RuleFault("query", f"gives item {name!r} away by {words}: rephrase it")


def _kind_faults(persona: Persona, query: Query, gold: Sequence[Item]) -> Iterator[RuleFault]:
    """Faults of the relevant items for the query's kind."""
    match query.gold.kind:
        case "cross" if len(gold) < 2:
            yield RuleFault("relevant", "a cross query needs at least two items")
        case "habit" if not any(persona.habits[item.id] for item in gold):
            yield RuleFault("relevant", "a habit query needs an item with `use`")
        case "place" if not any(_is_at(persona, item, query.place) for item in gold):
            yield RuleFault(
                "relevant", f"a place query needs an item that is at, or used at, {query.place!r}"
            )
        case "person":
            query_words = set(tokenize(query.text))
            for contact in persona.user.contacts:
                if set(tokenize(contact.name)) <= query_words:
                    yield RuleFault(
                        "query", f"a person query must not name {contact.name!r}: use the relation"
                    )
        case _:
            pass


def _is_at(persona: Persona, item: Item, place: str) -> bool:
    return item.place == place or any(habit.where == place for habit in persona.habits[item.id])


def thought_faults(persona: Persona, query: Query) -> Iterator[RuleFault]:
    """Faults of the chain of thought.

    It may name a wrong application, as at run time. A rule that required the right one would tell it to the
    model that is asked again.
    """
    cot = query.gold.cot or ""
    if not cot.strip():
        yield RuleFault("cot", "empty: one or two sentences on where to look, and for what")
        return
    if len(_SENTENCE.findall(cot)) > _SENTENCES:
        yield RuleFault("cot", "is longer than two sentences")
    apps = sorted({*_APP_WORDS, *(item.app for item in persona.items)})
    if not any(re.search(_APP_WORDS.get(app, re.escape(app)), cot, re.IGNORECASE) for app in apps):
        yield RuleFault("cot", f"names none of the applications: {', '.join(apps)}")


def call_faults(persona: Persona, query: Query, tools: Mapping[str, Tool]) -> Iterator[RuleFault]:
    """Faults of the API, its arguments and the alternative tools."""
    api, listed = query.gold.api or "", query.gold.tools or ()
    for number, name in enumerate(listed):
        if name not in tools:
            yield RuleFault(f"tools[{number}]", f"{name!r} is not in the toolbox")
    if len(listed) != TOOLS or len(set(listed)) != TOOLS:
        yield RuleFault("tools", "must hold the right API and two others")
    elif listed[0] != api:
        yield RuleFault("tools[0]", f"{listed[0]!r} is not the right API, {api!r}")
    if api not in tools:
        yield RuleFault("api", f"{api!r} is not in the toolbox")
    else:
        yield from argument_faults(persona, query, tools[api])


def argument_faults(persona: Persona, query: Query, tool: Tool) -> Iterator[RuleFault]:
    """Faults of the arguments of a call."""
    args = dict(query.gold.args or {})
    parameters_by_name = {parameter.name: parameter for parameter in tool_parameters(tool)}
    for name, parameter in parameters_by_name.items():
        if parameter.required and name not in args:
            yield RuleFault("args", f"{tool.name} needs {name!r}")
    for name, value in args.items():
        if name not in parameters_by_name:
            yield RuleFault(f"args.{name}", f"not an argument of {tool.name}")
        elif why := _argument_fault(persona, query, parameters_by_name[name], value):
            yield RuleFault(f"args.{name}", why)


def _argument_fault(persona: Persona, query: Query, parameter: Parameter, value: Any) -> str:
    if parameter.kind == "free":
        return "" if value == ANY_TEXT else f"free text: write {ANY_TEXT!r}, as the assistant words it"
    if value == ANY_TEXT:
        return f"not free text: {ANY_TEXT!r} is not allowed"
    if not is_valid(value, parameter):
        return f"{value!r} not of type {parameter.kind}"
    parts: list[object] = [*cast("list[object]", value)] if isinstance(value, list) else [value]
    if not parts:
        return "empty: leave it out"
    if parameter.kind in ("moment", "day"):
        moment = _moment(str(parts[0]))
        if moment is None:
            return f"{parts[0]!r} not a time: write 2024-05-17T18:00, or 2024-05-17 for a day"
        return f"{parts[0]!r} is more than a year from the query" if abs(moment - query.time) > _YEAR else ""
    spoken = [part for part in parts if isinstance(part, str)]
    strange = [part for part in spoken if not part.strip() or not _has_source(persona, query, part)]
    return f"{strange[0]!r} not found in a relevant item, a contact or the query" if strange else ""


def _has_source(persona: Persona, query: Query, value: str) -> bool:
    """Whether a value is copied from a source that a call may use."""
    if value.casefold() in query.text.casefold():
        return True
    user = persona.user
    if any(value in (contact.name, contact.email, contact.phone) for contact in user.contacts):
        return True
    relevant = [item.fields for item in persona.items if item.id in (query.gold.relevant or {})]
    return any(value in text for fields in (*relevant, user.profile) for text in _strings(fields))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _strings(part)


def _moment(value: str) -> datetime | None:
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except ValueError:
        return None

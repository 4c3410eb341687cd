"""Writes what a persona asks: implicit requests, with API (A.4), arguments (A.5) and thought (A.6)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from contextune.datasets import Gold, Persona, Query
from contextune.errors import InvalidRequestError
from contextune.lab.generate import json_schemas
from contextune.lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune.lab.generate.deduplicate import NearDuplicates
from contextune.lab.generate.faults import RuleFault
from contextune.lab.generate.prompts import (
    choice_messages,
    cot_messages,
    plan_messages,
    request_messages,
)
from contextune.lab.generate.query_rules import argument_faults, request_faults, thought_faults
from contextune.plan.judge import ANY
from contextune.plan.schema import parameters
from contextune.search import tokenize
from contextune.types import COMMUTE, Tool, parse_time

ROUNDS = 3
_WORDS = (2, 30)
_LATEST = timedelta(days=3)
Slots = Mapping[int, tuple[str, Sequence[Tool]]]
"""The queries that are wanted: by number, the kind and the APIs it may be for."""


@dataclass(frozen=True)
class GeneratedQueries:
    """What a persona asks, and the slots that came to nothing."""

    queries: tuple[Query, ...]
    empty: tuple[int, ...]


def write_queries(
    scribe: ValidJsonWriter,
    persona: Persona,
    now: datetime,
    slots: Slots,
    tools: Sequence[Tool],
    asked: NearDuplicates,
    *,
    rounds: int = ROUNDS,
) -> GeneratedQueries:
    """A query for each slot, said from `now` on; `asked` are those that were said before, by anybody.

    What breaks a rule is refused, and its slot asked for again with the reason, so many rounds.
    """
    done: dict[int, Query] = {}
    refused: list[str] = []
    useless = {_filed(persona)}
    for _ in range(rounds):
        left = {slot: wish for slot, wish in slots.items() if slot not in done}
        if not left:
            break
        for slot, query, fault in _drafts(scribe, persona, now, left, refused):
            why = str(fault) if fault else _same(asked, query)
            if query is None or why or slot in done:
                refused.append(f"slot {slot}: {query.text if query else ''}: {why}")
                continue
            try:
                whole = _completed(scribe, persona, query, tools)
            except NoValidAnswerError as error:
                useless.add(error.filed)
                refused.append(f"slot {slot}: {query.text}: {error}")
                continue
            if whole is None:
                refused.append(f"slot {slot}: {query.text}: no API does that")
            elif other := asked.add(query.text):
                refused.append(f"slot {slot}: {query.text}: {other!r} says the same")
            else:
                done[slot] = whole
    empty = tuple(slot for slot in slots if slot not in done)
    for filed in useless if empty else ():
        scribe.forget(filed)  # else the next run would come to nothing in the same way
    return GeneratedQueries(tuple(done[slot] for slot in sorted(done)), empty)


def _filed(persona: Persona) -> str:
    return f"{persona.id}/requests"


def _same(asked: NearDuplicates, query: Query | None) -> str:
    other = asked.like(query.text) if query else None
    return f"{other!r} says the same" if other else ""


def _drafts(
    scribe: ValidJsonWriter, persona: Persona, now: datetime, slots: Slots, refused: Sequence[str]
) -> Iterator[tuple[int, Query | None, RuleFault | None]]:
    """Requests for some slots, each with the first thing that is wrong with it."""
    messages = request_messages(persona, now, slots, refused)
    try:
        answer = scribe.write(_filed(persona), messages, json_schemas.REQUESTS)
    except NoValidAnswerError as error:
        for slot in slots:
            yield slot, None, RuleFault("", str(error))
        return
    for one in answer["requests"]:
        slot = int(one["slot"])
        if slot in slots:
            query = _query(slot, slots[slot][0], one)
            yield slot, query, _first_fault(persona, now, query, one)


def _query(slot: int, kind: str, one: Mapping[str, Any]) -> Query | None:
    try:
        time = parse_time(one["time"])
    except InvalidRequestError:
        return None
    gold = Gold(kind=kind, relevant={item["id"]: item["grade"] for item in one["relevant"]})
    return Query(f"q{slot}", " ".join(one["query"].split()), time, one["place"], gold)


def _first_fault(
    persona: Persona, now: datetime, query: Query | None, one: Mapping[str, Any]
) -> RuleFault | None:
    if query is None:
        return RuleFault("time", f"{one['time']!r} is no time")
    places = {*persona.user.places, COMMUTE}
    if query.place not in places:
        return RuleFault("place", f"{query.place!r} is none of {', '.join(sorted(places))}")
    if not now <= query.time <= now + _LATEST:
        return RuleFault(
            "time", f"is to be within {_LATEST.days} days from {now.isoformat(timespec='minutes')}"
        )
    if not _WORDS[0] <= len(tokenize(query.text)) <= _WORDS[1]:
        return RuleFault("query", f"has {len(tokenize(query.text))} words: say it in a sentence")
    if one["kind"] != query.gold.kind:
        return RuleFault("kind", f"{query.gold.kind} was asked for, not {one['kind']}")
    if fault := next(request_faults(persona, query), None):
        return fault
    apps = {item.app for item in persona.items if item.id in (query.gold.relevant or {})}
    if query.gold.kind == "cross" and len(apps) < 2:
        return RuleFault("relevant", "a cross query needs items of two applications")
    return None


def _completed(
    scribe: ValidJsonWriter, persona: Persona, query: Query, tools: Sequence[Tool]
) -> Query | None:
    """The query with its API, arguments and thought, or None where no API serves it."""
    filed = f"{persona.id}/{query.id}"
    picked = choose_tool(scribe, persona, query, tools, filed=filed)
    if picked is None:
        return None
    query = replace(
        query, gold=replace(query.gold, api=picked[0].name, tools=tuple(tool.name for tool in picked))
    )
    args = resolve_plan(scribe, persona, query, picked[0], filed=filed)
    query = replace(query, gold=replace(query.gold, args=args))
    return replace(query, gold=replace(query.gold, cot=write_thought(scribe, persona, query, filed=filed)))


def choose_tool(
    scribe: ValidJsonWriter, persona: Persona, query: Query, tools: Sequence[Tool], *, filed: str
) -> list[Tool] | None:
    """The API that serves a request and two others, or None where none does (A.4)."""

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        if answer["api"] != json_schemas.NONE and len({answer["api"], *answer["others"]}) < 3:
            yield RuleFault("others", "are two others than the API, and differ")

    messages, shape = choice_messages(persona, query, tools), json_schemas.choice(tools)
    answer = scribe.write(f"{filed}/tool", messages, shape, check=check, most=200, exact=True)
    if answer["api"] == json_schemas.NONE:
        return None
    known = {tool.name: tool for tool in tools}
    return [known[name] for name in (answer["api"], *answer["others"])]


def resolve_plan(
    scribe: ValidJsonWriter, persona: Persona, query: Query, tool: Tool, *, filed: str
) -> dict[str, Any]:
    """The arguments of the call that serves a request (A.5); what the assistant words itself becomes `*`."""
    if not parameters(tool):
        return {}

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        filled = replace(query, gold=replace(query.gold, args=_arguments(tool, answer)))
        yield from argument_faults(persona, filled, tool)

    messages, shape = plan_messages(persona, query, tool), json_schemas.arguments(tool)
    answer = scribe.write(f"{filed}/plan", messages, shape, check=check, most=800, exact=True)
    return _arguments(tool, answer)


def write_thought(scribe: ValidJsonWriter, persona: Persona, query: Query, *, filed: str) -> str:
    """Where to look for what a request leaves out, and what for (A.6)."""

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        thought = " ".join(answer["thought"].split())
        yield from thought_faults(persona, replace(query, gold=replace(query.gold, cot=thought)))

    messages = cot_messages(persona, query)
    answer = scribe.write(
        f"{filed}/thought", messages, json_schemas.THOUGHT, check=check, most=300, exact=True
    )
    return " ".join(answer["thought"].split())


def _arguments(tool: Tool, answer: Mapping[str, Any]) -> dict[str, Any]:
    given = [(one, answer.get(one.name)) for one in parameters(tool)]
    return {
        one.name: ANY if one.kind == "free" else value for one, value in given if value not in (None, "", [])
    }

"""Generate implicit queries of a persona, with API (A.4), arguments (A.5) and chain of thought (A.6)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from contextune.datasets import Gold, Persona, Query
from contextune.errors import InvalidRequestError
from contextune.plan.judge import ANY_TEXT
from contextune.plan.schema import tool_parameters
from contextune.search import tokenize
from contextune.types import COMMUTE, Tool, parse_time
from contextune_lab.generate import json_schemas
from contextune_lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune_lab.generate.deduplicate import NearDuplicates
from contextune_lab.generate.faults import RuleFault
from contextune_lab.generate.prompts import (
    choice_messages,
    cot_messages,
    plan_messages,
    request_messages,
)
from contextune_lab.generate.query_rules import argument_faults, request_faults, thought_faults

ROUNDS = 3
_WORDS = (2, 30)
_LATEST = timedelta(days=3)
Slots = Mapping[int, tuple[str, Sequence[Tool]]]
"""Queries to write: by number, the kind and the suggested APIs."""


@dataclass(frozen=True)
class GeneratedQueries:
    """The generated queries, and the slots that stayed empty."""

    queries: tuple[Query, ...]
    empty: tuple[int, ...]


def write_queries(
    writer: ValidJsonWriter,
    persona: Persona,
    now: datetime,
    slots: Slots,
    tools: Sequence[Tool],
    known_queries: NearDuplicates,
    *,
    rounds: int = ROUNDS,
) -> GeneratedQueries:
    """Write a query for each slot, made after `now`; `known_queries` rejects duplicates.

    Invalid drafts are rejected, and their slots asked for again with the reason, for `rounds` rounds.
    """
    done: dict[int, Query] = {}
    refused: list[str] = []
    failed_keys = {_cache_key(persona)}
    for _ in range(rounds):
        open_slots = {slot: spec for slot, spec in slots.items() if slot not in done}
        if not open_slots:
            break
        for slot, query, fault in _drafts(writer, persona, now, open_slots, refused):
            reason = str(fault) if fault else _duplicate(known_queries, query)
            if query is None or reason or slot in done:
                refused.append(f"slot {slot}: {query.text if query else ''}: {reason}")
                continue
            try:
                complete_query = _complete(writer, persona, query, tools)
            except NoValidAnswerError as error:
                failed_keys.add(error.key)
                refused.append(f"slot {slot}: {query.text}: {error}")
                continue
            if complete_query is None:
                refused.append(f"slot {slot}: {query.text}: no API does that")
            elif other := known_queries.add(query.text):
                refused.append(f"slot {slot}: {query.text}: {other!r} is a near-duplicate")
            else:
                done[slot] = complete_query
    empty = tuple(slot for slot in slots if slot not in done)
    for key in failed_keys if empty else ():
        writer.forget(key)  # otherwise the next run would fail in the same way
    return GeneratedQueries(tuple(done[slot] for slot in sorted(done)), empty)


def _cache_key(persona: Persona) -> str:
    return f"{persona.id}/requests"


def _duplicate(known_queries: NearDuplicates, query: Query | None) -> str:
    other = known_queries.find(query.text) if query else None
    return f"{other!r} is a near-duplicate" if other else ""


def _drafts(
    writer: ValidJsonWriter, persona: Persona, now: datetime, slots: Slots, refused: Sequence[str]
) -> Iterator[tuple[int, Query | None, RuleFault | None]]:
    """Drafts for some slots, each with its first fault."""
    messages = request_messages(persona, now, slots, refused)
    try:
        answer = writer.write(_cache_key(persona), messages, json_schemas.REQUESTS)
    except NoValidAnswerError as error:
        for slot in slots:
            yield slot, None, RuleFault("", str(error))
        return
    for draft in answer["requests"]:
        slot = int(draft["slot"])
        if slot in slots:
            query = _query(slot, slots[slot][0], draft)
            yield slot, query, _first_fault(persona, now, query, draft)


def _query(slot: int, kind: str, draft: Mapping[str, Any]) -> Query | None:
    try:
        time = parse_time(draft["time"])
    except InvalidRequestError:
        return None
    gold = Gold(kind=kind, relevant={item["id"]: item["grade"] for item in draft["relevant"]})
    return Query(f"q{slot}", " ".join(draft["query"].split()), time, draft["place"], gold)


def _first_fault(
    persona: Persona, now: datetime, query: Query | None, draft: Mapping[str, Any]
) -> RuleFault | None:
    if query is None:
        return RuleFault("time", f"{draft['time']!r} not a time")
    places = {*persona.user.places, COMMUTE}
    if query.place not in places:
        return RuleFault("place", f"{query.place!r} not one of {', '.join(sorted(places))}")
    if not now <= query.time <= now + _LATEST:
        return RuleFault(
            "time", f"must be within {_LATEST.days} days from {now.isoformat(timespec='minutes')}"
        )
    if not _WORDS[0] <= len(tokenize(query.text)) <= _WORDS[1]:
        return RuleFault("query", f"has {len(tokenize(query.text))} words: say it in a sentence")
    if draft["kind"] != query.gold.kind:
        return RuleFault("kind", f"{query.gold.kind} was asked for, not {draft['kind']}")
    if fault := next(request_faults(persona, query), None):
        return fault
    apps = {item.app for item in persona.items if item.id in (query.gold.relevant or {})}
    if query.gold.kind == "cross" and len(apps) < 2:
        return RuleFault("relevant", "a cross query needs items of two applications")
    return None


def _complete(writer: ValidJsonWriter, persona: Persona, query: Query, tools: Sequence[Tool]) -> Query | None:
    """Add API, arguments and chain of thought; None if no API serves the query."""
    key = f"{persona.id}/{query.id}"
    tools_chosen = choose_tool(writer, persona, query, tools, key=key)
    if tools_chosen is None:
        return None
    query = replace(
        query,
        gold=replace(query.gold, api=tools_chosen[0].name, tools=tuple(tool.name for tool in tools_chosen)),
    )
    args = resolve_plan(writer, persona, query, tools_chosen[0], key=key)
    query = replace(query, gold=replace(query.gold, args=args))
    return replace(query, gold=replace(query.gold, cot=write_thought(writer, persona, query, key=key)))


def choose_tool(
    writer: ValidJsonWriter, persona: Persona, query: Query, tools: Sequence[Tool], *, key: str
) -> list[Tool] | None:
    """The API that serves a request and two alternatives, or None (A.4)."""

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        if answer["api"] != json_schemas.NO_API and len({answer["api"], *answer["others"]}) < 3:
            yield RuleFault("others", "are two others than the API, and differ")

    messages, shape = choice_messages(persona, query, tools), json_schemas.choice_schema(tools)
    answer = writer.write(f"{key}/tool", messages, shape, check=check, most=200, exact=True)
    if answer["api"] == json_schemas.NO_API:
        return None
    tools_by_name = {tool.name: tool for tool in tools}
    return [tools_by_name[name] for name in (answer["api"], *answer["others"])]


def resolve_plan(
    writer: ValidJsonWriter, persona: Persona, query: Query, tool: Tool, *, key: str
) -> dict[str, Any]:
    """The arguments of the call (A.5); free text becomes `*`."""
    if not tool_parameters(tool):
        return {}

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        filled = replace(query, gold=replace(query.gold, args=_arguments(tool, answer)))
        yield from argument_faults(persona, filled, tool)

    messages, shape = plan_messages(persona, query, tool), json_schemas.arguments_schema(tool)
    answer = writer.write(f"{key}/plan", messages, shape, check=check, most=800, exact=True)
    return _arguments(tool, answer)


def write_thought(writer: ValidJsonWriter, persona: Persona, query: Query, *, key: str) -> str:
    """The chain of thought: where to look for what a request leaves out (A.6)."""

    def check(answer: Mapping[str, Any]) -> Iterator[object]:
        thought = " ".join(answer["thought"].split())
        yield from thought_faults(persona, replace(query, gold=replace(query.gold, cot=thought)))

    messages = cot_messages(persona, query)
    answer = writer.write(f"{key}/thought", messages, json_schemas.THOUGHT, check=check, most=300, exact=True)
    return " ".join(answer["thought"].split())


def _arguments(tool: Tool, answer: Mapping[str, Any]) -> dict[str, Any]:
    values = [(draft, answer.get(draft.name)) for draft in tool_parameters(tool)]
    return {
        draft.name: ANY_TEXT if draft.kind == "free" else value
        for draft, value in values
        if value not in (None, "", [])
    }

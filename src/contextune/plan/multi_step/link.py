"""Link a step to earlier steps: resolve "it", "her" and "there" to their arguments, items or results.

If an earlier step already has the value, as an argument or through an item, the later step takes the same
value. If only the result of the earlier step has it, the argument becomes a `Pointer`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from contextune.plan.arguments.options import person_form
from contextune.plan.multi_step.anaphora import Anaphora
from contextune.plan.multi_step.languages import ENGLISH
from contextune.plan.multi_step.split import leading_verb
from contextune.plan.multi_step.steps import Path, Pointer
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import Parameter, is_valid, tool_parameters
from contextune.plan.values import ContactLookup
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Argument, Item, ItemHit, Missing, Plan, Source, Tool, ToolHit

Role = Literal["thing", "person", "place", "time", "text"]
_ROLES: tuple[Role, ...] = ("thing", "person", "place", "time", "text")
_PERSONS = frozenset(
    ["recipient", "recipients", "contact", "contacts", "participant", "participants", "attendee"]
)
_PERSONS_TOO = frozenset(
    ["attendees", "to", "person", "people", "who", "member", "assignee", "user", "guest"]
)
_PLACES = frozenset(
    ["location", "destination", "place", "near", "where", "address", "venue", "business", "city"]
)
_TEXTS = frozenset(["body", "text", "content", "message", "note", "comment", "description"])
_THINGS = frozenset(
    ["id", "key", "uri", "url", "path", "file", "title", "name", "subject", "number", "link", "uid"]
)
_RETURNING_VERBS = frozenset(
    tokenize("""
    get find search list read look lookup show check fetch query translate summarize summarise convert
    compute calculate describe extract transcribe recommend suggest compare scan view download retrieve
    browse
    """)
)
"""Verbs of tools whose result a later step can use."""
_LISTING_VERBS = frozenset(tokenize("search find list lookup look query browse recommend suggest"))
"""Verbs of tools that return a list."""
_CREATING_VERBS = frozenset(tokenize("create make new start set book schedule compose"))
_VERBS = (
    _RETURNING_VERBS
    | _CREATING_VERBS
    | frozenset(
        tokenize("""
    add send write update delete remove cancel move put open play stop share forward reply call invite
    rename pin flag append reschedule complete post insert
    """)
    )
)
_MAX_TOOLS = 4
"""Tools that are considered in place of the first one."""
_MIN_VERB_LENGTH = 3
_OWNER = re.compile(r"\b(\w+)['’]s\b")
_GENERAL_VERBS = _RETURNING_VERBS | _CREATING_VERBS | {"add", "put", "open", "move", "change", "update"}
"""Verbs too general to select a tool by its name: "find" does not mean `find_free_time`."""
_MIN_CONFIDENCE = 0.5
"""An argument taken from an item with at least this confidence is not replaced by a pointer."""


@dataclass(frozen=True, eq=False)
class PlannedStep:
    """A planned step, with its tool and its context items."""

    plan: Plan
    tool: Tool
    items: Sequence[Item] = ()

    @property
    def cited(self) -> list[Item]:
        """The items that its arguments were taken from, in the order of the arguments, or that it finds."""
        sources = [source for argument in self.plan.arguments.values() for source in argument.sources]
        by_id = {item.id: item for item in self.items}
        # a time that is said may name an item near it, but does not come from it
        used = [source for source in sources if not (source.kind == "time" and source.words)]
        ids = dict.fromkeys(source.item for source in used if source.item)
        return [by_id[item_id] for item_id in ids if item_id in by_id] or self._found

    @property
    def _found(self) -> list[Item]:
        """The item whose title has all words of a search, if it is the only one."""
        if not _LISTING_VERBS & _verbs(self.tool):
            return []
        texts = [argument.value for argument in self.plan.arguments.values()]
        words = {word for text in texts if isinstance(text, str) for word in tokenize(text)}
        titled = [item for item in self.items if words and words <= frozenset(tokenize(item.title))]
        return titled if len(titled) == 1 else []


def carry_items(hits: Sequence[ItemHit], earlier: Sequence[PlannedStep], anaphora: Anaphora) -> list[ItemHit]:
    """Put the items that the previous step used in front, if this step refers back to it."""
    if not anaphora.any or not earlier:
        return list(hits)
    scores = [hit.score for hit in hits] or [0.0]
    ahead = 2 * max(scores) - min(scores)
    before = [ItemHit(item, ahead, ("used by the previous step",)) for item in earlier[-1].cited]
    ids = {hit.item.id for hit in before}
    return [*before, *(hit for hit in hits if hit.item.id not in ids)]


def prefer_capable_tool(
    hits: Sequence[ToolHit], part: str, earlier: Sequence[PlannedStep], anaphora: Anaphora
) -> list[ToolHit]:
    """Put in front the tool, among the best few, that the request names or that can take what "it" means."""
    if not hits or (earlier and _accepts_reference(hits[0].tool, anaphora, earlier[-1], roles=("thing",))):
        return list(hits)
    tools = [hit.tool for hit in hits[:_MAX_TOOLS]]
    named = [rank for rank, tool in enumerate(tools) if _is_named_after_verb(tool, part)]
    able = [
        rank for rank, tool in enumerate(tools) if earlier and _accepts_reference(tool, anaphora, earlier[-1])
    ]
    both = [rank for rank in named if rank in able or not anaphora.any]
    if not both and earlier:  # a tool that can take "it" is better than one with a matching name
        both = [rank for rank in named if _is_compatible(tools[rank], anaphora, earlier[-1])]
        if not both and not _is_compatible(hits[0].tool, anaphora, earlier[-1]):
            both = able
    first = next(iter(both or named), 0)
    return [hits[first], *hits[:first], *hits[first + 1 :]]


def _is_named_after_verb(tool: Tool, part: str) -> bool:
    """Whether the tool is named after the verb of the request: "pin it" means `pin_note`."""
    verb = leading_verb(part)
    name = identifier_words(tool.name)
    if len(verb) < _MIN_VERB_LENGTH or verb in _GENERAL_VERBS or not name:
        return False
    return name[0] == verb or (verb not in ENGLISH.nouns and any(word.startswith(verb) for word in name[1:]))


def _is_compatible(tool: Tool, anaphora: Anaphora, before: PlannedStep) -> bool:
    """Whether the tool needs nothing of a kind that the previous step does not provide."""
    if anaphora.time or (anaphora.place and not anaphora.thing):
        return False
    unrelated = any(
        parameter.required
        and argument_role(parameter) == "thing"
        and not _same_kind(parameter, tool, before.tool)
        for parameter in tool_parameters(tool)
    )
    return not anaphora.thing or not unrelated or bool(_CREATING_VERBS & _verbs(tool))


def _accepts_reference(
    tool: Tool, anaphora: Anaphora, before: PlannedStep, roles: Sequence[Role] = _ROLES
) -> bool:
    """Whether the tool has an argument for what the request refers back to."""
    return any(
        _reference(anaphora, role) and _returns(parameter, role, tool, before.tool)
        for parameter in tool_parameters(tool)
        if (role := argument_role(parameter)) in roles
    )


def fill_addressee(plan: Plan, tool: Tool, inputs: PlanningInput) -> Plan:
    """Fill in the person that the part of the request names, if it is one person and the tool takes one."""
    owned = {word for name in _OWNER.findall(inputs.request.text) for word in tokenize(name)}
    counts = inputs.people.count_name_matches([word for word in inputs.tokens if word not in owned])
    matches = [index for index, count in enumerate(counts) if count]
    matches = matches or [index for index, count in enumerate(inputs.relation_matches) if count]
    person_parameters = [
        parameter
        for parameter in tool_parameters(tool)
        if argument_role(parameter) == "person" and parameter.kind == "text"
    ]
    if len(matches) != 1 or len(person_parameters) != 1 or person_parameters[0].name not in plan.arguments:
        return plan
    contact, parameter = inputs.user.contacts[matches[0]], person_parameters[0]
    value = person_form(contact, parameter, tool)
    if inputs.people.index(plan.args[parameter.name]) == matches[0] or not is_valid(value, parameter):
        return plan
    argument = Argument(value, (Source("contact", contact.name, words=contact.relation or ""),))
    arguments = {**plan.arguments, parameter.name: argument}
    return replace(plan, arguments=arguments, confidence=_confidence(plan, arguments))


def link_arguments(
    plan: Plan, tool: Tool, anaphora: Anaphora, earlier: Sequence[PlannedStep], people: ContactLookup
) -> Plan:
    """Fill in the arguments that the request refers back to; without earlier steps, change nothing."""
    if not earlier:
        return plan
    arguments = dict(plan.arguments)
    linked: set[Role] = set()
    for parameter in sorted(tool_parameters(tool), key=lambda parameter: argument_role(parameter) == "text"):
        role, current = argument_role(parameter), arguments.get(parameter.name)
        word = _reference(anaphora, role)
        is_new_name = role == "thing" and parameter.kind == "free"  # the name of something new
        if role is None or not word or is_new_name or (role == "text" and "thing" in linked):
            continue
        value = _earlier_value(parameter, role, tool, current, word, earlier, people)
        if (
            value is None
            and current is None
            and parameter.required
            and _RETURNING_VERBS & _verbs(earlier[-1].tool)
        ):
            value = _point_at(earlier, len(earlier) - 1, parameter, role, word)
        if value is not None:
            arguments[parameter.name] = value
        if value is not None or any(_shares_item(current, before) for before in earlier):
            linked.add(role)
    missing = [question for question in plan.missing if question.argument not in arguments]
    for parameter in _unlinked(tool, arguments) if anaphora.thing and not linked else ():
        del arguments[parameter.name]
        missing.append(Missing(parameter.name, parameter.question))
    ordered = {
        parameter.name: arguments[parameter.name]
        for parameter in tool_parameters(tool)
        if parameter.name in arguments
    }
    return replace(plan, arguments=ordered, missing=tuple(missing), confidence=_confidence(plan, ordered))


def _unlinked(tool: Tool, arguments: Mapping[str, Argument]) -> list[Parameter]:
    """Arguments taken from some item although "it" means something of the previous step."""
    return [
        parameter
        for parameter in tool_parameters(tool)
        if parameter.required
        and parameter.name in arguments
        and argument_role(parameter) == "thing"
        and parameter.kind != "free"
    ]


def _confidence(plan: Plan, arguments: Mapping[str, Argument]) -> float:
    confidence = plan.confidence
    for name, argument in arguments.items():
        old = plan.arguments.get(name)
        if old is not argument:
            before = old.confidence if old and old.confidence else 1.0
            confidence = confidence * argument.confidence / before
    return min(1.0, confidence)


def argument_role(parameter: Parameter) -> Role | None:
    """What kind of pronoun may refer to an argument; None for numbers, choices and the like."""
    name = frozenset(parameter.words)
    if parameter.kind in ("moment", "day"):
        return "time"
    if name & _PERSONS or name & _PERSONS_TOO:
        return "person"
    if parameter.kind in ("number", "boolean", "choice", "duration", "list"):
        return None
    if name & _PLACES:
        return "place"
    last = parameter.words[-1] if parameter.words else ""
    return "thing" if last in _THINGS else "text" if last in _TEXTS else None


def _reference(anaphora: Anaphora, role: Role | None) -> str:
    match role:
        case "thing" | "text":
            return anaphora.thing
        case "person":
            return anaphora.person
        case "place":
            return anaphora.place or anaphora.thing
        case "time":
            return anaphora.time
        case _:
            return ""


def _earlier_value(
    parameter: Parameter,
    role: Role,
    tool: Tool,
    current: Argument | None,
    word: str,
    earlier: Sequence[PlannedStep],
    people: ContactLookup,
) -> Argument | None:
    """Find the value in the earlier steps, the last one first; None to keep the current value."""
    for index in reversed(range(len(earlier))):
        before = earlier[index]
        same = _same_argument(parameter, role, tool, before, people)
        if same is not None:
            source = Source("step", field=same[0], words=word)
            return Argument(same[1].value, (source, *same[1].sources), same[1].confidence)
        if not _returns(parameter, role, tool, before.tool):
            continue
        if role != "text" and _is_settled(current, before):
            return None
        return _point_at(earlier, index, parameter, role, word)
    return None


def _same_argument(
    parameter: Parameter, role: Role, tool: Tool, before: PlannedStep, people: ContactLookup
) -> tuple[str, Argument] | None:
    """The argument of an earlier step with the same meaning: the note it made, the person it called."""
    # after a renaming, the new name is valid
    for other in sorted(tool_parameters(before.tool), key=lambda parameter: "new" not in parameter.words):
        argument = before.plan.arguments.get(other.name)
        if argument is None or argument_role(other) != role or role == "text":
            continue
        if role == "thing" and not (
            other.words[-1:] == parameter.words[-1:] and _same_kind(parameter, tool, before.tool)
        ):
            continue
        if isinstance(argument.value, Pointer):
            return other.name, argument
        if role == "person" and (contact := people.get(argument.value)) is not None:
            argument = replace(argument, value=person_form(contact, parameter, tool))
        if is_valid(argument.value, parameter):
            return other.name, argument
    return None


def _is_settled(current: Argument | None, before: PlannedStep) -> bool:
    """Whether the value comes from an item of the earlier step, with enough confidence."""
    return current is not None and current.confidence >= _MIN_CONFIDENCE and _shares_item(current, before)


def _shares_item(current: Argument | None, before: PlannedStep) -> bool:
    """Whether the value comes from an item of the earlier step."""
    ids = {source.item for source in current.sources if source.item} if current else set[str]()
    return bool(ids & {item.id for item in before.cited})


def _returns(parameter: Parameter, role: Role | None, tool: Tool, before: Tool) -> bool:
    """Whether the earlier tool returns such a thing."""
    nouns = _nouns(before)
    if role == "thing":
        return _same_kind(parameter, tool, before)
    if not _RETURNING_VERBS & _verbs(before):
        return False
    if role == "place":
        return bool(nouns & (_PLACES | {"places", "shop", "restaurant", "poi", "event", "hotel", "map"}))
    if role == "time":
        return bool(nouns & {"time", "slot", "slots", "free", "availability", "event", "schedule", "hours"})
    return role == "text"


def _same_kind(parameter: Parameter, tool: Tool, before: Tool) -> bool:
    """Whether both tools handle the same kind of thing: one searches mails, the other forwards a mail."""
    own = frozenset(map(_singular, parameter.words[:-1])) or _nouns(tool)
    return bool(own & _nouns(before))


def _nouns(tool: Tool) -> frozenset[str]:
    return (
        frozenset(map(_singular, identifier_words(tool.name)))
        - _VERBS
        - {"to", "by", "from", "for", "of", "all"}
    )


def _verbs(tool: Tool) -> frozenset[str]:
    return frozenset(identifier_words(tool.name)) & _VERBS


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _point_at(
    earlier: Sequence[PlannedStep], index: int, parameter: Parameter, role: Role, word: str
) -> Argument:
    """A pointer to an earlier result: all of it for a text, else the field named like the argument."""
    path: Path = ()
    if role != "text":
        first = (0,) if _LISTING_VERBS & _verbs(earlier[index].tool) else ()
        path = (*first, parameter.name)
    return Argument(Pointer(index, path), (Source("step", field=parameter.name, words=word),))

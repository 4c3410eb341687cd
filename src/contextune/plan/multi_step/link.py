"""A step tied to the steps before it: what "it" and "there" stand for, and what is known only later.

Where the earlier step was itself given the thing, or hangs on an item of the user's, the later one takes the
same. Where only the earlier step's result can say, the argument becomes a `Pointer` at it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from contextune.plan.multi_step.anaphora import Anaphora
from contextune.plan.multi_step.languages import ENGLISH
from contextune.plan.multi_step.split import opening
from contextune.plan.multi_step.steps import Path, Pointer
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import spelled
from contextune.plan.pointer.free_text import question
from contextune.plan.schema import Parameter, fits, parameters
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
_GIVES = frozenset(
    tokenize("""
    get find search list read look lookup show check fetch query translate summarize summarise convert
    compute calculate describe extract transcribe recommend suggest compare scan view download retrieve
    browse
    """)
)
"""What tools do that give back something to go on with."""
_LOOKS = frozenset(tokenize("search find list lookup look query browse recommend suggest"))
"""Those of them that give back several things."""
_MAKES = frozenset(tokenize("create make new start set book schedule compose"))
_VERBS = (
    _GIVES
    | _MAKES
    | frozenset(
        tokenize("""
    add send write update delete remove cancel move put open play stop share forward reply call invite
    rename pin flag append reschedule complete post insert
    """)
    )
)
_AMONG = 4
"""So many of the best tools are looked at for one that suits better than the first."""
_SHORTEST = 3
_OWNER = re.compile(r"(\w+)['’]s\b")
_ANYTHING = _GIVES | _MAKES | {"add", "put", "open", "move", "change", "update"}
"""What is said of all kinds of things, and tells no tool from another: "find" is not for `find_free_time`."""
_SURE = 0.5
"""An argument that was read off an item with at least this probability is not left to a later result."""


@dataclass(frozen=True, eq=False)
class PlannedStep:
    """A step that is planned, with its tool and the items it hangs on."""

    plan: Plan
    tool: Tool
    items: Sequence[Item] = ()

    @property
    def cited(self) -> list[Item]:
        """The items that its arguments were read from, in the order of the arguments."""
        named = [source.item for one in self.plan.arguments.values() for source in one.sources if source.item]
        by_id = {item.id: item for item in self.items}
        return [by_id[name] for name in dict.fromkeys(named) if name in by_id]


def carry_items(hits: Sequence[ItemHit], earlier: Sequence[PlannedStep], said: Anaphora) -> list[ItemHit]:
    """The items of a step with those of the step before far in front, where it points back at that."""
    if not said.any or not earlier:
        return list(hits)
    scores = [hit.score for hit in hits] or [0.0]
    ahead = 2 * max(scores) - min(scores)
    before = [ItemHit(item, ahead, ("the step before hangs on it",)) for item in earlier[-1].cited]
    known = {hit.item.id for hit in before}
    return [*before, *(hit for hit in hits if hit.item.id not in known)]


def prefer_capable_tool(
    hits: Sequence[ToolHit], part: str, earlier: Sequence[PlannedStep], said: Anaphora
) -> list[ToolHit]:
    """The tools, in front of them the one among the best few that the order names or that can take "it"."""
    if not hits or (earlier and _takes(hits[0].tool, said, earlier[-1], roles=("thing",))):
        return list(hits)
    places = range(len(hits[:_AMONG]))
    named = [place for place in places if _is_called(hits[place].tool, part)]
    able = [place for place in places if earlier and _takes(hits[place].tool, said, earlier[-1])]
    both = [place for place in named if place in able or not said.any]
    if not both and earlier:  # rather a tool that can take "it" than one that is only called alike
        both = [place for place in named if _stays(hits[place].tool, said, earlier[-1])]
        if not both and not _stays(hits[0].tool, said, earlier[-1]):
            both = able
    first = next(iter(both or named), 0)
    return [hits[first], *hits[:first], *hits[first + 1 :]]


def _is_called(tool: Tool, part: str) -> bool:
    """Whether the tool is called after the verb of the order: "pin it" is for `pin_note`."""
    verb = opening(part)
    name = identifier_words(tool.name)
    if len(verb) < _SHORTEST or verb in _ANYTHING or not name:
        return False
    return name[0] == verb or (verb not in ENGLISH.nouns and any(word.startswith(verb) for word in name[1:]))


def _stays(tool: Tool, said: Anaphora, before: PlannedStep) -> bool:
    """Whether a tool is none that needs a thing of a kind that the step before has nothing to do with."""
    if said.time or (said.place and not said.thing):
        return False
    needed = [one for one in parameters(tool) if one.required and role_of(one) == "thing"]
    alien = any(not _of_one_kind(one, tool, before.tool) for one in needed)
    return not said.thing or not alien or bool(_MAKES & _does(tool))


def _takes(tool: Tool, said: Anaphora, before: PlannedStep, roles: Sequence[Role] = _ROLES) -> bool:
    """Whether the tool has an argument for what is pointed back at."""
    return any(
        _word(said, role) and _tells(parameter, role, tool, before.tool)
        for parameter in parameters(tool)
        if (role := role_of(parameter)) in roles
    )


def fill_addressee(plan: Plan, tool: Tool, situation: PlanningInput) -> Plan:
    """The plan with whom the part itself names, where it is one alone and the tool takes one."""
    owned = {word for name in _OWNER.findall(situation.request.text) for word in tokenize(name)}
    named = situation.people.named([word for word in situation.words if word not in owned])
    meant = [number for number, count in enumerate(named) if count]
    meant = meant or [number for number, count in enumerate(situation.related) if count]
    takers = [one for one in parameters(tool) if role_of(one) == "person" and one.kind == "text"]
    if len(meant) != 1 or len(takers) != 1 or takers[0].name not in plan.arguments:
        return plan
    contact, taker = situation.user.contacts[meant[0]], takers[0]
    value = spelled(contact, taker)
    if situation.people.number(plan.args[taker.name]) == meant[0] or not fits(value, taker):
        return plan
    argument = Argument(value, (Source("contact", contact.name, words=contact.relation or ""),))
    given = {**plan.arguments, taker.name: argument}
    return replace(plan, arguments=given, confidence=_confidence(plan, given))


def link_arguments(
    plan: Plan, tool: Tool, said: Anaphora, earlier: Sequence[PlannedStep], people: ContactLookup
) -> Plan:
    """The plan with what it points back at, in the order of its schema; untouched where it points nowhere."""
    if not earlier:
        return plan
    given = dict(plan.arguments)
    bound: set[Role] = set()
    for parameter in sorted(parameters(tool), key=lambda one: role_of(one) == "text"):
        role, now = role_of(parameter), given.get(parameter.name)
        word = _word(said, role)
        named = role == "thing" and parameter.kind == "free"  # a tool that makes something gives it a name
        if role is None or not word or named or (role == "text" and "thing" in bound):
            continue
        found = _found(parameter, role, tool, now, word, earlier, people)
        if found is None and now is None and parameter.required and _GIVES & _does(earlier[-1].tool):
            found = _pointing(earlier, len(earlier) - 1, parameter, role, word)
        if found is not None:
            given[parameter.name] = found
        if found is not None or any(_shares(now, before) for before in earlier):
            bound.add(role)
    missing = [one for one in plan.missing if one.argument not in given]
    for parameter in _guessed(tool, given) if said.thing and not bound else ():
        del given[parameter.name]
        missing.append(Missing(parameter.name, question(parameter)))
    order = {one.name: given[one.name] for one in parameters(tool) if one.name in given}
    return replace(plan, arguments=order, missing=tuple(missing), confidence=_confidence(plan, order))


def _guessed(tool: Tool, given: Mapping[str, Argument]) -> list[Parameter]:
    """Things that were read off any item, where "it" is something of the step before that is not known."""
    return [
        one
        for one in parameters(tool)
        if one.required and one.name in given and role_of(one) == "thing" and one.kind != "free"
    ]


def _confidence(plan: Plan, given: Mapping[str, Argument]) -> float:
    sure = plan.confidence
    for name, argument in given.items():
        old = plan.arguments.get(name)
        if old is not argument:
            sure = sure * argument.confidence / (old.confidence if old and old.confidence else 1.0)
    return min(1.0, sure)


def role_of(parameter: Parameter) -> Role | None:
    """What an argument stands for in what people say; nothing for numbers, choices and the like."""
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


def _word(said: Anaphora, role: Role | None) -> str:
    match role:
        case "thing" | "text":
            return said.thing
        case "person":
            return said.person
        case "place":
            return said.place or said.thing
        case "time":
            return said.time
        case _:
            return ""


def _found(
    parameter: Parameter,
    role: Role,
    tool: Tool,
    now: Argument | None,
    word: str,
    earlier: Sequence[PlannedStep],
    people: ContactLookup,
) -> Argument | None:
    """What stands for the argument in the steps before, the last one first; None to leave it as it is."""
    for place in reversed(range(len(earlier))):
        before = earlier[place]
        same = _given(parameter, role, tool, before, people)
        if same is not None:
            source = Source("step", field=same[0], words=word)
            return Argument(same[1].value, (source, *same[1].sources), same[1].confidence)
        if not _tells(parameter, role, tool, before.tool):
            continue
        if role != "text" and _known(now, before):
            return None
        return _pointing(earlier, place, parameter, role, word)
    return None


def _given(
    parameter: Parameter, role: Role, tool: Tool, before: PlannedStep, people: ContactLookup
) -> tuple[str, Argument] | None:
    """The argument of the step before that means the same: the note it made, the person it called."""
    # what was renamed or moved goes by its new name
    for other in sorted(parameters(before.tool), key=lambda one: "new" not in one.words):
        argument = before.plan.arguments.get(other.name)
        if argument is None or role_of(other) != role or role == "text":
            continue
        if role == "thing" and not (
            other.words[-1:] == parameter.words[-1:] and _of_one_kind(parameter, tool, before.tool)
        ):
            continue
        if isinstance(argument.value, Pointer):
            return other.name, argument
        if role == "person" and (contact := people.of(argument.value)) is not None:
            argument = replace(argument, value=spelled(contact, parameter))
        if fits(argument.value, parameter):
            return other.name, argument
    return None


def _known(now: Argument | None, before: PlannedStep) -> bool:
    """Whether the value was read off an item that the step before hangs on, and surely enough."""
    return now is not None and now.confidence >= _SURE and _shares(now, before)


def _shares(now: Argument | None, before: PlannedStep) -> bool:
    """Whether the value was read off an item that the step before hangs on."""
    mine = {source.item for source in now.sources if source.item} if now else set[str]()
    return bool(mine & {item.id for item in before.cited})


def _tells(parameter: Parameter, role: Role | None, tool: Tool, before: Tool) -> bool:
    """Whether the tool before gives back such a thing."""
    does, of = _does(before), _nouns(before)
    if role == "thing":
        return _of_one_kind(parameter, tool, before)
    if not _GIVES & does:
        return False
    if role == "place":
        return bool(of & (_PLACES | {"places", "shop", "restaurant", "poi", "event", "hotel", "map"}))
    if role == "time":
        return bool(of & {"time", "slot", "slots", "free", "availability", "event", "schedule", "hours"})
    return role == "text"


def _of_one_kind(parameter: Parameter, tool: Tool, before: Tool) -> bool:
    """Whether both tools are about the same kind of thing: mails are searched, and a mail is sent on."""
    own = frozenset(map(_singular, parameter.words[:-1])) or _nouns(tool)
    return bool(own & _nouns(before))


def _nouns(tool: Tool) -> frozenset[str]:
    return (
        frozenset(map(_singular, identifier_words(tool.name)))
        - _VERBS
        - {"to", "by", "from", "for", "of", "all"}
    )


def _does(tool: Tool) -> frozenset[str]:
    return frozenset(identifier_words(tool.name)) & _VERBS


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _pointing(
    earlier: Sequence[PlannedStep], place: int, parameter: Parameter, role: Role, word: str
) -> Argument:
    """The result of an earlier step: all of it for a text, else the field called like the argument."""
    path: Path = ()
    if role != "text":
        first = (0,) if _LOOKS & _does(earlier[place].tool) else ()
        path = (*first, parameter.name)
    return Argument(Pointer(place, path), (Source("step", field=parameter.name, words=word),))

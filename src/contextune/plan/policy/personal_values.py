"""Keep personal values out of the calls of foreign tools, unless the request refers to what they are from.

A call of the user's own applications is shown first if it rests on what a stranger wrote or reaches nobody.

The bundled tools belong to the user's own applications. Any other tool is somebody else's: a value of an
item, a contact or the profile goes into one of its arguments only if the request refers to that item or
person. Values are removed, never filled in; a required argument without one is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, cast

from contextune.plan.lures import is_by_stranger
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy.readings import Readings
from contextune.plan.policy.references import Reference, References
from contextune.plan.policy.wording import parse_moment
from contextune.plan.schema import Parameter, tool_parameters
from contextune.plan.values import ADDRESS, normalize_text
from contextune.plan.words import folded_words
from contextune.search.tokenize import tokenize
from contextune.tools.profiles.effects import tool_effect
from contextune.tools.toolbox import bundled_toolbox
from contextune.types import Argument, Item, Missing, Plan, Source, Tool

_PERSONAL = frozenset(["item", "contact", "profile", "place", "time", "frame"])
"""Kinds of sources that may be personal; those of a time and a frame are if they name an item."""
_MIN_DIGITS = 7
"""Digits of a phone number or an account."""
_MIN_TEXT = 4
_NEEDED, _SURE = 0.35, 0.3
"""Least probability of an item that the request needs it, and of a value that it is meant, without which only
the words of a request refer to them."""
_PLACES = frozenset(
    [
        *("location", "destination", "place", "near", "where", "city", "area", "venue"),
        *("business", "shop", "store", "restaurant"),
    ]
)
"""Words in the names of arguments that take a place."""


_PEOPLE = frozenset(
    ["to", "contact", "recipient", "recipients", "attendee", "attendees", "guest", "guests", "person"]
)
"""Words in the names of arguments that take people."""


def guard_readings(
    readings: Readings, inputs: PlanningInput, find_tool: Callable[[str], Tool], trusted: frozenset[str]
) -> Readings:
    """The readings without personal values that the request does not refer to.

    `Readings.shows_first` is set if the first call has personal values that its user should see before.
    """
    guarded = [guard_plan(plan, find_tool(plan.tool), inputs) for plan in readings.plans]
    plans = tuple(plan for plan, _ in guarded)
    if not guarded or find_tool(plans[0].tool).app in trusted:
        return replace(readings, plans=plans)
    return replace(readings, plans=plans, shows_first=guarded[0][1])


def guard_plan(plan: Plan, tool: Tool, inputs: PlanningInput) -> tuple[Plan, bool]:
    """The plan without personal values that nothing refers to, and whether to show it before it is made."""
    if is_bundled(tool):
        return plan, _rests_on_a_stranger(plan, tool, inputs) or _reaches_nobody(plan, tool, inputs)
    values = PersonalValues(inputs, tool)
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    kept: dict[str, Argument] = {}
    missing = list(plan.missing)
    shown = False
    for name, argument in plan.arguments.items():
        parameter = declared.get(name)
        reference = values.reference(argument, parameter)
        if reference is None:
            if parameter is not None and parameter.required:
                missing.append(Missing(name, parameter.question))
            continue
        kept[name] = argument
        shown = shown or reference in ("kind", "needed")
        shown = shown or (reference == "named" and not values.only_reads)
    if len(kept) < len(plan.arguments):
        plan = replace(plan, arguments=kept, missing=tuple(missing))
    return plan, shown


def is_bundled(tool: Tool) -> bool:
    """Whether a tool is one of the bundled applications, unchanged."""
    if tool.id not in _bundled():
        return False
    return _bundled()[tool.id] is tool or _bundled()[tool.id].identity == tool.identity


def _rests_on_a_stranger(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """Whether a call that changes something takes an item of a stranger that no word of the request names.

    Anybody can call an invitation "All", so that it is what "cancel it all" seems to mean.
    """
    strange = [item for item in _items_of(plan, inputs) if is_by_stranger(item, inputs.people)]
    if not strange or tool_effect(tool).only_reads:
        return False
    references = References(inputs, tool)
    return any(references.to_item(item) != "named" for item in strange)


def _reaches_nobody(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """Whether a call is to reach somebody who is no contact, nor has a number: "call the dentist"."""
    if "sends" not in tool_effect(tool).kinds:
        return False
    declared = {parameter.name: parameter for parameter in tool_parameters(tool)}
    for name, argument in plan.arguments.items():
        if name not in declared or _PEOPLE.isdisjoint(declared[name].words):
            continue
        others = (person for item in _items_of(plan, inputs, name) for person in item.people)
        ways = [person for person in others if person.casefold() not in inputs.user.addresses]
        for text in _texts(argument.value):
            if inputs.people.get(text) is None and not any(map(_reaches_somebody, (text, *ways))):
                return True
    return False


def _items_of(plan: Plan, inputs: PlanningInput, name: str | None = None) -> list[Item]:
    """The items from which the values of a call are, or that of one argument."""
    arguments = plan.arguments.values() if name is None else [plan.arguments[name]]
    used = {source.item for argument in arguments for source in argument.sources if source.kind != "contact"}
    return [item for item in inputs.items if item.id in used]


@dataclass(frozen=True, eq=False)
class PersonalValues:
    """Judges the values of one call of a foreign tool."""

    inputs: PlanningInput
    tool: Tool

    def reference(self, argument: Argument, parameter: Parameter | None) -> Reference | str | None:
        """How the request refers to what a value is from.

        None if not at all, "said" if the value is not personal, "needed" if no word refers to it, but the
        request most probably needs the item.
        """
        if self._is_said(argument.value):
            return "said"
        sources = [source for source in argument.sources if source.kind in _PERSONAL]
        if not argument.sources:
            sources = self._find_sources(argument.value)
        items = [item for source in sources if (item := self._item(source)) is not None]
        found: list[Reference | str | None] = [
            self._source(source, argument.value, parameter, items) for source in sources
        ]
        if None in found:
            return "needed" if self._is_needed(argument, parameter, sources) else None
        is_weak = "kind" in found
        if is_weak and (parameter is None or not parameter.required):
            return None
        return "kind" if is_weak else "named" if "named" in found else "said"

    def _is_needed(self, argument: Argument, parameter: Parameter | None, sources: Sequence[Source]) -> bool:
        """Whether a required value is the title or a person of items that the request most probably needs.

        Addresses, numbers and links are never taken on these grounds, nor other fields of an item, nor what
        a stranger wrote.
        """
        if parameter is None or not parameter.required or argument.confidence < _SURE:
            return False
        if any(map(_reaches_somebody, _texts(argument.value))):
            return False
        probable = [hit.item for hit in self.inputs.read_hits if (hit.probability or 0.0) >= _NEEDED]
        needed = [item for item in probable if not is_by_stranger(item, self.inputs.people)]
        people = {person.casefold() for item in needed for person in item.people}
        titles = {item.id: item.title for item in needed}
        return all(
            self._is_person(source, people)
            if source.kind == "contact"
            else source.item is not None and titles.get(source.item) in _texts(argument.value)
            for source in sources
        )

    def _is_person(self, source: Source, people: set[str]) -> bool:
        contact = self.inputs.people.get(source.item)
        ways = (contact.name, contact.email, contact.phone) if contact else ()
        return any(way is not None and way.casefold() in people for way in ways)

    @cached_property
    def only_reads(self) -> bool:
        """Whether the tool changes nothing."""
        return tool_effect(self.tool).only_reads

    @cached_property
    def _references(self) -> References:
        return References(self.inputs, self.tool)

    @cached_property
    def _items(self) -> dict[str, Item]:
        return {hit.item.id: hit.item for hit in self.inputs.hits}

    def _item(self, source: Source) -> Item | None:
        is_item = source.kind != "contact" and source.item is not None
        return self._items.get(source.item or "") if is_item else None

    def _source(
        self, source: Source, value: Any, parameter: Parameter | None, items: Sequence[Item]
    ) -> Reference | str | None:
        match source.kind:
            case "contact":
                contact = self.inputs.people.get(source.item)
                return None if contact is None else self._references.to_contact(contact, items)
            case "place" | "profile":
                return self._own(source, value, parameter)
            case _:
                if source.item is None or (source.kind == "time" and source.words):
                    return "said"
                return self._of_item(self._items.get(source.item), value)

    def _of_item(self, item: Item | None, value: Any) -> Reference | None:
        if item is None:  # of an earlier step
            return "named" if self._references.refers_back else None
        found: list[Reference | None] = [self._references.to_item(item)]
        for text in _texts(value):
            if (contact := self.inputs.people.get(text)) is not None:
                found.append(self._references.to_contact(contact, [item]))
            elif text.casefold() in self.inputs.user.addresses:
                is_meant = self._references.is_of_kind(item) and self._references.mentions_self
                found.append("named" if is_meant else None)
            elif _reaches_somebody(text):
                found.append("named" if self._references.to_sender(item) else None)
        people = found[1:]
        if people and None not in people and found[0] is None:
            found = people  # a person may be named without the item
        return None if None in found else "kind" if "kind" in found else "named"

    def _own(self, source: Source, value: Any, parameter: Parameter | None) -> Reference | None:
        """A place or a field of the user's own profile."""
        words = {word for text in (source.field or "", *_texts(value)) for word in tokenize(text)}
        if words & {*self.inputs.tokens}:
            return "named"
        if parameter is None or _PLACES.isdisjoint(parameter.words):
            return None
        return "named" if self._references.is_here else "kind" if self.only_reads else None

    def _is_said(self, value: Any) -> bool:
        """Whether the request itself has all words of the value."""
        texts = [folded_words(text) for text in _texts(value)]
        return bool(texts) and all(words and self._references.said.issuperset(words) for words in texts)

    def _find_sources(self, value: Any) -> list[Source]:
        """The items and contacts that have exactly this text, for planners that name no sources."""
        sources: list[Source] = []
        for text in _texts(value):
            if (contact := self.inputs.people.get(text)) is not None:
                sources.append(Source("contact", contact.name))
                continue
            wanted = normalize_text(text)
            if len(wanted) < _MIN_TEXT or parse_moment(text) is not None:
                continue
            sources += [
                Source("item", item.id)
                for item in self._items.values()
                if any(_is_from(wanted, normalize_text(part)) for part in _item_texts(item))
            ]
        return sources


def _texts(value: Any) -> list[str]:
    """The texts in a value."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in cast("dict[str, Any]", value).values() for text in _texts(part)]
    if isinstance(value, list | tuple):
        return [text for part in cast("Sequence[Any]", value) for text in _texts(part)]
    return []


def _item_texts(item: Item) -> list[str]:
    return [text for value in item.fields.values() for text in _texts(value)]


def _is_from(value: str, text: str) -> bool:
    """Whether a value is a field of an item, or an address, a link or a number in it."""
    return value == text or (_reaches_somebody(value) and value in text)


def _reaches_somebody(text: str) -> bool:
    """Whether a text has an address, a link or a number by which somebody is reached."""
    digits = sum(character.isdigit() for character in text)
    is_number = digits >= _MIN_DIGITS and not any(character.isalpha() for character in text)
    return is_number or "://" in text or ADDRESS.search(text) is not None


@cache
def _bundled() -> dict[str, Tool]:
    return {tool.id: tool for tool in bundled_toolbox()}

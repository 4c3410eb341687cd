"""Orders to pass on what is stored: "Send the audit mail to Ana", "Share the market prices with Bo"."""

import re

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.orders.tool_kinds import starts_with
from contextune.plan.calls.used_data import reached_people
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.people.senders import sender_of
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.values import normalize_text
from contextune.search.glosses import gloss
from contextune.types import Item, Plan, Tool

_SEND_ITEM = re.compile(
    rf"{OPENING}(?:send|forward|pass(?: on)?|share) (?:(?:the|that|this|my|our) |[^.,;:!?]{{0,80}}['’]s )"
    r"(?:[^.,;:!?]{0,80} )?"
    r"(?P<kind>mail|e-?mail|message|note)\b[^.,;:!?]{0,80} (?:to|with) \S",
    re.IGNORECASE,
)
_SHARE = re.compile(
    rf"{OPENING}share (?:(?:the|my|our) )?(?:note )?(?P<title>\S.{{0,300}}?)"
    rf"(?: note)? with\s+\S",
    re.IGNORECASE,
)
_SEND_ON = re.compile(
    rf"{OPENING}(?:(?:send|pass|forward) (?!(?:it|that|this|them) on\b)"
    r"(?P<sent>\S[^.,;:!?]{0,300}?) on|pass on (?P<passed>\S[^.,;:!?]{0,300}?)"
    r"|send (?:the|that|this|my|our) (?P<named>\S[^.,;:!?]{0,300}?)) to\s+\S",
    re.IGNORECASE,
)
"""An order to pass something on; "send the … to" is one if that is what a mail or a note is called."""
_PASS_ON = re.compile(
    rf"{OPENING}(?:forward|send|share|pass)(?: on)? (?:the|my|our|that|this) (?P<what>[^.,;:!?]{{1,300}}?)"
    r" (?:from|by|of|about|to|with)\b",
    re.IGNORECASE,
)
_PASSED_APPS = frozenset(["Mail", "Notes"])
_PASSING = frozenset(["forward", "share"])


def passes_on(tool: Tool) -> bool:
    """Whether a tool sends an item to somebody: "forward_email", "share_note"."""
    return starts_with(tool, _PASSING)


def passed_on_app(inputs: PlanningInput) -> str | None:
    """The application of the item that the request says to send to somebody; None if it says none."""
    if match := _SEND_ITEM.match(inputs.request.text):
        return item_app(match["kind"])
    if match := _SEND_ON.match(inputs.request.text):
        return _app_of(match["named"] or "", inputs) or (None if match["named"] else _sent_on(match, inputs))
    return "Notes" if shared_note(inputs) is not None else None


def _sent_on(match: re.Match[str], inputs: PlanningInput) -> str:
    """The application of what is sent on; most of what is passed on is mail."""
    return _app_of(match["sent"] or match["passed"], inputs) or "Mail"


def _app_of(name: str, inputs: PlanningInput) -> str | None:
    """The only application with a mail or a note in whose title all words are; None for a single word."""
    words = frozenset(folded_words(name)) - STOP_WORDS
    items = [item for item in inputs.items if item.app in _PASSED_APPS]
    apps = {item.app for item in items if words.issubset(folded_words(item.title))}
    return apps.pop() if len(apps) == 1 and len(words) > 1 else None


def shared_note(inputs: PlanningInput) -> str | None:
    """The title of the note that is to be shared, if all of it is said."""
    match = _SHARE.match(inputs.request.text)
    title = normalize_text(match["title"]) if match else ""
    notes = (item.title for item in inputs.items if item.app == "Notes")
    titles = {name for name in notes if normalize_text(name) == title}
    return titles.pop() if len(titles) == 1 else None


def passes_on_something_else(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sends a message to its own sender, or an item with no word of what the request says to pass on."""
    if not passes_on(tool):
        return False
    taken = {source.item for argument in plan.arguments.values() for source in argument.sources}
    items = [item for item in inputs.items if item.id in taken]
    reached = reached_people(plan, inputs)
    if any(sender_of(item) and inputs.people.index(sender_of(item)) in reached for item in items):
        return True
    match = _PASS_ON.match(inputs.request.text)
    words = frozenset(folded_words(match["what"])) - STOP_WORDS if match else frozenset[str]()
    words = frozenset(word for word in words if item_app(word) is None)
    return bool(words and items) and not any(words & _words(item, inputs) for item in items)


def _words(item: Item, inputs: PlanningInput) -> frozenset[str]:
    """The words of an item, of an English gloss of its title, and of the people in it."""
    people = filter(None, map(inputs.people.get, item.people))
    described = " ".join(f"{person.name} {person.relation or ''}" for person in people)
    return frozenset(folded_words(f"{item.text} {gloss(item.title)} {sender_of(item)} {described}"))

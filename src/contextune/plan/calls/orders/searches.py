"""What a request says to search: the web, the news, pictures, places, or the user's own mails and notes.

"Search for …" alone is a search of the web, unless the words are those of an item: "Search for the invoice
from the electricity company" means the user's mail.
"""

import re
from collections.abc import Callable

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.orders.tool_kinds import starts_with
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.references import item_app
from contextune.plan.pointer.people.named_people import said_sender
from contextune.plan.pointer.people.senders import company_message, sender_of
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.argument_words import SENDERS
from contextune.plan.policy.cost import singular
from contextune.plan.schema import tool_parameters
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Tool

_SEARCH = re.compile(
    rf"{OPENING}(?:(?:do |run )?(?:a |an )?(?:quick )?(?:web |online |internet )?search"
    r"(?: (?:the (?:web|internet|net)|online|on google|google))? (?:for|on|about)"
    r"|google(?: for)?|look up|search up)\s+(?P<what>\S.*)",
    re.IGNORECASE,
)
_WEB = re.compile(r"\b(?:web|internet|online|google)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:my|our)\b|^(?:that|this)\b", re.IGNORECASE)
_THING = re.compile(
    r"the (?P<thing>.{1,300}?)(?:\s(?:for|of|from|in|about|on|by"
    r"|to|with)\s|$)",
    re.IGNORECASE,
)
"""What "the invoice of the plumber" is."""
_BY = re.compile(r"\b(?:from|by) [A-Z]")
_ABOUT = re.compile(
    rf"{OPENING}(?:show|find|get|open|read|list|search|pull up|bring up)(?: me)?(?: up)?"
    r"(?: (?:all|any|the|my|our|of)){0,8} (?P<kind>notes|e-?mails|mails|messages)"
    r" (?:on|about|regarding|concerning|mentioning|that mention)\s+\S",
    re.IGNORECASE,
)
_FROM = re.compile(
    rf"{OPENING}(?:(?:show|find|get|list|search|pull up|bring up|give)(?: me)? )?"
    r"(?:everything|anything|all|whatever)(?: (?:i (?:have|got)|there is|that came))?"
    r" (?:from|by) (?P<who>\S.{0,300}?)[\s.!?]*$",
    re.IGNORECASE,
)
"""Asks for all messages of somebody: songs and notes are said by their own words."""
_SEARCHING = frozenset(["search"])
_KINDS = frozenset(
    tokenize("""
    news headline headlines picture pictures image images photo photos pic pics video videos clip clips
    tutorial tutorials trailer song songs music album albums band artist playlist near nearby restaurant
    restaurants cafe café coffee bar pub shop shops store supermarket pharmacy hotel hotels garage station
    park gym bakery museum cinema place places around close closest nearest hairdresser barber dentist doctor
    vet petrol atm opening hours directions route way weather forecast
    """)
)
"""Words for what other tools than the search of the web find."""


def searched_kind(inputs: PlanningInput) -> Callable[[Tool], bool] | None:
    """Accepts the tools that search where the request says; None if it leaves that open."""
    text = inputs.request.text
    if match := _ABOUT.match(text):
        app = item_app(match["kind"])
        return lambda tool: tool.app == app and _searches(tool)
    if (match := _FROM.match(text)) and (
        _is_sender(match["who"], inputs)
        or company_message(inputs) is not None
        or said_sender(inputs) is not None
    ):
        return lambda tool: _searches(tool) and any(SENDERS & {*p.words} for p in tool_parameters(tool))
    match = _SEARCH.match(text)
    if match is None:
        return None
    words = tokenize(match["what"])
    if any(word in _KINDS or item_app(singular(word)) for word in words) or _BY.search(match["what"]):
        return None  # the tool is told by its own words
    if not _WEB.search(text) and (_OWN.search(match["what"]) or _is_own(match["what"], inputs)):
        return _searches_own
    return lambda tool: _searches(tool) and "web" in identifier_words(tool.name)


def _is_sender(who: str, inputs: PlanningInput) -> bool:
    """Whether a message that was retrieved is from somebody of this name."""
    words = frozenset(folded_words(who))
    senders = (sender_of(hit.item) for hit in inputs.hits)
    return any(words.issubset(folded_words(sender.replace(".", " "))) for sender in senders if sender)


def _is_own(what: str, inputs: PlanningInput) -> bool:
    """Whether an item of the user's has all the words of what is searched; after "the", of the thing."""
    if (thing := _THING.match(what)) and _in_item(thing["thing"], inputs):
        return True
    return len(_telling(what)) > 1 and _in_item(what, inputs)


def _in_item(text: str, inputs: PlanningInput) -> bool:
    words = _telling(text)
    return bool(words) and any(words.issubset(folded_words(item.text)) for item in inputs.items)


def _telling(text: str) -> frozenset[str]:
    return frozenset(folded_words(text)) - STOP_WORDS


def _searches(tool: Tool) -> bool:
    return starts_with(tool, _SEARCHING)


def _searches_own(tool: Tool) -> bool:
    """Whether a tool searches the user's items: mails, notes."""
    return _searches(tool) and any(item_app(word) for word in identifier_words(tool.name))

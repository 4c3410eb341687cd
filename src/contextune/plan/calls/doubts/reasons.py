"""Reasons to doubt a call whatever its probability: what the request says and the call does not do.

A ranker that learnt from right calls is sure of the nearest one, also where a word of the request rules it
out: "delete all mails" is not to delete one of them. A call in doubt is proposed or asked about, and never
made without asking.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.doubts.items import (
    DELETING,
    deletes_something_else,
    guesses_the_list,
    leaves_the_topic,
)
from contextune.plan.calls.doubts.people import guesses_who_waits, reaches_one_of_several, reaches_the_owner
from contextune.plan.calls.doubts.places import drops_the_place, goes_elsewhere, guesses_the_business
from contextune.plan.calls.doubts.questions import (
    acts_on_playback,
    ignores_the_sender,
    lacks_the_fact,
    lists_calls_of_another,
    plays_no_message,
    reads_one_of_several,
    reads_something_else,
)
from contextune.plan.calls.doubts.speech import keeps_reported_speech, leaves_an_order
from contextune.plan.calls.doubts.strangers import dials_no_number, own_titles
from contextune.plan.calls.doubts.times import (
    drops_the_time,
    guesses_the_arrival,
    guesses_the_hour,
    guesses_the_week,
    leaves_the_day,
)
from contextune.plan.calls.orders.actions import SOUND, does_action
from contextune.plan.calls.orders.passing_on import passes_on_something_else
from contextune.plan.calls.used_data import reached_people, used_ids, used_items
from contextune.plan.names import NameMatch, is_honorific
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.hour_references import events_at_said_hour
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.items.references import lacks_description, said_object
from contextune.plan.pointer.people.named_people import addressed_people, called_contact, told_contact
from contextune.plan.pointer.people.senders import (
    answered_people,
    is_of_another,
    named_senders,
    sender_of,
)
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.text.new_titles import content_words, names_nothing, says_nothing
from contextune.plan.pointer.values.dialled_numbers import dialled_keys, said_numbers
from contextune.plan.policy.cost import call_cost, singular
from contextune.plan.schema import tool_parameters
from contextune.search import tokenize
from contextune.search.tokenize import identifier_words
from contextune.types import Plan, Tool

MAX_PROBABILITY = 0.65
"""Highest probability of a call in doubt: no policy acts on it by default."""

_SEVERAL = re.compile(
    r"\b(?:all|every(?:thing|one|body)?|each|both)\b"
    r"(?! (?:day|night|morning|evening|week|month|right|set|the same)\b)",
    re.IGNORECASE,
)
_PLURAL = re.compile(
    rf"{OPENING}(?:forward|send|share|delete|trash|remove|flag|star|cancel|move|push|complete|tick off)\b"
    r"[^.,;:!?]{0,300}?\b(?P<kind>(?:e-?)?mails|messages|newsletters|invoices|bills|tickets|receipts|meetings"
    r"|appointments|events|reminders|tasks|notes)\b",
    re.IGNORECASE,
)
"""An order about more than one item: "Forward the gas and water invoices"."""
_AT_ALL = re.compile(r"\b(?:at|after|of|that['’]s) all\b", re.IGNORECASE)
_CHANNEL = re.compile(
    rf"{OPENING}(?P<verb>text|sms|whatsapp|dm|slack|telegram|imessage)\s+(?!(?:of|in|is|from)\b)\w"
    r"|\b(?:by|via|over|on|in) (?:a |an )?"
    r"(?P<by>text(?: message)?|sms|whatsapp|slack|telegram|signal|imessage)\b",
    re.IGNORECASE,
)
_MESSAGING = frozenset(["text", "sms", "message", "messages", "chat", "dm", "whatsapp", "imessage"])
_DETAIL = re.compile(
    r"['’]s (?:\w+ )?(?:phone number|number|e-?mail address|address|birthday)\W*$"
    r"|\b(?:phone number|number|e-?mail address|address) of \w+(?: \w+)?\W*$",
    re.IGNORECASE,
)
_PERSONAL = re.compile(
    rf"{OPENING}(?:how (?:old|tall) (?:is|are)\b|where (?:does|do) \w+(?: \w+)? live\b"
    r"|when (?:was|were) \w+(?: \w+)? born\b)",
    re.IGNORECASE,
)
"""A fact about a person that no message is about."""
_ASKING = re.compile(
    rf"{OPENING}(?:what|which|give me|tell me|show me|do (?:i|you) have|find)\b", re.IGNORECASE
)
_STOP = re.compile(r"\b(?:stop|turn|switch|put) (?:off )?(?:the|my) (?P<what>[^\W\d_]+)", re.IGNORECASE)
_MAILBOX = re.compile(r"\b(?:sms|text messages?|whatsapp|telegram|slack|imessages?)\b", re.IGNORECASE)
_SENTENCES = re.compile(r"(?<![^\W_])(?P<word>[^\W_]*)[.!?;:]\s+\S")
_ORDER = re.compile(rf"(?P<filler>{OPENING})\w", re.IGNORECASE)
_TITLES = frozenset(["title", "name", "summary", "label", "query"])
_MAX_LEFT = 1
"""Words of an order that a text which repeats it may lack: "please" at its end."""
_REMOVE_FROM = re.compile(
    rf"{OPENING}(?:remove|delete|take|strike|cross|drop)\s+(?P<part>.{{1,300}}?)\s(?:from|off|out of)\s+"
    r"(?:(?:the|my|our|that|this)\s+)?(?:[^.,;!?]{0,300}\s)?(?P<container>\w+)\W*$",
    re.IGNORECASE,
)
_CONTAINERS = frozenset(
    [
        *("calendar", "diary", "agenda", "schedule", "list", "inbox", "mailbox", "mail", "app", "phone"),
        *("note", "reminder", "task"),
    ]
)
"""What holds items: to take something from the calendar is to delete it."""


def doubt(plan: Plan, tool: Tool, inputs: PlanningInput) -> Plan:
    """The plan of a call of the tool, with a lower probability if there is a reason to doubt it."""
    if plan.confidence <= MAX_PROBABILITY:
        return plan
    if any(is_reason(plan, tool, inputs) for is_reason in _REASONS):
        return replace(plan, confidence=MAX_PROBABILITY)
    return plan


def _takes_a_namesake(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It takes one of several contacts whom the request names equally well."""
    values = [
        part
        for value in plan.args.values()
        for part in (cast("list[object]", value) if isinstance(value, list) else [value])
    ]
    people = {index for value in values if (index := inputs.people.index(value)) is not None}
    if identifier_words(tool.name)[:1] == ["reply"] and not answered_people(inputs):
        taken = {source.item for argument in plan.arguments.values() for source in argument.sources}
        senders = (inputs.people.index(sender_of(item)) for item in inputs.items if item.id in taken)
        people |= {sender for sender in senders if sender is not None}
    people -= {called_contact(inputs)}  # "Ana from work" is one of them
    return any(_has_namesake(index, inputs.names) for index in people)


def _has_namesake(index: int, names: Sequence[NameMatch]) -> bool:
    match = names[index]
    others = (other for number, other in enumerate(names) if number != index)
    return match.words > 0 and any(
        other.words >= match.words and other.overlaps(match) for other in others if other.words
    )


def _does_one_of_several(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It changes one item, where the request says all of them: "Cancel all my meetings"."""
    if call_cost(tool) == "read" or any(isinstance(value, list) for value in plan.args.values()):
        return False
    text = _AT_ALL.sub("", inputs.request.text)
    free = [parameter.name for parameter in tool_parameters(tool) if parameter.kind == "free"]
    # "Tell Ana that we all come" sends one message
    written = tokenize(" ".join(str(plan.args[name]) for name in free if name in plan.args))
    several = [match.group().casefold() for match in _SEVERAL.finditer(text)]
    several += [match["kind"].casefold() for match in _PLURAL.finditer(text)]
    if not any(word not in written for word in several):
        return False
    if not any(source.kind == "item" for argument in plan.arguments.values() for source in argument.sources):
        return False
    # "All the Way" may be the title itself
    return not any(
        _SEVERAL.search(title) or not {*several}.isdisjoint(tokenize(title))
        for title in own_titles(plan, tool, inputs, several)
    )


def _uses_another_channel(_: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sends a mail, where the request says to text; or reads one, where it says an SMS."""
    is_mail = not {"email", "emails", "mail", "mails"}.isdisjoint(identifier_words(tool.name))
    is_sent = call_cost(tool) == "send" and _CHANNEL.search(inputs.request.text)
    if not is_sent and not (is_mail and _MAILBOX.search(inputs.request.text)):
        return False
    return not _MESSAGING & {*identifier_words(tool.name), *identifier_words(tool.app)}


def _has_no_details(_: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It reads a message, where the request asks for somebody's number, address or age."""
    text = inputs.request.text
    is_asked = (_ASKING.match(text) and _DETAIL.search(text)) or _PERSONAL.match(text)
    if not is_asked or not any(match.words for match in inputs.names):
        return False
    return not {"contact", "contacts", "person", "people"} & {*identifier_words(tool.name)}


def _writes_unsaid(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It writes the title of an item of which the request says no word, or one that says nothing."""
    if call_cost(tool) == "read":
        return False
    words = content_words(inputs)
    return any(
        source.kind == "frame"
        and (
            says_nothing(str(argument.value), inputs)
            or (name in _TITLES and names_nothing(str(argument.value)))
            or (source.item is not None and words.isdisjoint(folded_words(str(argument.value))))
        )
        for name, argument in plan.arguments.items()
        for source in argument.sources
    )


def _does_something_else(_: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """The verb of the request is another action: "archive" is not to flag."""
    return not does_action(tool, inputs.request.text)


def _stops_something_else(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It pauses what is played, where the request says to stop a thing that makes no music."""
    if plan.arguments or not {"pause", "stop", "skip"}.intersection(identifier_words(tool.name)[:1]):
        return False
    match = _STOP.search(inputs.request.text)
    if match is None or match["what"].casefold() in SOUND:
        return False
    words = folded_words(match["what"])
    return not any(item.app == tool.app and {*words} & {*folded_words(item.text)} for item in inputs.items)


def _repeats_the_order(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It writes or sends the request itself, which says no text to write: "Send Simone a photo"."""
    text = inputs.request.text
    # "Dr. Reis" is no sentence
    is_several = any(len(m["word"]) > 1 and not is_honorific(m["word"]) for m in _SENTENCES.finditer(text))
    if call_cost(tool) == "read" or is_several:
        return False
    request = _order_words(text)
    texts = [
        _order_words(str(plan.arguments[parameter.name].value))
        for parameter in tool_parameters(tool)
        if parameter.kind == "free"
        and not _TITLES.intersection(parameter.words)
        and parameter.name in plan.arguments
    ]
    return any(
        request[: len(words)] == words and len(request) - len(words) <= _MAX_LEFT for words in texts if words
    )


def _order_words(text: str) -> list[str]:
    """The words of an order from its verb on."""
    match = _ORDER.match(text)
    return tokenize(text[match.end("filler") :] if match else text)


def _takes_mail_of_another(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It takes a message of somebody else than the sender, or answers another than whom the request names."""
    senders = named_senders(inputs)
    if identifier_words(tool.name)[:1] == ["reply"]:
        told = told_contact(inputs)
        senders |= addressed_people(inputs) if told is None else {told}
    if not senders:
        return any(is_of_another(item, inputs) for item in used_items(plan, inputs))
    taken = {source.item for argument in plan.arguments.values() for source in argument.sources}
    return any(
        item.id in taken and (sender := sender_of(item)) and inputs.people.index(sender) not in senders
        for item in inputs.items
    )


def _sends_another_item(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It sends or deletes an item that has no word of its description: "Forward the rota mail"."""
    if call_cost(tool) != "send":
        return False
    return any(lacks_description(item, inputs) for item in used_items(plan, inputs))


def _ignores_the_number(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It reaches somebody without the number that the request says, or its owner."""
    if call_cost(tool) != "send":
        return False
    values = "\n".join(str(value) for value in plan.args.values())
    owners = [contact for value in plan.args.values() if (contact := inputs.people.get(value)) is not None]
    used = dialled_keys(values) + "".join(f" {dialled_keys(owner.phone or '')}" for owner in owners)
    return any(dialled_keys(number) not in used for number in said_numbers(inputs.request.text))


def _deletes_the_whole(_: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It deletes an item, where the request says to take something from it."""
    if not DELETING.intersection(identifier_words(tool.name)):
        return False
    match = _REMOVE_FROM.match(inputs.request.text)
    if match is None or singular(match["container"].casefold()) in _CONTAINERS:
        return False
    # "the mail from Jan" is a whole
    is_item = any(item_app(word) for word in tokenize(match["part"]))
    return not is_item and not any(name.words and name.end > match.end("part") for name in inputs.names)


def _passes_over_a_named_item(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It changes or sends an item of which the request says no word, though it names another item."""
    if call_cost(tool) == "read":
        return False
    chosen = used_ids(plan)
    text = inputs.request.text
    for match in sorted(inputs.names, key=lambda match: -match.start):
        if match.words:
            text = text[: match.start] + text[match.end :]
    words = frozenset(word for word in folded_words(text) if item_app(word) is None) - STOP_WORDS
    if not chosen or not words:
        return False
    if any(item.id in chosen and words.intersection(folded_words(item.text)) for item in inputs.items):
        return False
    if not reached_people(plan, inputs) and any(  # "I've paid Ana, mark it as done"
        frozenset(folded_words(item.title)) & _names(inputs) for item in used_items(plan, inputs)
    ):
        return False
    return any(_is_named(item.title, words) for item in inputs.items)


def _takes_unsaid_object(plan: Plan, tool: Tool, inputs: PlanningInput) -> bool:
    """It takes an item with no word of the object that the request names: "Cancel karaoke"."""
    words, opens = said_object(inputs.request.text)
    if call_cost(tool) == "read" and not opens:
        return False
    items = used_items(plan, inputs)
    if any(inputs.items[number] in items for number in events_at_said_hour(inputs)):
        return False
    return bool(words and items) and not any(words.intersection(folded_words(item.text)) for item in items)


def _names(inputs: PlanningInput) -> frozenset[str]:
    """The words of the names that the request says."""
    text = inputs.request.text
    return frozenset(word for n in inputs.names if n.words for word in folded_words(text[n.start : n.end]))


def _is_named(title: str, words: frozenset[str]) -> bool:
    """Whether at least half of a title's words are said."""
    own = frozenset(folded_words(title)) - STOP_WORDS
    return bool(own) and 2 * len(own & words) >= len(own)


_REASONS = (
    _takes_a_namesake,
    reaches_one_of_several,
    reaches_the_owner,
    guesses_who_waits,
    _does_one_of_several,
    _uses_another_channel,
    _has_no_details,
    _writes_unsaid,
    guesses_the_hour,
    guesses_the_week,
    guesses_the_arrival,
    leaves_the_day,
    drops_the_time,
    drops_the_place,
    goes_elsewhere,
    guesses_the_business,
    _does_something_else,
    _stops_something_else,
    _repeats_the_order,
    _takes_mail_of_another,
    _sends_another_item,
    _ignores_the_number,
    _deletes_the_whole,
    deletes_something_else,
    leaves_the_topic,
    guesses_the_list,
    _passes_over_a_named_item,
    plays_no_message,
    _takes_unsaid_object,
    reads_something_else,
    reads_one_of_several,
    lacks_the_fact,
    acts_on_playback,
    lists_calls_of_another,
    dials_no_number,
    ignores_the_sender,
    keeps_reported_speech,
    passes_on_something_else,
    leaves_an_order,
)

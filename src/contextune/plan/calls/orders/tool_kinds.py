"""Kinds of tools, by name and arguments: tools that call a person, send a message, move an event."""

from collections.abc import Callable

from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.values.argument_words import NUMBERS, PEOPLE, SENDERS
from contextune.plan.schema import tool_parameters
from contextune.search.tokenize import identifier_words
from contextune.types import Tool

Accepts = Callable[[Tool], bool]
_WRITING = frozenset(["create", "write", "add", "new", "make", "take"])
_MOVING = frozenset(["reschedule", "move", "postpone", "delay", "snooze"])
_ADDING = frozenset(["append", "add"])
_CALLING = frozenset(["call", "phone", "ring", "dial"])
_SEARCHING = frozenset(["search", "find", "list"])
_READING = frozenset(["read", "open", "get", "show"])
_MESSAGES = frozenset(["mail", "email", "message"])
REPLYING, _SENDING = frozenset(["reply"]), frozenset(["send", "write"])
_GUESTS = PEOPLE & {"participant", "attendee", "guest"}


def starts_with(tool: Tool, verbs: frozenset[str]) -> bool:
    """Whether the name of a tool starts with one of these verbs."""
    return not verbs.isdisjoint(identifier_words(tool.name)[:1])


def reads_item(app: str) -> Accepts:
    """Tools that show one item of an application: "read_note", "get_event"."""

    def accepts(tool: Tool) -> bool:
        words = identifier_words(tool.name)
        return tool.app == app and starts_with(tool, _READING) and item_app(words[-1]) == app

    return accepts


def guides(tool: Tool) -> bool:
    """Whether a tool shows the way to somewhere."""
    return any("destination" in parameter.words for parameter in tool_parameters(tool))


def tells_hours(tool: Tool) -> bool:
    """Whether a tool tells when a business is open."""
    return "hours" in identifier_words(tool.name)


def reminds(tool: Tool) -> bool:
    """Whether a tool creates a reminder."""
    words = identifier_words(tool.name)
    return words[-1:] == ["reminder"] and not (_WRITING | {"set"}).isdisjoint(words[:1])


def appends(tool: Tool) -> bool:
    """Whether a tool adds text to a note."""
    return starts_with(tool, _ADDING) and "note" in identifier_words(tool.name)


def adds_song(tool: Tool) -> bool:
    """Whether a tool adds a song to a playlist."""
    return starts_with(tool, _ADDING) and "playlist" in identifier_words(tool.name)


def calls_person(tool: Tool) -> bool:
    """Whether a tool calls somebody by name."""
    return starts_with(tool, _CALLING) and any(
        not PEOPLE.isdisjoint(parameter.words) for parameter in tool_parameters(tool) if parameter.required
    )


def returns_call(tool: Tool) -> bool:
    """Whether a tool calls back somebody whose call was missed."""
    return {"return", "missed"}.issubset(identifier_words(tool.name))


def calls_number(tool: Tool) -> bool:
    """Whether a tool dials a number."""
    return starts_with(tool, _CALLING) and any(
        not NUMBERS.isdisjoint(parameter.words) for parameter in tool_parameters(tool) if parameter.required
    )


def does_to_number(verb: str) -> Accepts:
    """Tools that have the verb in their name and take a phone number: "block_caller"."""

    def accepts(tool: Tool) -> bool:
        return starts_with(tool, frozenset([verb])) and any(
            not NUMBERS.isdisjoint((*parameter.words, *parameter.description_words))
            for parameter in tool_parameters(tool)
            if parameter.required
        )

    return accepts


def lists_calls(tool: Tool) -> bool:
    """Whether a tool lists calls."""
    words = identifier_words(tool.name)
    return starts_with(tool, _READING | {"list"}) and not {"call", "calls"}.isdisjoint(words[1:])


def searches_sender(tool: Tool) -> bool:
    """Whether a tool searches messages by sender."""
    return starts_with(tool, _SEARCHING) and any(
        not SENDERS.isdisjoint(parameter.words) for parameter in tool_parameters(tool)
    )


def reads_message(tool: Tool) -> bool:
    """Whether a tool shows a message."""
    return starts_with(tool, _READING) and not _MESSAGES.isdisjoint(identifier_words(tool.name))


def sends_message(tool: Tool) -> bool:
    """Whether a tool sends a new message."""
    return starts_with(tool, _SENDING) and not _MESSAGES.isdisjoint(identifier_words(tool.name))


def writes_to_person(tool: Tool) -> bool:
    """Whether a tool sends a new message or an answer."""
    return sends_message(tool) or starts_with(tool, REPLYING)


def calls_group(tool: Tool) -> bool:
    """Whether a tool calls several people."""
    return "call" in identifier_words(tool.name) and any(
        parameter.kind == "list" and parameter.required for parameter in tool_parameters(tool)
    )


def moves(app: str) -> Accepts:
    """Tools that move items of an application: "Move the toast" may be about a reminder."""
    return lambda tool: tool.app == app and starts_with(tool, _MOVING)


def writes_in_note(tool: Tool) -> bool:
    """Whether a tool writes in a note, be it a new one."""
    words = identifier_words(tool.name)
    return "note" in words and not (_WRITING | {"append"}).isdisjoint(words[:1])


def writes_note(tool: Tool) -> bool:
    """Whether a tool creates a note."""
    words = identifier_words(tool.name)
    return words[-1:] == ["note"] and not _WRITING.isdisjoint(words)


def takes_guest(tool: Tool) -> bool:
    """Whether a tool takes a guest of an event."""
    parameters = [parameter for parameter in tool_parameters(tool) if parameter.required]
    return any(not _GUESTS.isdisjoint(parameter.words) for parameter in parameters)

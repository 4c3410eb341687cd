"""Tools that the words of a request name: to reply, to play a title, to write a note, to invite somebody.

Most rules only narrow the choice. Where the words leave no other reading (`is_said_tool`), the call also gets
a probability of its own.
"""

import re
from collections.abc import Sequence
from typing import cast

from contextune.context.stop_words import STOP_WORDS
from contextune.plan.calls.orders.mailing import REPLY, answers_no_mail, answers_only_mail, mailed_contact
from contextune.plan.calls.orders.passing_on import passed_on_app, passes_on, shared_note
from contextune.plan.calls.orders.playing import ARTISTS, PLAYLISTS, SONGS, played, plays, tools_for_title
from contextune.plan.calls.orders.scheduling import (
    asks_for_event,
    creates_event,
    lists_events,
    moved_items,
    names_moved_item,
    says_day_and_hour,
)
from contextune.plan.calls.orders.searches import searched_kind
from contextune.plan.calls.orders.tool_kinds import (
    REPLYING,
    Accepts,
    adds_song,
    appends,
    calls_group,
    calls_number,
    calls_person,
    does_to_number,
    guides,
    lists_calls,
    moves,
    reads_item,
    reads_message,
    reminds,
    returns_call,
    searches_sender,
    sends_message,
    starts_with,
    takes_guest,
    tells_hours,
    writes_in_note,
    writes_note,
    writes_to_person,
)
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.asked_item import asked_item
from contextune.plan.pointer.items.described_music import (
    described_playlists,
    describes_music,
    replays_last,
)
from contextune.plan.pointer.items.hour_references import events_at_said_hour
from contextune.plan.pointer.items.references import added_to
from contextune.plan.pointer.people.call_questions import asks_for_calls, asks_for_calls_of_role
from contextune.plan.pointer.people.job_titles import titled_addressee
from contextune.plan.pointer.people.late_arrivals import says_late
from contextune.plan.pointer.people.named_people import (
    addressed_contact,
    addressed_people,
    asked_speaker,
    asked_writer,
    called_back_contact,
    called_contact,
    called_group,
    expected_writer,
    is_missed_call,
    is_question_of_writer,
    missed_contact,
    receiving_contact,
    said_topic,
    titled_contact,
    told_contact,
)
from contextune.plan.pointer.people.senders import have_written, sender_of
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.text.event_orders import orders_event
from contextune.plan.pointer.text.reminder_orders import reminder_order
from contextune.plan.pointer.times.event_times import event_time
from contextune.plan.pointer.times.new_times import leaves_time_open
from contextune.plan.pointer.times.next_events import asks_what_is_next
from contextune.plan.pointer.values.destinations import destination_words
from contextune.plan.pointer.values.dialled_numbers import dialled_number, is_number_of_item, number_verb
from contextune.plan.pointer.values.opening_hours import said_business
from contextune.types import Item, Tool, ToolHit

_NOTE = re.compile(
    rf"{OPENING}(?:(?:new |quick )?note(?: to (?:self|myself))?"
    r"|(?:take|make|write|create|start|add)(?: me)? a (?:new |quick )?note"
    r"|(?:write|jot|note)(?: (?:this|that|it))? down):\s+\S",
    re.IGNORECASE,
)
_NAMED_NOTE = re.compile(
    rf"{OPENING}(?:take|make|write|create|start|add)(?: me)? a (?:new |quick )?note"
    r" (?:called|named|titled|entitled)\s+\S",
    re.IGNORECASE,
)
_CANCEL = re.compile(rf"{OPENING}(?:cancel|call off|delete|scrap|drop|remove)\b", re.IGNORECASE)
_INVITE = re.compile(
    rf"{OPENING}(?:add|invite|include|put) (?P<who>\S.*?) (?:to|in|on) (?P<event>\S.*)", re.IGNORECASE
)
_WRITE_DOWN = re.compile(
    rf"{OPENING}(?:(?:write|jot|note)(?: (?:this|that|it))? down"
    r"|(?:make|take) a note (?:that|of)|(?:jot|note) that)\b",
    re.IGNORECASE,
)
_REMIND = re.compile(
    rf"{OPENING}(?:remind me|(?:don['’]?t|do not) let me forget) (?:[^,.;:?]+ )?to \w[^.;:?]*[.!]*$",
    re.IGNORECASE,
)
_NOT_TO_FORGET = re.compile(
    rf"{OPENING}(?:(?:don['’]?t|do not) let me forget|(?:make|be) sure (?:that )?i) ", re.IGNORECASE
)
_WAKE = re.compile(rf"{OPENING}(?:wake me(?: up)?|get me up) (?:at|in|by|tomorrow|tonight)\b", re.IGNORECASE)
_DEPENDING = re.compile(
    r"\b(?:before|after|when|whenever|once|until|till|as soon as|if|while|every|each|daily|weekly|again)\b",
    re.IGNORECASE,
)
"""Words behind which a time depends on something else than the clock."""
_CANCELLING = frozenset(["cancel", "delete", "remove"])
_EXTENDED_APPS = frozenset(["Notes", "Reminders", "Music"])
"""Apps with other items than events to which something can be added; a mail may only be about the event."""
_KEPT = "said kind"
_DIAL = re.compile(rf"{OPENING}(?:call|phone|ring|dial)\b[^,;]*$", re.IGNORECASE)


def said_tools(tools: Sequence[ToolHit], inputs: PlanningInput) -> list[int]:
    """The ranks of the tools that the words of the request leave; none if they say nothing of tools."""
    if REPLY.match(inputs.request.text):
        is_new = answers_no_mail(inputs)
        ranks = [rank for rank, hit in enumerate(tools) if is_new and sends_message(hit.tool)]
        return ranks or [rank for rank, hit in enumerate(tools) if starts_with(hit.tool, REPLYING)]
    accepts = _said_kind(inputs)
    ranks = [rank for rank, hit in enumerate(tools) if accepts(hit.tool)] if accepts else []
    return ranks or tools_for_title(tools, inputs)


def open_tools(tools: Sequence[ToolHit], inputs: PlanningInput) -> list[int]:
    """The ranks of the tools of the kind that the request says, where it leaves open which of them."""
    accepts = _open_kind(inputs)
    return [rank for rank, hit in enumerate(tools) if accepts(hit.tool)] if accepts else []


def asked_tools(tools: Sequence[ToolHit], inputs: PlanningInput) -> list[int]:
    """The ranks of the tools that show the item that a question names in part."""
    asked = asked_item(inputs)
    accepts = reads_item(asked.app) if asked is not None else None
    return [rank for rank, hit in enumerate(tools) if accepts(hit.tool)] if accepts else []


def is_said_tool(tool: Tool, inputs: PlanningInput) -> bool:
    """Whether the words of the request mean this tool and leave no other reading."""
    accepts = _said_kind(inputs)
    return accepts is not None and accepts(tool)


def says_whom(inputs: PlanningInput) -> bool:
    """Whether the words say clearly whom or what a call reaches: one contact, a number, a mail, an event."""
    text = inputs.request.text
    if called_contact(inputs) is not None or called_back_contact(inputs) is not None:
        return True
    if (dialled_number(text) or number_verb(text)) is not None:
        return True
    is_shared = shared_note(inputs) is not None and receiving_contact(inputs) is not None
    is_shared = is_shared or mailed_contact(inputs) is not None or _invited_to_one(inputs)
    return (
        is_shared
        or bool(called_group(inputs))
        or answers_only_mail(inputs)
        or len(events_at_said_hour(inputs)) == 1
    )


def is_open_tool(tool: Tool, inputs: PlanningInput) -> bool:
    """Whether the tool is of the kind that the request says: one that moves a reminder it names."""
    asked = asked_item(inputs)
    if asked is not None and reads_item(asked.app)(tool):
        return True
    accepts = _open_kind(inputs)
    return accepts is not None and accepts(tool)


def _said_kind(inputs: PlanningInput) -> Accepts | None:
    """The kind of tool that the words of the request mean; None if they leave it open."""
    if _KEPT not in inputs.kept:
        inputs.kept[_KEPT] = _find_said_kind(inputs)
    return cast("Accepts | None", inputs.kept[_KEPT])


def _find_said_kind(inputs: PlanningInput) -> Accepts | None:
    text = inputs.request.text
    if _NOTE.match(text) or _NAMED_NOTE.match(text):
        return writes_note
    if (_REMIND.match(text) or _is_titled_reminder(inputs)) and (
        not _DEPENDING.search(text) or event_time(inputs) is not None
    ):
        return reminds
    if _WAKE.match(text) and inputs.time_phrases and not _DEPENDING.search(text):
        return reminds
    if replays_last(text):
        return lambda tool: plays(tool, SONGS)
    if describes_music(text) and len({playlist.value for playlist in described_playlists(inputs)}) == 1:
        return lambda tool: plays(tool, PLAYLISTS)
    if (words := played(inputs)) is not None:
        return lambda tool: plays(tool, words)
    if (target := added_to(inputs)) is not None:
        return appends if target.field == "title" else adds_song
    if dialled_number(text) is not None and _DIAL.match(text):
        return calls_number
    if (verb := number_verb(text)) is not None:
        return does_to_number(verb)
    if called_contact(inputs) is not None:
        return calls_person
    if called_back_contact(inputs) is not None:
        return returns_call
    if asks_for_calls(inputs):
        return lists_calls
    if asked_writer(inputs) is not None or expected_writer(inputs) is not None:
        return searches_sender
    if _was_written(inputs):
        return reads_message
    if _adds_guest(inputs):
        return takes_guest
    if called_group(inputs):
        return calls_group
    if mailed_contact(inputs) is not None:
        return sends_message
    if (app := passed_on_app(inputs)) is not None:
        return lambda tool: tool.app == app and passes_on(tool)
    if answers_only_mail(inputs):
        return lambda tool: starts_with(tool, REPLYING)
    if _CANCEL.match(text) and events_at_said_hour(inputs):
        return lambda tool: tool.app == "Calendar" and starts_with(tool, _CANCELLING)
    if is_number_of_item(text):
        return calls_number
    if orders_event(inputs) and (says_day_and_hour(inputs) or leaves_time_open(inputs)):
        return creates_event
    if names_moved_item(inputs):
        return moves(moved_items(inputs)[0].app)
    if asks_what_is_next(inputs):
        return lists_events
    if (accepts := searched_kind(inputs)) is not None:
        return accepts
    asked = asked_item(inputs)
    return reads_item(asked.app) if asked is not None and asked.certain else None


def _open_kind(inputs: PlanningInput) -> Accepts | None:
    """The kind of tool that the words of the request mean, where they leave open which of them."""
    if _WRITE_DOWN.match(inputs.request.text):
        return writes_in_note
    if _REMIND.match(inputs.request.text) or _is_titled_reminder(inputs) or _is_not_to_forget(inputs):
        return reminds
    if REPLY.match(inputs.request.text) and answers_no_mail(inputs):
        return sends_message
    if (person := told_contact(inputs)) is not None:
        return writes_to_person if have_written({person}, inputs) else sends_message
    if addressed_people(inputs) or addressed_contact(inputs) is not None:
        return writes_to_person
    if describes_music(inputs.request.text):
        has_playlists = any(item.fields.get("playlist") for item in inputs.items)
        words = SONGS | ARTISTS | PLAYLISTS if has_playlists else SONGS | ARTISTS
        return lambda tool: plays(tool, words)
    if missed_contact(inputs) is not None:
        return returns_call
    if titled_contact(inputs) is not None:
        return calls_person
    if titled_addressee(inputs) is not None:
        return sends_message
    if says_late(inputs.request.text):
        return lambda tool: sends_message(tool) or calls_person(tool)
    if destination_words(inputs) is not None:
        return guides
    if asks_for_event(inputs):
        return lists_events
    if said_business(inputs) is not None:
        return tells_hours
    if is_question_of_writer(inputs.request.text):
        return searches_sender
    if asks_for_calls_of_role(inputs.request.text):
        return lists_calls
    if len(apps := {item.app for item in moved_items(inputs)}) == 1:
        return moves(apps.pop())
    if orders_event(inputs):
        return creates_event
    asked = asked_item(inputs)
    return reads_item(asked.app) if asked is not None and asked.has_fact else None


def _is_titled_reminder(inputs: PlanningInput) -> bool:
    """Whether a new reminder is said with what it is about: "Reminder for Saturday: wash the car"."""
    order = reminder_order(inputs)
    return order is not None and order.after_colon and order.has_task


def _is_not_to_forget(inputs: PlanningInput) -> bool:
    """Whether the request says what not to forget, and when: "Make sure I pay the baker tomorrow"."""
    order = reminder_order(inputs) if _NOT_TO_FORGET.match(inputs.request.text) else None
    return order is not None and order.has_task and bool(inputs.time_phrases)


def _invited_to_one(inputs: PlanningInput) -> bool:
    """Whether one contact is to be added to one event, all of whose words the request has from its title."""
    match = _INVITE.match(inputs.request.text)
    if match is None or not _adds_guest(inputs):
        return False
    words = frozenset(folded_words(match["event"])) - STOP_WORDS
    events = [item for item in inputs.items if item.app == "Calendar"]
    return sum(words <= frozenset(folded_words(item.title)) for item in events) == 1


def _was_written(inputs: PlanningInput) -> bool:
    """Whether the request asks what somebody said who wrote a message, and has not called in vain since."""
    person = asked_speaker(inputs)
    if person is None:
        return False
    if said_topic(inputs.request.text):
        return asked_item(inputs) is not None
    written = [_made(item) for item in inputs.items if inputs.people.index(sender_of(item)) == person]
    missed = [_made(item) for item in inputs.items if is_missed_call(item, person, inputs)]
    return bool(written) and max(written) > max(missed, default="")


def _made(item: Item) -> str:
    made = item.times.get("made")
    return made.replace(tzinfo=None).isoformat() if made else ""


def _adds_guest(inputs: PlanningInput) -> bool:
    """Whether a person is to be added to an event: "Add Teresa to the sprint demo"."""
    match = _INVITE.match(inputs.request.text)
    if match is None:
        return False
    start, end = match.span("who")
    if not any(name.words and name.start == start and name.end >= end for name in inputs.names):
        return False
    words = frozenset(folded_words(match["event"])) - STOP_WORDS
    events, others = (
        max((len(words.intersection(folded_words(item.title))) for item in items), default=0)
        for items in (
            [item for item in inputs.items if item.app == "Calendar"],
            [item for item in inputs.items if item.app in _EXTENDED_APPS],
        )
    )
    return events > others

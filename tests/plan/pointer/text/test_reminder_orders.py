"""Orders to be reminded: which words are the task, and which say when."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.pointer.text.dictation import event_to_plan, task_to_remember
from contextune.plan.pointer.text.reminder_orders import reminder_order
from contextune.types import Request, User

NOW = datetime(2026, 3, 5, 10, 5)


def inputs_for(text: str) -> PlanningInput:
    return PlanningInput(Request(text, user="ines", time=NOW), User("ines"))


@pytest.mark.parametrize(
    ("text", "task", "when"),
    [
        ("Remind me to buy milk", "buy milk", ""),
        ("Remind me at a quarter to nine to leave", "leave", "at a quarter to nine"),
        ("Remind me as soon as I get home to water the ferns", "water the ferns", "as soon as I get home"),
        ("Remind me before the trip to Rome to pack", "pack", "before the trip to Rome"),
        ("Remind me when I go to bed to take my pill", "take my pill", "when I go to bed"),
        (
            "Remind me half an hour before the sets in town to pack",
            "pack",
            "half an hour before the sets in town",
        ),
        ("Set a reminder for six to feed the cat.", "feed the cat", "for six"),
        ("Remind me at 25:00 to sleep", "sleep", "at 25:00"),
        ("Remind me an hour before they come, for the frying", "the frying", "an hour before they come"),
        ("Reminder for Saturday morning: plumber at the flat", "plumber at the flat", "for Saturday morning"),
        ("reminder tomorrow: bring the scores", "bring the scores", "tomorrow"),
        ("Reminder: call the plumber", "call the plumber", ""),
        ("dont let me forget to call the school", "call the school", ""),
        ("Don't let me forget the umbrella", "the umbrella", ""),
        ("Make sure I pay the baker", "pay the baker", ""),
        ("Make sure that I don't forget to pay the baker", "pay the baker", ""),
        ("Remind me at three", "", "at three"),
        ("Set an alarm for six", "", "for six"),
        ("Set a ten minute timer", "", ""),
        ("timer 8 minutes", "", "8 minutes"),
    ],
)
def test_task_and_when(text: str, task: str, when: str) -> None:
    order = reminder_order(inputs_for(text))
    assert order is not None
    assert text[slice(*order.task)] == task
    assert text[slice(*order.said_when)] == when


def test_statement_is_no_order() -> None:
    assert reminder_order(inputs_for("They tell me that nine is early enough")) is None
    assert reminder_order(inputs_for("Make sure I am not disturbed")) is None
    assert reminder_order(inputs_for("Set the fish reminder to 7 am on the 23rd")) is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Remind me as soon as I get home to water the ferns", "Water the ferns"),
        ("Remind me at noon to eat, then play N17", "Eat"),
        ("Remind me to eat and then call Dad", "Eat"),
        ("Remind me to stretch and then some", "Stretch and then some"),
        ("Remind me to call mum tomorrow", "Call mum"),
        ("Remind me about it at five", None),
        ("Reminder for Saturday morning: plumber between 9 and 11", "Plumber between 9 and 11"),
        ("Reminder: call the plumber at six", "Call the plumber"),
        ("dont let me forget to call the school on Monday", "Call the school"),
        ("Make sure I pay the baker tomorrow", "Pay the baker"),
        ("Don't let me forget it", None),
    ],
)
def test_title_of_a_reminder(text: str, title: str | None) -> None:
    assert task_to_remember(inputs_for(text)) == title


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("New event: farrier meeting, 22 June 14:00-15:30", "farrier meeting"),
        ("Create a calendar entry: choir on Friday at 7", "choir"),
        ("Book me dentist on Thursday at half past ten", "dentist"),
        ("Book me in for a haircut on Friday at 3", "haircut"),
    ],
)
def test_name_of_an_event_ends_at_its_time(text: str, name: str) -> None:
    assert event_to_plan(inputs_for(text)) == name


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Remind me at nine to check in", "Check in"),
        ("Remind me to pack on Friday at nine", "Pack"),
    ],
)
def test_task_ends_with_its_own_words(text: str, title: str) -> None:
    assert task_to_remember(inputs_for(text)) == title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Block Friday afternoon for painting", "painting"),
        ("Block out Saturday at nine for raking leaves", "raking leaves"),
        ("Book in lunch with Ana tomorrow at one", "lunch with Ana"),
        ("Book a chat with Ana on Monday at two about the roof", "chat with Ana about the roof"),
        ("Book a chat with Ana on Monday at about two", "chat with Ana"),
        ("Schedule a firing the day after tomorrow at two", "firing"),
    ],
)
def test_title_of_a_new_event_has_no_word_of_its_time(text: str, title: str) -> None:
    assert event_to_plan(inputs_for(text)) == title

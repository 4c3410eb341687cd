"""Namesakes, series without a date, words that are left out and other languages are never acted on."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from tests.plan.policy.readings import BY_ID, TOOLS

from contextune.plan import PlanningInput
from contextune.plan.policy import Policy, Readings
from contextune.plan.policy.doubts import doubt_readings
from contextune.types import Argument, Contact, Item, ItemHit, Plan, Request, Source, Tool, User

NOW = datetime(2026, 3, 5, 10, 5)
CONTACTS = (
    Contact("Anna Berg", "anna.berg@example.org", "555-0101"),
    Contact("Anna Holm", "anna.holm@example.org", relation="sister"),
    Contact("Jan Novak", None, "555-0103"),
    Contact("Jan Erik Moe", None, "555-0104"),
    Contact("Marta Reis", "marta@example.org"),
    Contact("Rui", None, "555-0105"),
    Contact("Rui Duarte", None, "555-0106"),
    Contact("Eva Roth", "eva@work.example", None),
    Contact("Eva Roth", "eva@home.example", None),
    Contact("Ida Lund", "ida@example.org", None),
    Contact("Ida Lund", None, "555-0107"),
)
OPEN_PROFILE = Tool(
    "show_person",
    "Shows the page of a person.",
    parameters={"properties": {"person": {"type": "string"}}, "required": ["person"]},
    app="People",
)


def decided(text: str, plan: Plan, tool: Tool, items: Sequence[Item] = ()) -> Plan:
    hits = [ItemHit(item, 1.0) for item in items]
    inputs = PlanningInput(Request(text, user="ines", time=NOW), User("ines", {}, contacts=CONTACTS), hits)
    doubted = doubt_readings(Readings((replace(plan, confidence=0.99),)), inputs, lambda _: tool, text)
    found = Policy().decide(doubted, lambda _: tool)
    assert found is not None
    return found


def shown(text: str, contact: str) -> tuple[str | None, list[str]]:
    """The decision on showing somebody's page, and the people that are offered."""
    plan = decided(text, Plan(OPEN_PROFILE.id, {"person": Argument(contact)}), OPEN_PROFILE)
    options = plan.question.options if plan.question else ()
    return plan.decision, [option.plan.args["person"] for option in options]


@pytest.mark.parametrize(
    ("text", "contact", "decision", "offered"),
    [
        ("Show me Anna", "Anna Berg", "ask", ["Anna Berg", "Anna Holm"]),
        ("show me anna", "anna.berg@example.org", "ask", ["anna.berg@example.org", "anna.holm@example.org"]),
        ("Show me Jan", "Jan Novak", "ask", ["Jan Novak", "Jan Erik Moe"]),
        ("Show me Eva Roth", "eva@work.example", "ask", ["eva@work.example", "eva@home.example"]),
        ("Show me Eva Roth", "Eva Roth", "confirm", ["Eva Roth"]),
        ("Show me Anna Berg", "Anna Berg", "act", []),
        ("Show me my sister Anna", "Anna Holm", "act", []),
        ("Show me Rui", "Rui", "act", []),
        ("Show me Marta", "Marta Reis", "act", []),
        ("Show me Ida Lund", "ida@example.org", "act", []),
        ("Show me anna.berg@example.org", "anna.berg@example.org", "act", []),
        ("Show me Anna", "Anna", "ask", ["Anna", "Anna Berg", "Anna Holm"]),
    ],
)
def test_namesake_is_asked_about(text: str, contact: str, decision: str, offered: list[str]) -> None:
    assert shown(text, contact) == (decision, offered)


def test_both_namesakes_may_be_meant() -> None:
    plan = Plan(
        TOOLS["create_event"].id,
        {"participants": Argument(["Anna Berg", "Anna Holm"]), "event_name": Argument("Lunch")},
    )
    assert decided("Lunch with both Annas, Anna and Anna", plan, TOOLS["create_event"]).decision == "act"


def occurrence(day: int) -> Item:
    fields = {"event_name": "Yoga", "start_time": f"2026-03-{day:02}T18:00"}
    return Item(f"cal-{'0' * 20}-202603{day:02}T170000Z", "Calendar", fields)


def moved(text: str, item: Item, start: str, items: Sequence[Item] = ()) -> str | None:
    tool = TOOLS["reschedule_event"]
    title, when = tool.parameters["required"][:2]
    arguments = {title: Argument("Yoga", (Source("item", item.id, "event_name"),)), when: Argument(start)}
    return decided(text, Plan(tool.id, arguments), tool, [item, *items]).decision


def test_series_needs_its_date() -> None:
    assert moved("Move yoga to eight", occurrence(10), "2026-03-12T20:00") == "confirm"
    assert moved("Move yoga on Tuesday to eight", occurrence(10), "2026-03-10T20:00") == "act"
    single = Item("e1", "Calendar", {"event_name": "Yoga", "start_time": "2026-03-10T18:00"})
    other = Item("e2", "Calendar", {"event_name": "Yoga", "start_time": "2026-03-17T18:00"})
    assert moved("Move yoga to eight", single, "2026-03-12T20:00") == "act"
    assert moved("Move yoga to eight", single, "2026-03-12T20:00", [other]) == "confirm"
    tool = TOOLS["get_event"]
    (title, *_) = tool.parameters["required"]
    shows = Plan(tool.id, {title: Argument("Yoga", (Source("item", occurrence(10).id),))})
    assert decided("Show me yoga", shows, tool, [occurrence(10)]).decision == "act"


def test_recurring_task_needs_its_date() -> None:
    tool = TOOLS["complete_reminder"]
    (title, *_) = tool.parameters["required"]
    fields = {"title": "Pills", "due": "2026-03-05T09:00", "occurrences": ["2026-03-06T09:00"]}
    plan = Plan(tool.id, {title: Argument("Pills", (Source("item", "r1", "title"),))})
    assert decided("Pills are done", plan, tool, [Item("r1", "Reminders", fields)]).decision == "confirm"
    once = Item("r1", "Reminders", {"title": "Pills", "due": "2026-03-05T09:00"})
    assert decided("Pills are done", plan, tool, [once]).decision == "act"


@pytest.mark.parametrize(
    ("title", "left_out"),
    [
        ("the boiler man comes on Friday and the key is under the mat", ()),
        ("boiler man comes Friday, key under mat", ()),
        ("the boiler man", ("comes", "friday", "key", "mat")),
    ],
)
def test_note_that_drops_half_of_what_was_said_is_shown_first(title: str, left_out: tuple[str, ...]) -> None:
    tool = TOOLS["create_note"]
    plan = Plan(tool.id, {"title": Argument(title), "content": Argument(title)})
    text = "Note that the boiler man comes on Friday and the key is under the mat"
    found = decided(text, plan, tool)
    assert found.decision == ("confirm" if left_out else "act")
    for word in left_out:
        assert found.question is not None
        assert f"“{word}”" in found.question.text


def test_people_times_and_items_of_a_call_are_not_left_out() -> None:
    tool = TOOLS["create_reminder"]
    due = Argument("2026-03-06T18:00")
    plan = Plan(tool.id, {"title": Argument("call Anna Holm"), "due_time": due})
    assert decided("Remind me tomorrow at six in the evening to call Anna", plan, tool).decision == "act"


def test_title_of_an_item_leaves_out_nothing() -> None:
    tool = TOOLS["create_reminder"]
    event = Item("c1", "Calendar", {"event_name": "Rauk booster", "start_time": "2026-03-06T16:15"})
    title = Argument("Rauk booster", (Source("item", "c1", "event_name"),))
    plan = Plan(tool.id, {"title": title, "due_time": Argument("2026-03-06T15:15")})
    assert decided("Poke me an hour before his jab", plan, tool, [event]).decision == "act"


def test_request_in_another_language_is_confirmed_and_says_so() -> None:
    tool = TOOLS["read_note"]
    plan = Plan(tool.id, {"title": Argument("Ofen")})
    found = decided("Lies mir bitte die Notiz über den Ofen vor", plan, tool)
    assert found.question is not None
    assert found.decision == "confirm"
    assert found.question.text.startswith("This looks like German, and calls are planned for English. Read")


def test_sent_message_names_what_it_leaves_out() -> None:
    tool = BY_ID[TOOLS["send_email"].id]
    plan = Plan(
        tool.id, {"recipient": Argument("Marta Reis"), "subject": Argument("x"), "body": Argument("late")}
    )
    found = decided("Tell Marta I'm late and to bring the glaze buckets", plan, tool)
    assert found.question is not None
    assert found.decision == "confirm"
    assert found.question.text.endswith("It leaves out “bring”, “glaze” and “buckets”.")

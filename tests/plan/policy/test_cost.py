"""The cost of a call comes from the tool's words; annotations of strangers can only raise it."""

import pytest

from contextune.plan.policy import call_cost
from contextune.tools import bundled_toolbox
from contextune.types import Annotations, Tool

TOOLBOX = {tool.name: tool for tool in bundled_toolbox()}


@pytest.mark.parametrize(
    ("cost", "names"),
    [
        ("read", "get_call_history list_unread_emails search_web play_voicemail play_playlist skip_track"),
        ("write", "create_note create_reminder flag_email rename_note reschedule_event complete_reminder"),
        ("send", "send_email reply_to_email share_note invite_participant call_contact call_number"),
        ("send", "redial_last_number return_missed_call start_group_call block_caller"),
        ("send", "delete_email delete_note delete_reminder cancel_event"),
    ],
)
def test_costs_of_the_toolbox(cost: str, names: str) -> None:
    assert {name: call_cost(TOOLBOX[name]) for name in names.split()} == dict.fromkeys(names.split(), cost)


@pytest.mark.parametrize(
    ("name", "description", "cost"),
    [
        ("create_payment", "", "send"),
        ("makeTransfer", "", "send"),
        ("create_ticket", "", "write"),
        ("orders_list", "", "read"),
        ("email_search", "", "read"),
        ("gmail.messages.send", "", "send"),
        ("get_or_create_user", "", "write"),
        ("find_and_delete", "", "send"),
        ("thermostat", "Returns the temperature of a room", "read"),
        ("thermostat", "Deletes the schedule", "send"),
        ("get_account", "Deletes an account for good", "send"),
        ("frobnicate", "Frobnicates the widget", "write"),
        ("frobnicate", "", "write"),
    ],
)
def test_costs_of_unseen_tools(name: str, description: str, cost: str) -> None:
    assert call_cost(Tool(name, description)) == cost


def test_annotations_raise_the_cost_but_lower_it_only_if_trusted() -> None:
    claims = {
        "delete_all": Annotations(read_only=True),
        "get_page": Annotations(destructive=True),
        "search": Annotations(read_only=False),
        "add_page": Annotations(destructive=False),
    }
    tools = [Tool(name, "", annotations=annotations) for name, annotations in claims.items()]
    assert [call_cost(tool) for tool in tools] == ["send", "send", "write", "write"]
    assert [call_cost(tool, trusted=True) for tool in tools] == ["read", "send", "write", "write"]

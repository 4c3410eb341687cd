"""A planner that says what a script says: outcomes can be compared without any trained model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextune.plan import PlanningInput, Readings
from contextune.types import Argument, Plan, ToolHit

FIRST = "the first tool"
Script = Mapping[str, Sequence[tuple[str, Mapping[str, Any], float]]]
"""Calls by the text of the request: tool, arguments and probability. Without an entry, no tool serves."""


@dataclass(frozen=True)
class ScriptedPlanner:
    """Plans the calls of a script."""

    script: Script
    searched_tools: int = 40

    def readings(
        self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None
    ) -> Readings:
        """The calls of the request."""
        del fits
        known = {hit.tool.id for hit in tools}
        plans = [
            Plan(
                tools[0].tool.id if tool == FIRST else tool,
                {name: Argument(value) for name, value in args.items()},
                confidence,
            )
            for tool, args, confidence in self.script.get(inputs.request.text, ())
            if tool in known or tool == FIRST
        ]
        return Readings(tuple(plans), 0.0 if plans else 1.0)

    def plan(self, inputs: PlanningInput, tools: Sequence[ToolHit], fits: float | None = None) -> Plan | None:
        """The first call."""
        return next(iter(self.readings(inputs, tools, fits).plans), None)


SURE, UNSURE = 0.99, 0.5
BODY = "I'll be ten minutes late on Wednesday"
SCRIPTS: Mapping[str, Script] = {
    "right": {
        "when does the flour come": [("Calendar/get_event", {"event_name": "flour delivery"}, SURE)],
        "what's the code for the choir door": [
            ("Mail/read_email", {"email_subject": "Choir: new room"}, SURE)
        ],
        "what have I got on monday": [("Calendar/list_events", {"date": "2026-03-16T00:00"}, SURE)],
        "move the dentist to thursday at four": [
            (
                "Calendar/reschedule_event",
                {"event_name": "Dentist", "start_time": "2026-03-19T16:00:00"},
                SURE,
            )
        ],
        "cancel the dentist": [("Calendar/cancel_event", {"event_name": "Dentist"}, UNSURE)],
        "write rui that I'll be ten minutes late on wednesday": [
            ("Mail/send_email", {"recipient": "+351 210005501", "body": BODY}, SURE)
        ],
        "call ana": [("PhoneCall/call_contact", {"contact": "Ana Pires"}, UNSURE)],
        "and the address?": [("Calendar/get_event", {"event_name": "Lunch with Rui"}, SURE)],
        "cancel the choir and tell ana pires": [("Calendar/cancel_event", {"event_name": "Choir"}, SURE)],
        "remind me to book the service on the first of april at nine": [
            ("Reminders/create_reminder", {"title": "Book service", "due_time": "2026-04-01T09:00"}, SURE)
        ],
        "fed the starter, tick it off": [
            ("Reminders/complete_reminder", {"title": "Feed the starter"}, SURE)
        ],
    },
    "wrong": {
        "when does the flour come": [("Calendar/get_event", {"event_name": "Dentist"}, SURE)],
        "what's the code for the choir door": [("Mail/read_email", {"email_subject": "Flour order"}, UNSURE)],
        "what have I got on monday": [
            ("Calendar/list_events", {"date": "2026-03-17"}, 0.45),
            ("Calendar/list_events", {"date": "2026-03-16"}, 0.4),
        ],
        "move the dentist to thursday at four": [
            (
                "Calendar/reschedule_event",
                {"event_name": "Lunch with Rui", "start_time": "2026-03-19T16:00"},
                SURE,
            )
        ],
        "cancel the dentist": [("Calendar/cancel_event", {"event_name": "Choir"}, SURE)],
        "write rui that I'll be ten minutes late on wednesday": [
            ("Mail/send_email", {"recipient": "ana@moinho.example", "body": BODY}, SURE)
        ],
        "call ana": [("PhoneCall/get_call_history", {}, SURE)],
        "order me a taxi": [(FIRST, {}, SURE)],
        "turn the oven down to 180": [("Notes/read_note", {"title": "Oven"}, UNSURE)],
        "remind me to book the service on the first of april at nine": [
            ("Reminders/create_reminder", {"title": "Book service"}, SURE)
        ],
    },
}

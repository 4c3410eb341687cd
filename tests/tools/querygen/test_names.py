"""Invented tool names in generated queries."""

import pytest

from contextune.tools.querygen.names import KnownNames, leading_name
from contextune.types import Tool

KNOWN = KnownNames([Tool("flights_list", "Lists flights", app="Flight Radar"), Tool("Numbers", "Facts")])


@pytest.mark.parametrize(
    ("query", "stripped"),
    [
        ("Cronos — live traffic — Get live flight traffic", "live traffic — Get live flight traffic"),
        ("Cronos — live traffic — Cronos is a free service", "live traffic"),
        ("PartyPlanningAPI: Create a checklist", "Create a checklist"),
        ("Trip Planner - Finds hiking trails", "Finds hiking trails"),
        ("Flight Radar — flights list — Lists flights", "Flight Radar — flights list — Lists flights"),
        ("flight-radar: Lists flights", "flight-radar: Lists flights"),
        ("Numbers — trivia — Facts about a number", "Numbers — trivia — Facts about a number"),
        (
            "Lisbon — weather — Forecast for a city",
            "Lisbon — weather — Forecast for a city",
        ),  # in the request
        ("get flights — Get all flights", "get flights — Get all flights"),  # no name, but what it does
        ("Finds flights between two cities", "Finds flights between two cities"),
        ("Cronos — Cronos is free", "Cronos — Cronos is free"),  # nothing else would be left
    ],
)
def test_only_invented_names_are_removed(query: str, stripped: str) -> None:
    assert KNOWN.strip(query, "Flights to Lisbon") == stripped


def test_leading_name_is_found() -> None:
    assert leading_name("Live Sports Odds — scores — Returns scores") == "Live Sports Odds"
    assert leading_name("Returns scores of a team") == ""
    assert leading_name("get scores — Returns scores") == ""

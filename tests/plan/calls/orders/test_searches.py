"""Where a request says to search."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput
from contextune.plan.calls.orders.searches import searched_kind
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

ITEMS = (
    Item.mail(
        subject="Electricity invoice", content="86.40 EUR", author="a@example.com", date="2026-03-01T09:00"
    ),
    Item.mail(
        subject="Bill", content="40 EUR\nFrom: Clinic North", author="b@c.example", date="2026-03-01T09:00"
    ),
    Item("s1", "Music", {"song_name": "Naima", "artist": "Coltrane"}),
)


def searching_tools(text: str) -> set[str] | None:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    accepts = searched_kind(PlanningInput(request, User("ines"), [ItemHit(item, 1.0) for item in ITEMS]))
    return None if accepts is None else {tool.name for tool in bundled_toolbox() if accepts(tool)}


@pytest.mark.parametrize(
    ("text", "tools"),
    [
        ("Search for papers on urban heat islands", {"search_web"}),
        ("google how to renew a certificate", {"search_web"}),
        ("Please look up the population of Lagos online", {"search_web"}),
        ("Search for the invoice of the plumber", {"search_emails", "search_notes"}),
        ("Look up the world record for one-handed juggling", {"search_web"}),
        ("search for electricity invoice", {"search_emails", "search_notes"}),
        ("Show me my notes on the spectral theorem", {"search_notes"}),
        ("Find all mails about the offsite", {"search_emails"}),
        ("Show me everything from a@example.com", {"search_emails"}),
        ("Everything from a@example.com", {"search_emails"}),
        ("everything from the north clinic", {"search_emails"}),
        ("all from my sister", None),
        ("Show me everything from Coltrane", None),
        ("Everything from Coltrane", None),
        ("Search for a café nearby", None),
        ("Search for anything new from Coltrane", None),
        ("Look up the news about the strike", None),
        ("Search my mail for kiln", None),
        ("Play Naima", None),
    ],
)
def test_words_say_where_to_search(text: str, tools: set[str] | None) -> None:
    assert searching_tools(text) == tools

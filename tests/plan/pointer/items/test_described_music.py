"""Music that a request describes by a clause."""

from datetime import datetime

import pytest

from contextune.plan import PlanningInput, PointerPlanner
from contextune.plan.pointer.items.described_music import describes_music
from contextune.tools import bundled_toolbox
from contextune.types import Item, ItemHit, Request, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}


def song(name: str, played: str) -> Item:
    return Item(name, "Music", {"song_name": name, "artist": "Alan", "played_time": played})


SLOW, FAST = song("Slow Water", "2026-03-04T19:00"), song("Red Kites", "2026-03-03T06:40")
ROWING = Item.event(name="Rowing", start="2026-03-10T06:30", end="2026-03-10T07:30")
NOTE = Item.note(
    title="My playlists", content="Low Tide - for ironing\nOar Power: rowing", modified="2026-03-01T09:00"
)


def values(text: str, tool: str, *items: Item) -> list[object]:
    request = Request(text, user="ines", time=datetime(2026, 3, 5, 10, 5))
    hits = [ItemHit(item, 1.0 - number / 10) for number, item in enumerate(items)]
    plan = PointerPlanner().plan_tool(PlanningInput(request, User("ines"), hits), TOOLS[tool])
    assert plan is not None
    return list(plan.args.values())


@pytest.mark.parametrize(
    ("text", "is_described"),
    [
        ("put on what I row to", True),
        ("Play something to iron to.", True),
        ("I need something on while I iron", True),
        ("Play the stuff that we row to", True),
        ("Put on what I was just listening to", False),
        ("I need something to eat", False),
        ("Play What I Like", False),
        ("play something i like by Zed", False),
        ("Put what I owe Ana in the note", False),
    ],
)
def test_clause_describes_music(text: str, is_described: bool) -> None:
    assert describes_music(text) is is_described


def test_clause_is_no_title() -> None:
    assert values("put on what I row to", "play_playlist", SLOW, FAST) == []
    assert values("put on what I row to", "play_song", SLOW, FAST, ROWING)[0] == "Red Kites"


@pytest.mark.parametrize(
    ("text", "playlist"),
    [("put on what I row to", "Oar Power"), ("I want something on while I iron", "Low Tide")],
)
def test_note_says_which_playlist_is_for_what(text: str, playlist: str) -> None:
    assert values(text, "play_playlist", SLOW, NOTE) == [playlist]

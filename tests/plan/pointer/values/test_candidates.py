"""Candidate values for arguments."""

from datetime import datetime
from typing import Any

import pytest

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.scoring.scorer import default_scorer
from contextune.plan.pointer.values.candidates import find_candidates, person_value
from contextune.plan.pointer.values.spans import find_spans
from contextune.plan.schema import tool_parameters
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, Tool, User

TOOLS = {tool.name: tool for tool in bundled_toolbox()}
USER = User(
    "ines",
    {"name": "Ines Duarte", "city": "Porto"},
    {"home": (41.1, -8.6)},
    (
        Contact("Rui Duarte", "rui@example.com", "555-0142", "brother"),
        Contact("Marta Reis", None, "555-0150", "sister"),
        Contact("Lia Reis", None, None, "sister"),
    ),
)
MAIL = Item(
    "m1",
    "Mail",
    {
        "subject": "Kiln slots",
        "author": "rui@example.com",
        "content": "Speak to Dewi on 555-0437, at Barro Studio, Rua 5.",
        "date": "2024-05-13T09:00",
    },
)
CALL = Item("p1", "PhoneCall", {"contact": "Unknown", "number": "555-0499", "date": "2024-05-13T09:00"})


REGATTA = Item.event(
    name="Rowing regatta", start="2024-05-18T09:00", end="2024-05-18T12:00", location="Boathouse, Vila Nova"
)


def values(
    text: str, tool: str | Tool, argument: str, *items: Item, user: User = USER, place: str | None = None
) -> list[Any]:
    request = Request(text, user="ines", time=datetime(2024, 5, 16, 17, 40), place=place)
    inputs = PlanningInput(request, user, [ItemHit(item, 1.0) for item in items])
    chosen = TOOLS[tool] if isinstance(tool, str) else tool
    parameter = next(one for one in tool_parameters(chosen) if one.name == argument)
    return [one.value for one in find_candidates(inputs, parameter)]


def test_fields_and_spans_are_candidates() -> None:
    found = values("Read it.", "read_email", "email_subject", MAIL)
    assert "Kiln slots" in found
    assert "555-0437" in values("Get me the man.", "call_number", "number", MAIL)
    assert {"Barro Studio", "Barro Studio, Rua 5"} <= set(
        values("Go.", "get_directions", "destination", MAIL)
    )


def test_contact_value_depends_on_the_argument() -> None:
    assert "rui@example.com" in values("Tell him.", "send_email", "recipient")
    assert "Rui Duarte" in values("Ring him.", "call_contact", "contact")
    assert "555-0142" in values("Ring him.", "call_number", "number")


@pytest.mark.parametrize(
    "text", ["Tell Rui that Marta is late", "Ask my brother to come", "Send the kiln mail to my brother"]
)
def test_contact_who_is_addressed_is_the_only_candidate(text: str) -> None:
    assert values(text, "send_email", "recipient", MAIL) == ["rui@example.com"]


def test_whole_name_in_a_group_names_nobody_else() -> None:
    groups = values("Group call with Rui and Lia Reis", "start_group_call", "contacts")
    assert sorted(groups[0]) == ["Lia Reis", "Rui Duarte"]


def test_name_of_a_contact_becomes_the_address() -> None:
    (recipient,) = [p for p in tool_parameters(TOOLS["send_email"]) if p.name == "recipient"]
    inputs = PlanningInput(Request("Mail him", user="ines", time=datetime(2024, 5, 16)), USER)
    assert person_value("Rui Duarte", recipient, inputs) == "rui@example.com"
    assert person_value("Marta Reis", recipient, inputs) == "Marta Reis"


def test_unknown_caller_is_given_by_number() -> None:
    found = values("Block them.", "block_caller", "contact", CALL)
    assert "Unknown" not in found
    assert "555-0499" in found


def test_groups_of_people_are_candidates() -> None:
    found = values("Both my sisters on one line.", "start_group_call", "contacts")
    assert ["Marta Reis", "Lia Reis"] in found
    assert ["Rui Duarte"] not in found


@pytest.mark.parametrize(
    ("text", "tool", "argument", "value"),
    [
        ("Dial 555-0777 for me.", "call_number", "number", "555-0777"),
        ("Block 555-8080, it's some crypto guy.", "block_caller", "contact", "555-8080"),
        ("Write to d@example.com that I am late", "send_email", "recipient", "d@example.com"),
        ("Call Marta Reis.", "call_contact", "contact", "Marta Reis"),
        ("Play How I Got Over by Mahalia Jackson", "play_song", "song_name", "How I Got Over"),
        ("Play How I Got Over by Mahalia Jackson", "play_song", "artist", "Mahalia Jackson"),
        ("Play the album The Bends by Radiohead.", "play_album", "album_title", "The Bends"),
        ("Add Says by Nils Frahm to my Kiln playlist", "add_to_playlist", "song_name", "Says"),
        ("Play something by Gilda.", "play_artist", "artist", "Gilda"),
        ("play creep by radiohead", "play_song", "song_name", "creep"),
        ("Put on creep by the meters please", "play_song", "artist", "the meters"),
        ("Share Kiln slots with Rui Duarte", "share_note", "recipient", "rui@example.com"),
    ],
)
def test_what_is_said_without_doubt_is_the_only_candidate(
    text: str, tool: str, argument: str, value: str
) -> None:
    assert values(text, tool, argument, MAIL, CALL) == [value]


@pytest.mark.parametrize(
    "text",
    ["Play something by her.", "Play a song by my sister's band.", "play it by ear", "play songs by monday"],
)
def test_artist_that_is_only_described_does_not_decide(text: str) -> None:
    assert len(values(text, "play_song", "artist")) > 1


def test_lower_case_title_has_the_spelling_of_the_song() -> None:
    song = Item.song(
        name="Down by the River", artist="Milky Chance", album="Sadnecessary", played="2024-05-16T12:00"
    )
    assert values("play Down by the river", "play_song", "song_name", song) != ["Down"]
    assert values("play stolen dance by milky chance", "play_song", "artist", song) == ["Milky Chance"]


def test_place_that_is_said_is_the_only_candidate() -> None:
    assert values("Weather in Vantaa on the 21st", "get_weather", "location", MAIL) == ["Vantaa"]
    assert values("Find a cafe near Praça da Batalha", "search_places", "near", MAIL) == ["Praça da Batalha"]
    assert values("find a cafe near elm street.", "search_places", "near", MAIL) == ["elm street"]
    assert values("any good cafes around elm park", "search_places", "near", MAIL) == ["elm park"]
    assert values("is there a bakery in batalha", "search_places", "near", MAIL) == ["batalha"]
    assert len(values("find a cafe near me", "search_places", "near", MAIL)) > 1
    assert len(values("find a cafe in an hour", "search_places", "near", MAIL)) > 1
    # two places, a month and a person leave a doubt
    for text in ("Near Porto or near Lisbon", "Will it rain in May?", "How do I get to Rui?"):
        assert len(values(text, "get_directions", "destination", MAIL)) > 1


@pytest.mark.parametrize(
    "text", ["Call Marta.", "Call Marta Reis or Rui Duarte.", "Call Marta Reis's teacher."]
)
def test_name_that_leaves_a_doubt_does_not_decide(text: str) -> None:
    stranger = Item.call(contact="Marta Vaz", number="555-7780", direction="missed", date="2026-03-05T09:40")
    assert len(values(text, "call_contact", "contact", stranger)) > 1


@pytest.mark.parametrize("text", ["Call Marta.", "Call my brother."])
def test_contact_to_call_is_the_only_candidate(text: str) -> None:
    assert len(values(text, "call_contact", "contact")) == 1


@pytest.mark.parametrize(
    ("text", "tool", "argument", "value"),
    [
        ("Play La Llorona by Chavela Vargas", "play_song", "song_name", "La Llorona"),
        ("Play La Llorona by Chavela Vargas", "play_song", "artist", "Chavela Vargas"),
        ("What time does Chedraui close tonight?", "get_opening_hours", "business", "Chedraui"),
        ("Weather in Barmer on Saturday?", "get_weather", "location", "Barmer"),
        ("Add Nour El Ein to Rania's hall.", "add_to_playlist", "playlist_name", "Rania's hall"),
        ("How would she say it in Sranan?", "translate_text", "target_language", "Sranan"),
        ("Remind me in forty minutes", "create_reminder", "due_time", "2024-05-16T18:20"),
        ("Remind me Saturday at noon", "create_reminder", "due_time", "2024-05-18T12:00"),
        ("Remind me at half six", "create_reminder", "due_time", "2024-05-16T18:30"),
        ("Remind me at three", "create_reminder", "due_time", "2024-05-17T15:00"),
    ],
)
def test_value_that_is_only_in_the_request_is_a_candidate(
    text: str, tool: str, argument: str, value: str
) -> None:
    statistics = default_scorer().statistics
    parameter = next(p for p in tool_parameters(TOOLS[tool]) if p.name == argument)
    request = Request(text, user="ines", time=datetime(2024, 5, 16, 17, 40))
    origins = statistics.priors.known_origins(TOOLS[tool], parameter)
    candidates = find_candidates(PlanningInput(request, USER, [ItemHit(MAIL, 1.0)]), parameter, origins)
    assert value in [candidate.value for candidate in candidates]


def test_group_of_described_people_is_a_candidate() -> None:
    found = values("My brother and Marta on one line.", "start_group_call", "contacts")
    assert ["Marta Reis", "Rui Duarte"] in found


def test_candidates_are_shared_between_the_tools_of_a_request() -> None:
    inputs = PlanningInput(
        Request("Read it.", user="ines", time=datetime(2024, 5, 16)), USER, [ItemHit(MAIL, 1.0)]
    )
    subject = tool_parameters(TOOLS["read_email"])[0]
    first, second = (find_candidates(inputs, subject) for _ in range(2))
    assert all(a is b for a, b in zip(first, second, strict=True))


def test_optional_argument_may_be_omitted() -> None:
    assert None in values("Play it.", "play_song", "artist")
    assert None not in values("Play it.", "play_song", "song_name")


def test_candidates_of_other_kinds() -> None:
    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["c", "f"]},
            "count": {"type": "integer"},
            "share": {"type": "number", "maximum": 5},
            "loud": {"type": "boolean"},
            "length": {"type": "string", "format": "duration"},
            "deep": {"type": "object"},
        },
        "required": ["unit", "count", "share", "loud", "length", "deep"],
    }
    tool = Tool("t", "d", parameters=schema)
    text = "Three of them, 7.5 loud, for half an hour"
    assert values(text, tool, "unit") == ["c", "f"]
    assert values(text, tool, "count") == [3]
    assert values(text, tool, "share") == [3]
    assert values(text, tool, "loud") == [True, False]
    assert values(text, tool, "length") == ["PT30M"]
    assert values(text, tool, "deep") == []


def test_finds_spans() -> None:
    found = {
        span.text: span.shape
        for span in find_spans("Speak to Dewi on 555-0437, in German, or mail d@example.com.")
    }
    assert found["555-0437"] == "number"
    assert found["German"] == "language"
    assert found["d@example.com"] == "address"
    assert found["Dewi"] == "name"
    assert "2024-05-16" not in {span.text for span in find_spans("2024-05-16") if span.shape == "number"}


ONLINE = Item(
    "c1", "Calendar", {"event_name": "Roadmap", "location": "Zoom", "start_time": "2024-05-17T09:00"}
)


def test_online_meeting_is_at_no_place() -> None:
    assert "Zoom" not in values("Will it rain there?", "get_weather", "location", ONLINE)
    assert "Zoom" not in values("Find a café near it", "search_places", "near", ONLINE)


def test_day_is_no_place() -> None:
    assert "Saturday" not in values("Should I take the bike on Saturday?", "get_weather", "location", MAIL)


@pytest.mark.parametrize(
    "text",
    [
        "What's the weather?",
        "Will it rain on Saturday?",
        "Do I need an umbrella?",
        "whats the weather like tomorow",
        "I wonder if I need a coat tomorrow",
    ],
)
def test_plain_question_for_the_weather_means_the_city(text: str) -> None:
    assert values(text, "get_weather", "location", MAIL) == ["Porto"]


def test_weather_without_a_city_is_where_the_user_is_and_of_no_item() -> None:
    text, places = "Will it rain on Saturday?", {"home": (41.1, -8.6), "the_mill": (41.2, -8.6)}
    user = User("ines", {}, places)
    assert values(text, "get_weather", "location", REGATTA, user=user, place="the_mill") == ["the mill"]
    assert values(text, "get_weather", "location", REGATTA, user=User("ines")) == []


@pytest.mark.parametrize("text", ["weather for the regatta", "Will it be cold at Bo's rowing regatta?"])
def test_weather_of_an_event_is_where_it_takes_place(text: str) -> None:
    assert values(text, "get_weather", "location", REGATTA, MAIL) == ["Boathouse, Vila Nova"]


@pytest.mark.parametrize("text", ["Will it rain there?", "Will it rain on the kiln?", "Weather in Vantaa?"])
def test_weather_elsewhere_is_not_of_the_city(text: str) -> None:
    assert values(text, "get_weather", "location", MAIL) != ["Porto"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("will it snow on sunday in vantaa", "vantaa"),
        ("whats the weather in monte gordo like tomorrow", "monte gordo"),
        ("Will it rain in Duarte tomorrow?", "Duarte"),  # as a contact is called
        ("forecast for porto please", "porto"),
    ],
)
def test_place_of_the_weather_in_any_spelling(text: str, place: str) -> None:
    assert values(text, "get_weather", "location", MAIL) == [place]


@pytest.mark.parametrize(
    "text", ["Do I need a coat for dinner?", "Will it rain in the garden?", "Is it cold in my studio?"]
)
def test_occasion_is_no_place_of_the_weather(text: str) -> None:
    assert len(values(text, "get_weather", "location", MAIL)) > 1


def test_person_whom_an_event_is_for_is_no_place() -> None:
    text = "Schedule a fitting for Oriane on Saturday at two"
    assert len(values(text, "create_event", "location", MAIL)) > 1


@pytest.mark.parametrize("text", ["Take me home.", "How do I get to my home?"])
def test_own_place_is_the_destination(text: str) -> None:
    assert values(text, "get_directions", "destination", MAIL) == ["home"]


@pytest.mark.parametrize(
    ("text", "destination"),
    [
        ("Directions to Lal Bahadur stadium", ["Lal Bahadur stadium"]),
        ("Walking directions to Barro Studio please", ["Barro Studio"]),
        ("Directions to San Jacinto tomorrow", ["San Jacinto"]),
    ],
)
def test_destination_has_its_last_words(text: str, destination: list[str]) -> None:
    found = values(text, "get_directions", "destination", MAIL)
    assert found == destination


def test_destination_that_only_begins_like_an_own_place_is_open() -> None:
    assert len(values("Walk me to the home of Rui", "get_directions", "destination", MAIL)) > 1

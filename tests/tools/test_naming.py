"""Which names in a request put their tool first."""

import pytest

from contextune.tools import Catalog
from contextune.tools.index import ToolIndex
from contextune.tools.naming import find_telling_names
from contextune.tools.tool_text import name_spans
from contextune.types import Tool

TOOLS = [
    Tool("send_email", "Sends a mail, get it out to me.", app="Mail"),
    Tool("search", "Search the mail.", app="Mail"),
    Tool("search", "Search the repositories for help.", app="GitHub"),
    Tool("latest_news", "The latest news, a list of all.", app="Press"),
    Tool("latest_scores", "The latest scores of a team, all the news.", app="Sport"),
    Tool("list", "Lists all.", app="Files"),
    Tool("help_me", "Emergency call.", app="Phone"),
    Tool("getTime", "Tells the hour.", app="Clock"),
    Tool("get_time", "Tells the hour of a place.", app="World"),
    Tool("time", "Tells the hour.", app="World"),
    Tool("math.sum", "Adds numbers.", app="Maths"),
    Tool("/v1/rates", "Rates.", app="Bank"),
    Tool("t_test", "Compares the means of groups by a test; a test of significance.", app="Maths"),
    Tool("test", "Runs a test.", app="Build"),
    Tool("Jupiter Moon Ephemeris", "Where the satellites are.", app="Sky"),
    *(Tool(f"mail_{n}", "Mail, email, send: a list of the latest news.", app="Mail") for n in range(10)),
]
INDEX = ToolIndex.lexical(Catalog(TOOLS))


def telling(text: str) -> set[str]:
    named = INDEX.find_named(name_spans(text))
    return {INDEX.catalog[position].id for position in find_telling_names(INDEX, text, named)}


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("call send_email now", {"Mail/send_email"}),
        ("sendEmail(to=Ana)", {"Mail/send_email"}),
        ("`send email` please", {"Mail/send_email"}),
        ("`search(query)`", {"Mail/search", "GitHub/search"}),
        ("`a` search `list`", {"Files/list"}),
        ("` `send-email`", {"Mail/send_email"}),
        ("use mcp__mail__send_email", {"Mail/send_email"}),
        ("math.sum.", {"Maths/math.sum"}),
        ("GET /v1/rates, please", {"Bank//v1/rates"}),
        ("Files/list", {"Files/list"}),
        ("github/search", {"GitHub/search"}),
    ],
)
def test_identifier_is_telling(text: str, ids: set[str]) -> None:
    assert telling(text) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("getTime", {"Clock/getTime"}),
        ("get_time", {"World/get_time"}),
        ("GetTime", {"Clock/getTime"}),
        ("Get_Time and getTime", {"Clock/getTime", "World/get_time"}),
        ("`get time`", {"Clock/getTime", "World/get_time"}),
    ],
)
def test_exact_spelling_beats_the_same_words(text: str, ids: set[str]) -> None:
    assert telling(text) == ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("search GitHub for parsers", {"GitHub/search"}),
        ("the search tool of github", {"GitHub/search"}),
        ("github_search", {"GitHub/search"}),
        ("search for the parser that was moved to GitHub", set[str]()),
    ],
)
def test_name_beside_its_server_is_telling(text: str, ids: set[str]) -> None:
    assert telling(text) == ids


def test_name_of_rare_words_is_telling() -> None:
    assert telling("show the jupiter moon ephemeris tonight") == {"Sky/Jupiter Moon Ephemeris"}


def test_name_that_two_servers_have_is_not_telling_in_prose() -> None:
    twins = [Tool("moon_ephemeris", "Satellites.", app=app) for app in ("Sky", "Stars")]
    index = ToolIndex.lexical(Catalog([*TOOLS, *twins]))
    text = "the moon ephemeris of tonight"
    named = index.find_named(name_spans(text))
    assert {index.catalog[position].id for position in named} == {
        "Sky/moon_ephemeris",
        "Stars/moon_ephemeris",
    }
    assert find_telling_names(index, text, named) == []


@pytest.mark.parametrize(
    "text",
    [
        "send email to Ana",
        "the latest news of the team",
        "list all that I have",
        "could you help me find it",
        "search for 'search'",
        "run a T-test on both groups",
        "math.summary and /v1/rates/today",
        "profiles/listing, my-time_test, calculate_send_email",
    ],
)
def test_ordinary_phrase_is_not_telling(text: str) -> None:
    assert telling(text) == set()

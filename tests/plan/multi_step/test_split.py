"""Where requests divide, and where they do not: an authored set in seven languages, part of it held out.

`split_requests.jsonl` was written before the rules. Its rows marked `held_out` were looked at once, when
the rules stood: 26 of 28 were divided rightly, and none of 42 that must not divide was.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextune.datasets import bundled_personas
from contextune.plan.multi_step.split import MOST, opening, split_request, verbs_of
from contextune.tools import bundled_toolbox
from contextune.types import Tool

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "split_requests.jsonl").read_text("utf-8").splitlines()
]
VERBS = verbs_of(bundled_toolbox())


def plain(parts: tuple[str, ...] | list[str]) -> list[str]:
    return [part.strip(" .,;?!") for part in parts]


def test_the_set_is_large_enough_and_part_of_it_is_held_out() -> None:
    several = [row for row in ROWS if row["parts"]]
    assert len(several) >= 40
    assert len(ROWS) - len(several) >= 40
    assert sum(row.get("held_out", False) for row in ROWS) >= 60
    assert {row["language"] for row in several} == {"en", "de", "fr", "es", "pt", "it", "nl"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["text"][:40])
@pytest.mark.parametrize("verbs", [frozenset[str](), VERBS], ids=["alone", "with tools"])
def test_requests_divide_where_they_should(row: dict[str, Any], verbs: frozenset[str]) -> None:
    assert plain(split_request(row["text"], verbs=verbs)) == plain(row["parts"] or [row["text"]])


def test_no_request_of_the_bundled_personas_divides() -> None:
    """Each of them was written for one call."""
    texts = [query.text for persona in bundled_personas() for query in persona.queries]
    assert len(texts) == 770
    assert [text for text in texts if len(split_request(text, verbs=VERBS)) > 1] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Put on stop and play it again.", "Stop and play it again"),
        ("Delete the note find keys and call mum.", "Find keys and call mum"),
    ],
)
def test_a_name_is_not_taken_apart(text: str, name: str) -> None:
    assert len(split_request(text)) == 2
    assert split_request(text, names=[name]) == (text,)
    assert (
        len(split_request(text, names=["and", "", "mum"])) == 2
    )  # a title that is only the joint closes nothing
    assert len(split_request(text, names=[f"{text} {'x' * 40}"])) == 2


def test_tools_bring_verbs_of_their_own() -> None:
    tools = [Tool("lend_book", "Lend."), Tool("burn", "Burn."), Tool("2fa", "Check.")]
    assert verbs_of(tools) == {"lend", "burn"}
    text = "Find Emma and lend it to Mia."
    assert split_request(text) == (text,)
    assert split_request(text, verbs=verbs_of(tools)) == ("Find Emma", "lend it to Mia.")
    assert split_request("Find the lend and burn list.", verbs=verbs_of(tools)) == (
        "Find the lend and burn list.",
    )


def test_what_is_dictated_is_left_whole() -> None:
    long = "Find the invoice and send it to my accountant. " * 20
    assert split_request(long) == (long,)
    many = ", ".join(["call mum"] * MOST) + " and call dad"
    assert split_request(many) == (many,)
    few = ", ".join(["call mum"] * (MOST - 1)) + " and call dad"
    assert len(split_request(few)) == MOST


def test_a_verb_alone_is_no_order_unless_it_carries_its_object() -> None:
    assert split_request("Find the note and copy-paste.") == ("Find the note and copy-paste.",)
    assert split_request("Find the note and flag.") == ("Find the note and flag.",)
    assert split_request("Apri la nota e leggila.") == ("Apri la nota", "leggila.")


@pytest.mark.parametrize(
    "text",
    [
        "Run the search again and let me know.",
        "Search the web for kilns and share the results with me.",
        "Book the hall and make sure it is heated.",
        "Run seven, pink. Put it under the others.",
    ],
)
def test_telling_what_came_of_it_is_no_step(text: str) -> None:
    assert split_request(text) == (text,)


def test_the_verb_behind_a_please() -> None:
    assert opening("Could you please pin it?") == "pin"
    assert opening("…") == ""


PIECES = st.sampled_from(
    [
        "find it",
        "send it",
        " and ",
        ", ",
        ". ",
        "; ",
        " then ",
        "mum",
        "“",
        "”",
        " und ",
        "ruf an",
        ":",
        "if ",
    ]
)


@settings(max_examples=300)
@given(st.one_of(st.lists(PIECES, max_size=14).map("".join), st.text(max_size=60)))
def test_parts_are_stretches_of_the_text_in_order(text: str) -> None:
    parts = split_request(text)
    assert 1 <= len(parts) <= MOST
    assert parts == (text,) or all(part.strip() for part in parts)
    place = 0
    for part in parts:
        place = text.index(part, place) + len(part)

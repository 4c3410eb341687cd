"""The texts of the reading model: what stands in them, and how long they are."""

from datetime import datetime

import pytest

from contextune import Item, Request, Tool, User
from contextune.reading.texts import (
    Names,
    best_passage,
    brief_item_text,
    item_text,
    request_text,
    tool_text,
    when,
)
from contextune.types import Contact, Turn

NOW = datetime(2026, 9, 17, 11, 30)
USER = User(
    "me",
    {"name": "Jonas Hartwig", "email": ["jonas@posteule.example"]},
    contacts=(Contact("Lena Hartwig", "lena@fuldapost.example", "+49 176 04069203", "sister"),),
)


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (datetime(2026, 9, 17, 11, 42), "in 12 minutes, today 11:42"),
        (datetime(2026, 9, 17, 9, 0), "2 hours ago, today 09:00"),
        (datetime(2026, 9, 17), "today"),
        (datetime(2026, 9, 18, 8, 5), "tomorrow, Fri 18 Sep 08:05"),
        (datetime(2026, 9, 14, 9, 0), "3 days ago, Mon 14 Sep 09:00"),
        (datetime(2026, 11, 12), "in 8 weeks, Thu 12 Nov"),
        (datetime(2027, 3, 2, 10, 0), "in 6 months, Tue 2 Mar 2027 10:00"),
    ],
)
def test_times_are_relative_to_the_moment(time: datetime, expected: str) -> None:
    assert when(time, NOW) == expected


def test_addresses_are_read_as_names_with_relations() -> None:
    mail = Item.mail(
        subject="Re: Hochbett",
        date="2026-09-16T21:47",
        author="lena@fuldapost.example",
        recipients=["jonas@posteule.example"],
        content="2.800 € sind ok.",
    )
    text = item_text(mail, NOW, USER, Names(USER))
    assert "from Lena Hartwig (sister)" in text
    assert "to me" in text
    assert "yesterday, Wed 16 Sep 21:47" in text
    assert "@" not in text


def test_the_passage_that_shares_words_is_read() -> None:
    filler = "The weather was fine and everybody enjoyed the walk by the river. " * 20
    text = filler + "The gate code is 0226, please keep it to yourself. " + filler
    assert "0226" in best_passage(text, frozenset(["gate", "code"]))
    assert "0226" not in best_passage(text, frozenset())


def test_a_conversation_comes_before_the_request() -> None:
    history = (Turn("user", "forward the report"), Turn("assistant", "Forwarded to Anke."))
    text = request_text(Request("send her the other one", "me", time=NOW, history=history), NOW, "home")
    assert text.index("forward the report") < text.index("Anke") < text.index("send her")
    assert "Thu 17 Sep 2026 11:30, at home" in text


def test_a_long_mail_is_cut_in_both_forms() -> None:
    mail = Item.mail(subject="Long " * 90, date=NOW, author="a@b.example", content="word " * 5000)
    assert len(item_text(mail, NOW, USER, Names(USER))) < 1200
    assert len(brief_item_text(mail, NOW, USER, Names(USER))) < 400


def test_a_tool_is_read_with_its_server_and_parameters() -> None:
    text = {"type": "string"}
    schema = {"properties": {"messageSubject": text, "to": text}, "required": ["to"]}
    tool = Tool("forwardMessage", "Send a message on.", app="outlook", parameters=schema)
    assert tool_text(tool) == "outlook: forward message. Send a message on. (message subject?, to)"

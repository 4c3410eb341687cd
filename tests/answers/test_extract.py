"""Answers to questions: the sentence of a stored item, for calls that only read what the store holds."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from contextune.answers import ExtractedAnswer, answer_json, extract_answer, score_alike
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import (
    Answer,
    Argument,
    Contact,
    Decision,
    Item,
    ItemHit,
    Plan,
    Request,
    Source,
    Tool,
    ToolHit,
    UsageEvent,
    User,
)

LONDON = ZoneInfo("Europe/London")
NOW = datetime(2026, 11, 25, 9, 0, tzinfo=LONDON)
TOOLS = {tool.id: tool for tool in bundled_toolbox()}
SURVEY = Item.event(
    id="survey",
    name="Boat survey",
    start="2026-11-27T14:00+00:00",
    end="2026-11-27T15:30+00:00",
    location="the yard",
    participants=["jo@example.org"],
    notes="Bring the old report and the keys. Gate code is 0226#. Wear boots, the slip is muddy.",
)
STORAGE = Item.mail(
    id="storage",
    subject="Winter storage",
    author="yard@example.org",
    recipients=["me@example.org"],
    date="2026-11-20T10:00+00:00",
    content="Hello,\n\nThe boats come out next week.\nThe price is £15 a day after 15 December. "
    "We lift yours tomorrow at nine.\n\nDr. Rui",
)
CALLS = [
    Item.call(id=f"call{day}", contact=who, direction=direction, date=f"2026-11-{day}T08:0{day % 10}+00:00")
    for day, who, direction in (
        (21, "Jo Field", "missed"),
        (22, "Ann Lee", "incoming"),
        (24, "Jo Field", "outgoing"),
    )
]


@pytest.fixture
def boat(store: SQLiteStore) -> SQLiteStore:
    contacts = (Contact("Jo Field", email="jo@example.org"), Contact("The Yard", email="yard@example.org"))
    store.put_user(User("me", {"email": "me@example.org"}, contacts=contacts, zone=LONDON))
    store.put_items("me", [SURVEY, STORAGE, *CALLS])
    return store


def extract(
    store: SQLiteStore,
    text: str,
    tool: str | Tool,
    args: Mapping[str, object],
    *,
    found: Sequence[Item] = (SURVEY, STORAGE),
    source: Item | None = None,
    decision: Decision = "act",
    likely: Sequence[float] = (),
) -> ExtractedAnswer | None:
    tool = TOOLS[tool] if isinstance(tool, str) else tool
    sources = (Source("item", source.id),) if source else ()
    plan = Plan(
        tool.id,
        {name: Argument(value, sources) for name, value in args.items()},
        name=tool.name,
        decision=decision,
    )
    shares = [*likely, *[None] * len(found)]
    hits = tuple(
        ItemHit(item, 1 / place, (), share)
        for place, (item, share) in enumerate(zip(found, shares, strict=False), 1)
    )
    answer = Answer(Request(text, "me", NOW), hits, (ToolHit(tool, 1.0),), plan)
    return extract_answer(answer, store, score_alike)


def test_event_is_answered_by_its_time_and_place_on_the_users_clock(boat: SQLiteStore) -> None:
    answer = extract(
        boat, "when does it begin", "Calendar/get_event", {"event_name": "Boat survey"}, source=SURVEY
    )
    assert answer is not None
    assert answer.text == "Fri 27 Nov, 14:00–15:30, the yard"
    assert (answer.source.item, answer.source.title) == ("survey", "Boat survey")
    assert answer.source.time == datetime(2026, 11, 27, 14, tzinfo=LONDON)
    away = User("me", {}, zone=ZoneInfo("Asia/Tokyo"))
    boat.put_user(away)
    answer = extract(
        boat, "when does it begin", "Calendar/get_event", {"event_name": "Boat survey"}, source=SURVEY
    )
    assert answer is not None
    assert answer.text == "Fri 27 Nov, 23:00 – Sat 28 Nov, 00:30, the yard"


def test_sentence_that_shares_the_words_is_chosen(boat: SQLiteStore) -> None:
    answer = extract(
        boat, "what's the gate code", "Calendar/get_event", {"event_name": "Boat survey"}, source=SURVEY
    )
    assert answer is not None
    assert answer.text.startswith("Gate code is 0226#.")


def test_relative_days_get_their_date_and_lines_are_sentences(boat: SQLiteStore) -> None:
    args = {"email_subject": "Winter storage"}
    answer = extract(boat, "when do they lift ours", "Mail/read_email", args)
    assert answer is not None
    assert answer.text.startswith("We lift yours tomorrow (Sat 21 Nov) at nine.")
    assert answer.source.kind == "email"
    price = extract(boat, "what is the price a day", "Mail/read_email", args)
    assert price is not None
    assert price.text.startswith("The price is £15 a day after 15 December.")


@pytest.mark.parametrize(
    ("content", "correction"),
    [
        (
            "Your survey on 20-11-2026 is cancelled.\n\nBoat survey: Friday 27-11-2026, 02:00 PM, berth 12",
            None,
        ),
        ("Boat survey: 27-11-2026, 2 pm.\n\nSorry, the boat survey begins at 15:15.", "15:15"),
        ("The boat survey moves from 27-11-2026, 14:00, to 15:15.", "15:15"),
        ("The boat survey moves from 27 Nov, 14:00, to 28 Nov.", "28 Nov"),
    ],
)
def test_later_mail_that_ends_with_the_same_time_corrects_nothing(
    boat: SQLiteStore, content: str, correction: str | None
) -> None:
    mail = Item.mail(
        id="moved", subject="Re: Boat survey", author="yard@example.org", date="2026-11-18T16:00+00:00",
        content=content,
    )  # fmt: skip
    boat.put_items("me", [mail])
    args = {"event_name": "Boat survey"}
    text = "when does the boat survey begin"
    answer = extract(boat, text, "Calendar/get_event", args, found=[SURVEY, mail], source=SURVEY)
    assert answer is not None
    shown = answer.correction.text if answer.correction else ""
    assert (correction or "") in shown
    assert bool(shown) == bool(correction)


def test_headers_of_a_forwarded_mail_are_no_answer(boat: SQLiteStore) -> None:
    content = (
        "---------- Forwarded message ---------\nFrom: Jo Field <jo@example.org>\n"
        "Date: Tue, 17 Nov 2026 at 11:46\nSubject: Ferry\n\nThe ferry leaves at 18:40."
    )
    mail = Item.mail(
        id="ferry", subject="Fwd: Ferry", author="jo@example.org", date="2026-11-18T16:00+00:00",
        content=content,
    )  # fmt: skip
    boat.put_items("me", [mail])
    answer = extract(
        boat, "what date is it", "Mail/read_email", {"email_subject": "Fwd: Ferry"}, found=[mail]
    )
    assert answer is not None
    assert answer.text == "The ferry leaves at 18:40."


def test_later_mail_that_says_another_time_is_shown(boat: SQLiteStore) -> None:
    moved = Item.mail(
        id="moved",
        subject="Re: Boat survey",
        author="yard@example.org",
        date="2026-11-24T16:00+00:00",
        content="Sorry to change this. The boat survey begins at 15:15 now.",
    )
    boat.put_items("me", [moved])
    args = {"event_name": "Boat survey"}
    text = "when does the boat survey begin"
    answer = extract(boat, text, "Calendar/get_event", args, found=[SURVEY, moved], source=SURVEY)
    assert answer is not None
    assert answer.text == "Fri 27 Nov, 14:00–15:30, the yard"
    assert answer.correction is not None
    assert answer.correction.text == "The boat survey begins at 15:15 now."
    assert answer.correction.source.item == "moved"
    same = Item.mail(
        id="moved", subject="Re: Boat survey", author="yard@example.org", date="2026-11-24T16:00+00:00",
        content="The boat survey begins at 2 pm as planned.",
    )  # fmt: skip
    answer = extract(boat, text, "Calendar/get_event", args, found=[SURVEY, same], source=SURVEY)
    assert answer is not None
    assert answer.correction is None


@pytest.mark.parametrize("tool", ["Calendar/cancel_event", "Music/play_song", "Google/get_weather"])
def test_no_answer_for_calls_that_do_something_or_read_elsewhere(boat: SQLiteStore, tool: str) -> None:
    assert extract(boat, "the boat survey", tool, {"event_name": "Boat survey"}, source=SURVEY) is None


def test_no_answer_to_what_is_refused_and_to_what_no_item_is_named_by(boat: SQLiteStore) -> None:
    args = {"event_name": "Boat survey"}
    assert extract(boat, "when", "Calendar/get_event", args, source=SURVEY, decision="none") is None
    assert extract(boat, "when", "Calendar/get_event", {"event_name": "Dentist"}) is None
    assert extract(boat, "any mail", "Mail/list_unread_emails", {}) is None


def test_list_of_calls_says_what_it_covers(boat: SQLiteStore) -> None:
    answer = extract(boat, "who rang", "PhoneCall/get_call_history", {}, found=CALLS)
    assert answer is not None
    assert answer.covers == "3 phone calls"
    assert answer.text.splitlines()[0] == "Jo Field, outgoing, Tue 24 Nov, 08:04"
    with_jo = extract(
        boat, "when did jo ring", "PhoneCall/get_call_history", {"contact": "Jo Field"}, found=CALLS
    )
    assert with_jo is not None
    assert [with_jo.source.item, *(other.item for other in with_jo.others)] == ["call24", "call21"]


def test_list_of_calls_has_the_history_of_each_number_and_keeps_to_what_the_request_names(
    store: SQLiteStore,
) -> None:
    store.put_user(User("me", {}, contacts=(Contact("Jo Field"),), zone=LONDON))
    jo, ann = CALLS[2], CALLS[1]
    history = [
        {"date": f"2026-11-{day}T{hour}:00+00:00", "direction": direction, "duration_s": 0}
        for day, hour, direction in ((24, "06", "missed"), (23, "18", "missed"), (21, "10", "incoming"))
    ]
    jo = Item(jo.id, jo.app, {**jo.fields, "history": history})
    store.put_items("me", [jo, ann])

    def lines(text: str, args: Mapping[str, object]) -> tuple[list[str], str]:
        answer = extract(store, text, "PhoneCall/get_call_history", args, found=[jo, ann])
        return (answer.text.splitlines(), answer.covers) if answer else ([], "")

    shown, covers = lines("who rang", {})
    assert covers == "3 of 5 phone calls"
    assert shown[2] == "Jo Field, missed, Mon 23 Nov, 18:00"
    assert lines("calls of yesterday", {"contact": "Jo Field"}) == (
        ["Jo Field, outgoing, Tue 24 Nov, 08:04", "Jo Field, missed, Tue 24 Nov, 06:00"],
        "2 phone calls",
    )
    assert lines("missed calls", {})[1] == "2 phone calls"
    assert lines("missed calls of yesterday", {})[0] == ["Jo Field, missed, Tue 24 Nov, 06:00"]
    assert lines("calls of last Friday", {}) == ([], "")


def test_list_of_songs_of_a_day_has_what_was_played_again_since(store: SQLiteStore) -> None:
    store.put_user(User("me", {}, zone=LONDON))
    songs = [
        Item.song(id=name, name=name, artist="Ana", played=f"2026-11-{last}T07:00+00:00")
        for name, last in (("Alba", 25), ("Mar", 24), ("Rio", 20))
    ]
    store.put_items("me", songs)
    days = {"Alba": (24, 25), "Mar": (23, 24), "Rio": (19, 20)}
    store.put_uses("me", [
        UsageEvent(song, datetime(2026, 11, day, 7, tzinfo=LONDON)) for song in days for day in days[song]
    ])  # fmt: skip
    answer = extract(store, "what did I play yesterday", "Music/get_recent_songs", {}, found=songs)
    assert answer is not None
    assert {line.partition(",")[0] for line in answer.text.splitlines()} == {"Alba", "Mar"}
    assert answer.covers == "2 songs"
    answer = extract(store, "what did I play", "Music/get_recent_songs", {}, found=songs)
    assert answer is not None
    assert [line.partition(",")[0] for line in answer.text.splitlines()] == ["Alba", "Mar", "Rio"]


def test_recurring_task_is_due_next_and_on_the_day_that_is_named(store: SQLiteStore) -> None:
    store.put_user(User("me", {}, zone=LONDON))
    fields = {"title": "Tablet", "due": "2026-11-24T08:00", "status": "open", "created": "2026-01-01T08:00"}
    later = ["2026-11-25T08:00", "2026-11-26T08:00", "2026-11-27T08:00"]
    tablet = Item("tablet", "Reminders", {**fields, "occurrences": later})
    store.put_items("me", [tablet])
    args = {"title": "Tablet"}
    answer = extract(store, "when do I take it", "Reminders/get_reminder", args, found=[tablet])
    assert answer is not None
    assert answer.text == "due Wed 25 Nov, 08:00, then Thu 26 Nov, 08:00"
    answer = extract(store, "reminders on Friday", "Reminders/list_reminders", {}, found=[tablet])
    assert answer is not None
    assert answer.text == "Tablet, due Fri 27 Nov, 08:00"


def test_list_of_a_day_has_only_its_events(boat: SQLiteStore) -> None:
    boat.put_items("me", [Item.event(id="swim", name="Swim", start="2026-11-28T08:00+00:00")])
    answer = extract(boat, "what is on", "Calendar/list_events", {"date": "2026-11-27"})
    assert answer is not None
    assert (answer.text, answer.covers) == (
        "Boat survey, Fri 27 Nov, 14:00–15:30, the yard",
        "1 calendar event",
    )
    assert extract(boat, "what is on", "Calendar/list_events", {"date": "2026-11-26"}) is None


def test_people_are_named_instead_of_their_addresses(boat: SQLiteStore) -> None:
    answer = extract(
        boat,
        "who takes part with participants",
        "Calendar/get_event",
        {"event_name": "Boat survey"},
        source=SURVEY,
    )
    assert answer is not None
    assert "@" not in answer.text


def test_answer_as_json(boat: SQLiteStore) -> None:
    answer = extract(boat, "when is it", "Calendar/get_event", {"event_name": "Boat survey"}, source=SURVEY)
    assert answer is not None
    content = answer_json(answer)
    assert content["source"] == {
        "item": "survey",
        "app": "Calendar",
        "kind": "calendar event",
        "title": "Boat survey",
        "time": "2026-11-27T14:00:00+00:00",
    }
    assert content["correction"] is None


def test_question_is_answered_from_a_probable_item_whatever_the_call(boat: SQLiteStore) -> None:
    text = "what's the gate code"
    args = {"title": "gate code"}
    likely = extract(boat, text, "Reminders/create_reminder", args, likely=[0.6, 0.1])
    assert likely is not None
    assert likely.text.startswith("Gate code is 0226#.")
    assert extract(boat, text, "Reminders/create_reminder", args, likely=[0.2, 0.1]) is None
    assert extract(boat, text, "Reminders/create_reminder", args, likely=[0.6], decision="none") is not None
    assert extract(boat, "note the gate code", "Reminders/create_reminder", args, likely=[0.9]) is None


def test_tool_whose_name_is_also_a_verb_of_sending_tells(boat: SQLiteStore) -> None:
    tool = Tool("mail_read", "Return one message in full.", "work")
    answer = extract(boat, "the winter storage mail", tool, {"subject": "Winter storage"}, source=STORAGE)
    assert answer is not None
    assert answer.source.item == "storage"


def test_people_of_an_event_are_shown_with_its_time(boat: SQLiteStore) -> None:
    args = {"event_name": "Boat survey"}
    answer = extract(boat, "who is with me at the boat survey", "Calendar/get_event", args, source=SURVEY)
    assert answer is not None
    assert answer.text.startswith("Fri 27 Nov, 14:00–15:30, the yard")


def test_number_of_a_contact_is_read_from_the_address_book(boat: SQLiteStore) -> None:
    contacts = (Contact("Birte Clausen", email="b@example.org", phone="+49 40 6696"), Contact("Jo Field"))
    boat.put_user(User("me", {}, contacts=contacts, zone=LONDON))
    for text in ("whats Birtes number?", "What is Birte's phone number"):
        # even if the call names something else
        answer = extract(boat, text, "Mail/read_email", {"email_subject": "Winter storage"}, source=STORAGE)
        assert answer is not None
        assert answer.text == "Birte Clausen: phone +49 40 6696"
        assert (answer.source.kind, answer.source.title) == ("contact", "Birte Clausen")
    for text in ("what's Jo's number?", "what's the number of Birte's flight", "what did Birte say"):
        assert extract(boat, text, "Notes/read_note", {}, found=[], decision="none") is None


def test_note_of_a_reminder_and_the_length_of_a_call_are_read(boat: SQLiteStore) -> None:
    flowers = Item(
        "flowers",
        "Reminders",
        {"title": "Flowers for Pa", "list": "Home", "note": "white ones", "created": "2026-11-20T10:00"},
    )
    call = Item("rung", "PhoneCall", {**CALLS[0].fields, "duration_s": 1264})
    boat.put_items("me", [flowers, call])
    answer = extract(
        boat, "which flowers for pa", TOOLS["Reminders/create_reminder"], {}, found=[flowers], likely=[0.9]
    )
    assert answer is not None
    assert answer.text == "white ones"
    answer = extract(
        boat, "how long was the call", TOOLS["Reminders/create_reminder"], {}, found=[call], likely=[0.9]
    )
    assert answer is not None
    assert "21 minutes 4 seconds" in answer.text


def test_passage_has_the_time_that_is_asked_for_and_the_title(boat: SQLiteStore) -> None:
    content = (
        f"The ferry has a blue bow. {'It is long, too. ' * 13}\n\nThe ferry: Friday. {'Hm. ' * 60}The ferry."
    )
    fields = {"title": "Ferry", "content": content, "modified": "2026-11-20T10:00"}
    note = Item("ferry", "Notes", fields)
    boat.put_items("me", [note])
    answer = extract(boat, "when does the ferry go", "Notes/read_note", {}, found=[note], likely=[0.9])
    assert answer is not None
    assert answer.text.startswith("The ferry: Friday")
    answer = extract(boat, "in which note is the ferry", "Notes/read_note", {}, found=[note], likely=[0.9])
    assert answer is not None
    assert answer.text.startswith("Ferry: ")


def test_first_item_of_a_small_store_is_read_beside_the_named_one(boat: SQLiteStore) -> None:
    message = Item("code", "Messages", {"text": "The gate code of the boathouse is 4417"})
    boat.put_items("me", [message])

    def by_code(request: str, passages: Sequence[str]) -> list[float]:
        del request
        return [9.0 * ("4417" in passage) for passage in passages]

    plan = Plan("Mail/read_email", {"email_subject": Argument("Winter storage")}, decision="confirm")
    hits = (ItemHit(message, 1.0), ItemHit(STORAGE, 0.5))
    tools = (ToolHit(TOOLS["Mail/read_email"], 1.0),)
    request = Request("What is the gate code of the boathouse?", "me", NOW)
    answer = extract_answer(Answer(request, hits, tools, plan), boat, by_code)
    assert answer is not None
    assert answer.source.item == "code"

"""Items that strangers send: long texts, long runs of spaces, times near the end of the calendar."""

from collections import Counter
from datetime import datetime
from difflib import SequenceMatcher
from itertools import product
from zoneinfo import ZoneInfo

import pytest

from contextune.plan.arguments import people
from contextune.plan.arguments.candidates import value_candidates
from contextune.plan.arguments.leaves import tool_leaves
from contextune.plan.bounded_items import MAX_ENTRIES, MAX_FIELD, bounded_item, clamp_time
from contextune.plan.misspellings import respell
from contextune.plan.names import match_names
from contextune.plan.planning_input import PlanningInput
from contextune.plan.policy import references
from contextune.plan.policy.references import References
from contextune.plan.times.phrases import find_times
from contextune.plan.times.resolve import candidate_times
from contextune.reading.texts import Names
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item, ItemHit, Request, Tool, User

NOW = datetime(2024, 5, 16, 17, 40)
REMINDER = next(tool for tool in bundled_toolbox() if tool.name == "create_reminder")
EXTREME = [
    "0001-01-01T00:00:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59",
    "9999-12-31T23:59-12:00",
]
TEXTS = [
    "move the Guild meeting an hour later",
    "remind me the day before the Guild meeting",
    "remind me an hour after the Guild meeting",
    "push the Guild meeting by three weeks and two days",
    "move it 99999999 hours later",
    "remind me 9000 years before the Guild meeting",
    "as soon as the Guild meeting is over, the week after",
]


def inputs(text: str, item: Item, time: datetime = NOW) -> PlanningInput:
    user = User("ines", zone=ZoneInfo("Pacific/Auckland"))
    return PlanningInput(Request(text, "ines", time), user, [ItemHit(item, 1.0)])


def event(start: str) -> Item:
    return Item("e", "Calendar", {"event_name": "Guild meeting", "start_time": start, "notes": "by 9 pm"})


def test_ordinary_item_is_unchanged() -> None:
    item = event("2024-05-17T19:00:00")
    assert bounded_item(item) is item
    assert inputs("move it", item).items[0] is item


def test_long_texts_and_runs_are_cut() -> None:
    item = Item("n", "Notes", {"title": "a" + " " * 9_000 + "b", "content": "x" * 90_000, "tags": ["." * 99]})
    fields = bounded_item(item).fields
    assert len(fields["title"]) < 50
    assert len(fields["content"]) == MAX_FIELD
    assert len(fields["tags"][0]) < 99
    assert inputs("show it", item).items[0].fields == fields


def test_long_lists_and_nested_texts_are_cut() -> None:
    item = Item("m", "Mail", {"recipients": ["a@example.net"] * 9_000, "parts": [{"text": "x" * 90_000}]})
    fields = bounded_item(item).fields
    assert len(fields["recipients"]) == MAX_ENTRIES
    assert len(fields["parts"][0]["text"]) == MAX_FIELD


@pytest.mark.parametrize("start", EXTREME)
@pytest.mark.parametrize("text", TEXTS)
def test_times_near_the_ends_of_the_calendar_do_not_overflow(text: str, start: str) -> None:
    planning = inputs(text, event(start))
    items = planning.items
    assert candidate_times(find_times(text, planning.now), planning.now, items, planning.user.zone)
    assert value_candidates(planning, tool_leaves(REMINDER), Names(planning.user))


@pytest.mark.parametrize("time", EXTREME)
@pytest.mark.parametrize("text", TEXTS)
def test_requests_near_the_ends_of_the_calendar_do_not_overflow(text: str, time: str) -> None:
    planning = inputs(text, event("2024-05-17T19:00:00"), datetime.fromisoformat(time))
    assert planning.time_phrases is not None
    assert candidate_times(planning.times, planning.now, planning.items, planning.user.zone)


def test_leap_days_are_clamped() -> None:
    assert clamp_time(datetime(9996, 2, 29)) == datetime(8000, 2, 29)
    assert clamp_time(datetime(4, 2, 29)) == datetime(1200, 2, 29)


WORDS = ["".join(letters) for letters in product("kbmtr", "aeiou", "lnst", "aeiou", "kdrv")]
"""2,000 words of five letters."""


def test_few_words_of_long_titles_and_requests_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: Counter[str] = Counter()

    def counted(word: str, other: str) -> bool:
        compared[word] += other != word
        return False

    monkeypatch.setattr(references, "is_one_edit", counted)
    wanted = " ".join(f"{word}x" for word in WORDS)[:8_000]
    title = " ".join(WORDS)
    item = Item("m", "Mail", {"subject": title, "author": "x@example.net", "recipients": WORDS})
    References(inputs(wanted, item), Tool("close", "Closes a ticket.", app="crm")).to_item(item)
    assert 0 < compared.total() < 100_000  # of 2,600,000


def test_words_of_any_length_are_not_compared_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    letters: list[int] = []

    def counted(junk: None, first: str, second: str, autojunk: bool) -> "SequenceMatcher[str]":
        letters.append(len(first) * len(second))
        return SequenceMatcher(junk, first, second, autojunk)

    monkeypatch.setattr(people, "SequenceMatcher", counted)
    contacts = tuple(Contact(f"{'a' * length} Reis{length}") for length in range(10, 400))
    user = User("ines", contacts=contacts, zone=ZoneInfo("UTC"))
    text = " ".join("a" * length for length in range(11, 60)) + " aaaa" * 200
    planning = PlanningInput(Request(text, "ines", NOW), user)
    assert value_candidates(planning, tool_leaves(REMINDER), Names(user))
    assert letters
    assert max(letters) <= 24 * 24


def test_few_capitals_are_tried_as_nicknames() -> None:
    contacts = (Contact("Zacharias Reis"),)
    early = " ".join(["ask", "Zach", *(f"{word}x".title() for word in WORDS[:100])])
    late = " ".join(["ask", *(f"{word}x".title() for word in WORDS[:100]), "Zach"])
    assert match_names(early, contacts)[0].words
    assert not match_names(late, contacts)[0].words


@pytest.mark.parametrize(
    "text",
    ["q" * 2_000, "qzj" * 600 + " x", " ".join(f"{word}qz" for word in WORDS), " ".join(["kbmtrwzq"] * 900)],
    ids=["one long word", "repeated", "many words", "one word often"],
)
def test_few_words_are_tried_in_place_of_unknown_ones(text: str) -> None:
    asked: list[int] = []

    def knows(word: str) -> bool:
        asked.append(len(word))
        return False

    assert respell(text, (), knows) == text
    assert len(asked) < 25_000  # without a bound, 100,000 for the word of 2,000 letters


def test_longest_word_that_is_spelt_right_has_24_letters() -> None:
    word = "electroencephalographics"
    wrong = word.replace("graph", "grpah")
    assert respell(f"show the {wrong} now", (), {word}.__contains__) == f"show the {word} now"
    assert respell(f"show the {wrong}x now", (), {f"{word}x"}.__contains__) == f"show the {wrong}x now"

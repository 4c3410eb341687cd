"""Time phrases of requests: what they resolve to, and what is no time at all."""

from datetime import datetime, timedelta

import pytest

from contextune.time_phrases import TimePhrase, parse_time_phrases

NOW = datetime(2024, 5, 16, 17, 40)  # a Thursday


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _only(text: str, now: datetime = NOW) -> TimePhrase:
    (phrase,) = parse_time_phrases(text, now)
    return phrase


DAYS = [
    ("on December 13", "2023-12-13"),
    ("13 December", "2023-12-13"),
    ("December 13, 2025", "2025-12-13"),
    ("Dec 13th 2023", "2023-12-13"),
    ("13th of December 2023", "2023-12-13"),
    ("13 Dec. 2023", "2023-12-13"),
    ("the thirteenth of June", "2024-06-13"),
    ("June third", "2024-06-03"),
    ("Jun 3", "2024-06-03"),
    ("2023-12-13", "2023-12-13"),
    ("13/12/2023", "2023-12-13"),
    ("12/13/2023", "2023-12-13"),
    ("13.12.2023", "2023-12-13"),
    ("31/5/24", "2024-05-31"),
    ("on 3/6", "2024-06-03"),
    ("the 3rd", "2024-06-03"),
    ("on the 20th", "2024-05-20"),
    ("on the twenty-first", "2024-05-21"),
    ("the 3rd of next month", "2024-06-03"),
    ("Wednesday 22 May", "2024-05-22"),
    ("Friday the 17th", "2024-05-17"),
    ("3 days ago", "2024-05-13"),
    ("ten days ago", "2024-05-06"),
    ("a couple of days ago", "2024-05-14"),
    ("in 3 days", "2024-05-19"),
    ("two days from now", "2024-05-18"),
    ("yesterday", "2024-05-15"),
    ("today", "2024-05-16"),
    ("tomorrow", "2024-05-17"),
    ("the day before yesterday", "2024-05-14"),
    ("the day after tomorrow", "2024-05-18"),
    ("on Friday", "2024-05-17"),
    ("Friday's list", "2024-05-17"),
    ("this Friday", "2024-05-17"),
    ("next Tuesday", "2024-05-21"),
    ("next Friday", "2024-05-24"),
    ("last Monday", "2024-05-13"),
    ("this past Monday", "2024-05-13"),
    ("Friday week", "2024-05-24"),
    ("Sat 18 May", "2024-05-18"),
    ("on sat", "2024-05-18"),
    ("next week on Tuesday", "2024-05-21"),
    ("Tuesday of next week", "2024-05-21"),
    ("Tuesday last week", "2024-05-07"),
    ("What did I get on Friday?", "2024-05-10"),
    ("the mail that came on December 13", "2023-12-13"),
    ("Remind me on December 13", "2024-12-13"),
    ("Cancel my first meeting on December 13", "2024-12-13"),
]
SPANS = [
    ("two weeks ago", "2024-04-29", "2024-05-06", "week"),
    ("a month ago", "2024-04-01", "2024-05-02", "month"),
    ("a year ago", "2022-11-16", "2023-11-16", "year"),
    ("last 3 days", "2024-05-13", "2024-05-16T17:40", "day"),
    ("past two weeks", "2024-05-02", "2024-05-16T17:40", "week"),
    ("over the last two hours", "2024-05-16T15:40", "2024-05-16T17:40", "hour"),
    ("the past week", "2024-05-09", "2024-05-16T17:40", "week"),
    ("next 5 days", "2024-05-16T17:40", "2024-05-22", "day"),
    ("within 2 hours", "2024-05-16T17:40", "2024-05-16T19:40", "hour"),
    ("tomorrow evening", "2024-05-17T17:00", "2024-05-18T05:00", "part of day"),
    ("tomorrow afternoon", "2024-05-17T12:00", "2024-05-17T18:00", "part of day"),
    ("tonight", "2024-05-16T17:00", "2024-05-17T05:00", "part of day"),
    ("this morning", "2024-05-16T04:00", "2024-05-16T12:00", "part of day"),
    ("last night", "2024-05-15T18:00", "2024-05-16T05:00", "part of day"),
    ("Saturday morning", "2024-05-18T04:00", "2024-05-18T12:00", "part of day"),
    ("the morning of June 3", "2024-06-03T04:00", "2024-06-03T12:00", "part of day"),
    ("in the morning", "2024-05-17T04:00", "2024-05-17T12:00", "part of day"),
    ("after lunch", "2024-05-16T12:00", "2024-05-16T18:00", "part of day"),
    ("this week", "2024-05-13", "2024-05-20", "week"),
    ("next week", "2024-05-20", "2024-05-27", "week"),
    ("last week", "2024-05-06", "2024-05-13", "week"),
    ("the week after next", "2024-05-27", "2024-06-03", "week"),
    ("this weekend", "2024-05-18", "2024-05-20", "day"),
    ("next weekend", "2024-05-25", "2024-05-27", "day"),
    ("last weekend", "2024-05-11", "2024-05-13", "day"),
    ("this month", "2024-05-01", "2024-06-01", "month"),
    ("next month", "2024-06-01", "2024-07-01", "month"),
    ("last month", "2024-04-01", "2024-05-01", "month"),
    ("last quarter", "2024-01-01", "2024-04-01", "month"),
    ("this year", "2024-01-01", "2025-01-01", "year"),
    ("next year", "2025-01-01", "2026-01-01", "year"),
    ("last year", "2023-01-01", "2024-01-01", "year"),
    ("in March", "2024-03-01", "2024-04-01", "month"),
    ("in May", "2024-05-01", "2024-06-01", "month"),
    ("March 2023", "2023-03-01", "2023-04-01", "month"),
    ("last March", "2024-03-01", "2024-04-01", "month"),
    ("next March", "2025-03-01", "2025-04-01", "month"),
    ("the September invoice", "2024-09-01", "2024-10-01", "month"),
    ("in 2022", "2022-01-01", "2023-01-01", "year"),
    ("next summer", "2024-06-01", "2024-09-01", "month"),
    ("from 3 to 5", "2024-05-17T15:00", "2024-05-17T17:00", "hour"),
    ("from five to six", "2024-05-17T17:00", "2024-05-17T18:00", "hour"),
    ("tomorrow from 2 to 4", "2024-05-17T14:00", "2024-05-17T16:00", "hour"),
    ("2-4 pm on Friday", "2024-05-17T14:00", "2024-05-17T16:00", "hour"),
    ("between 3 and 5 on Friday", "2024-05-17T15:00", "2024-05-17T17:00", "hour"),
    ("from 10:30 to 12 on Saturday", "2024-05-18T10:30", "2024-05-18T12:00", "minute"),
    ("between Monday and Wednesday", "2024-05-20", "2024-05-23", "day"),
    ("from Monday to Friday", "2024-05-20", "2024-05-25", "day"),
    ("from June 3 to June 7", "2024-06-03", "2024-06-08", "day"),
    ("since Tuesday", "2024-05-14", "2024-05-16T17:40", "day"),
    ("since March", "2024-03-01", "2024-05-16T17:40", "month"),
    ("until Friday", "2024-05-16T17:40", "2024-05-18", "day"),
    ("by Thursday", "2024-05-16T17:40", "2024-05-17", "day"),
    ("by 5 pm tomorrow", "2024-05-16T17:40", "2024-05-17T17:00", "hour"),
    ("end of the month", "2024-05-23", "2024-06-01", "week"),
    ("end of the week", "2024-05-17", "2024-05-20", "week"),
    ("beginning of next week", "2024-05-20", "2024-05-22", "day"),
    ("end of March", "2024-03-23", "2024-04-01", "week"),
    ("by the end of next month", "2024-05-16T17:40", "2024-07-01", "week"),
]
CLOCKS = [
    ("Saturday at noon", "2024-05-18T12:00"),
    ("at 4 pm", "2024-05-17T16:00"),
    ("Remind me at 4 pm to stretch my back", "2024-05-17T16:00"),
    ("16:30", "2024-05-17T16:30"),
    ("4.30pm", "2024-05-17T16:30"),
    ("4:30 p.m.", "2024-05-17T16:30"),
    ("at three", "2024-05-17T15:00"),
    ("Remind me at three to stretch", "2024-05-17T15:00"),
    ("at five to six", "2024-05-16T17:55"),
    ("at nine", "2024-05-16T21:00"),
    ("half six", "2024-05-16T18:30"),
    ("half past eight", "2024-05-16T20:30"),
    ("quarter past nine", "2024-05-16T21:15"),
    ("a quarter to one", "2024-05-17T12:45"),
    ("twenty-five past six", "2024-05-16T18:25"),
    ("ten to seven", "2024-05-16T18:50"),
    ("nine thirty", "2024-05-16T21:30"),
    ("noon", "2024-05-17T12:00"),
    ("midnight", "2024-05-17T00:00"),
    ("eight o'clock", "2024-05-16T20:00"),
    ("tonight at 9", "2024-05-16T21:00"),
    ("8 tonight", "2024-05-16T20:00"),
    ("this evening at 8", "2024-05-16T20:00"),
    ("last night at eleven", "2024-05-15T23:00"),
    ("at 8 in the evening", "2024-05-16T20:00"),
    ("Saturday morning at ten", "2024-05-18T10:00"),
    ("yesterday at three", "2024-05-15T15:00"),
    ("Wake me at half past six tomorrow", "2024-05-17T06:30"),
    ("on 5 June at 10:30", "2024-06-05T10:30"),
    ("2023-12-13T14:30", "2023-12-13T14:30"),
    ("in forty minutes", "2024-05-16T18:20"),
    ("in an hour and a half", "2024-05-16T19:10"),
    ("in half an hour", "2024-05-16T18:10"),
    ("in two hours and ten minutes", "2024-05-16T19:50"),
    ("in ninety-nine minutes", "2024-05-16T19:19"),
    ("forty-five minutes ago", "2024-05-16T16:55"),
    ("every day at 9 am", "2024-05-17T09:00"),
    ("every Thursday at 8 am", "2024-05-23T08:00"),
]
NO_TIMES = [
    "May I call you?",
    "Call May",
    "Call May and ask about the second one",
    "you may go, and they may not",
    "The message from May",  # possible, but more probably a person
    "March with us",
    "March to the store",
    "Call June",
    "the second one",
    "Wait a second",
    "give me a minute",
    "Read 'Friday's child' to me",
    'Reply with "I will get back to you tomorrow."',
    "Reply to yuki with 'Thanks, see you tomorrow at 3 pm.'",
    "I read it in the Sun",
    "The Sun rises",
    "The girl sat down in the sun",
    "1984",
    "Play 1984 by Orwell",
    "Dial 555-0777",
    "Call +49 171 2020 123",
    "Call 0171 1999 2010",
    "Pay $4.30",
    "it costs 4.30 euros",
    "Transfer 2000 euros",
    "Book a table for two",
    "Good morning",
    "Morning run playlist",
    "The sixth sense",
    "They are open 24/7",
    "Play 99 Luftballons",
    "Play track 7",
    "chapter 3",
    "He lives at 12 Main Street",
    "Write to nine@three.org",
    "One of the two",
    "Play Summer of 69",
    "version 3.10",
    "Who decided on the marble?",
    "",
]


@pytest.mark.parametrize(("text", "day"), DAYS)
def test_days(text: str, day: str) -> None:
    phrase = _only(text)
    assert phrase.interval == (_time(day), _time(day) + timedelta(days=1))
    assert phrase.granularity == "day"
    assert phrase.kind == "span"


@pytest.mark.parametrize(("text", "start", "end", "granularity"), SPANS)
def test_spans(text: str, start: str, end: str, granularity: str) -> None:
    phrase = _only(text)
    assert phrase.interval == (_time(start), _time(end))
    assert phrase.granularity == granularity
    assert phrase.kind == "span"


@pytest.mark.parametrize(("text", "time"), CLOCKS)
def test_clock_times(text: str, time: str) -> None:
    phrase = _only(text)
    assert phrase.anchor == _time(time)
    assert phrase.granularity in ("minute", "hour")


@pytest.mark.parametrize("text", NO_TIMES)
def test_no_times(text: str) -> None:
    assert [phrase for phrase in parse_time_phrases(text, NOW) if phrase.confidence >= 0.5] == []


def test_phrase_includes_its_preposition() -> None:
    text = "Remind me at 4 pm to stretch my back"
    phrase = _only(text)
    assert phrase.text == text[phrase.first : phrase.last] == "at 4 pm"
    assert _only("The boat leaves on Friday at ten.").text == "on Friday at ten"
    assert _only("I dropped in Friday afternoon").text == "Friday afternoon"


def test_ambiguous_phrases_have_alternatives() -> None:
    assert _time("2024-05-17T03:00") in [start for start, _ in _only("at three").alternatives]
    assert (_time("2024-05-10"), _time("2024-05-11")) in _only("on Friday").alternatives
    assert _only("next Friday").alternatives[0][0] == _time("2024-05-17")
    assert _only("at 4 pm on 2024-06-03").alternatives == ()


@pytest.mark.parametrize(
    ("day_first", "start"), [(True, "2024-05-04"), (False, "2024-04-05"), (None, "2024-05-04")]
)
def test_order_of_numeric_dates(day_first: bool | None, start: str) -> None:
    (phrase,) = parse_time_phrases("4/5/2024", NOW, day_first=day_first)
    assert phrase.start == _time(start)
    assert bool(phrase.alternatives) == (day_first is None)


def test_impossible_month_overrides_the_order() -> None:
    for day_first in (True, False):
        (phrase,) = parse_time_phrases("12/31/2023", NOW, day_first=day_first)
        assert phrase.start == _time("2023-12-31")


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("3 days ago", "past"),
        ("last night", "past"),
        ("last 3 days", "past"),
        ("since Tuesday", "past"),
        ("in 3 days", "future"),
        ("next week", "future"),
        ("by Friday", "future"),
        ("every Monday", "future"),
        ("on Friday", "either"),
        ("13 December", "either"),
        ("this week", "either"),
    ],
)
def test_direction(text: str, direction: str) -> None:
    assert _only(text).direction == direction


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("every Monday", "FREQ=WEEKLY;BYDAY=MO"),
        ("every Tuesday and Thursday", "FREQ=WEEKLY;BYDAY=TU,TH"),
        ("on Mondays", "FREQ=WEEKLY;BYDAY=MO"),
        ("every other Friday", "FREQ=WEEKLY;INTERVAL=2;BYDAY=FR"),
        ("every weekday at six", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("each morning", "FREQ=DAILY"),
        ("every two weeks", "FREQ=WEEKLY;INTERVAL=2"),
        ("monthly", "FREQ=MONTHLY"),
    ],
)
def test_recurrences(text: str, rule: str) -> None:
    phrase = _only(text)
    assert (phrase.kind, phrase.rrule) == ("recurrence", rule)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("for 20 minutes", 20),
        ("for an hour and a half", 90),
        ("for forty-five minutes", 45),
        ("for three quarters of an hour", 45),
        ("for 1.5 hours", 90),
        ("lasting 2 h", 120),
        ("for a fortnight", 14 * 24 * 60),
    ],
)
def test_durations(text: str, minutes: int) -> None:
    phrase = _only(text)
    assert (phrase.kind, phrase.length) == ("duration", timedelta(minutes=minutes))


def test_bounds_open_the_interval() -> None:
    before, after = _only("before June 3"), _only("after June 3")
    assert (before.start, before.end, before.bound) == (datetime.min, _time("2024-06-03"), "before")
    assert (after.start, after.end, after.bound) == (_time("2024-06-04"), datetime.max, "after")
    assert _only("from Monday onwards").interval == (_time("2024-05-20"), datetime.max)


def test_doubtful_phrases_are_returned_on_demand() -> None:
    (phrase,) = parse_time_phrases("Play 1984", NOW, min_confidence=0)
    assert phrase.start.year == 1984
    assert phrase.confidence < 0.3


def test_several_phrases_in_order() -> None:
    text = "Move what I had yesterday to Saturday at noon, for two hours."
    assert [phrase.text for phrase in parse_time_phrases(text, NOW)] == [
        "yesterday",
        "Saturday at noon",
        "for two hours",
    ]


def test_tense_is_that_of_the_sentence() -> None:
    assert _only("She rang. Book it for Friday.").start == _time("2024-05-17")
    assert _only("Good day! What came on Friday? I forgot.").start == _time("2024-05-10")


def test_time_zone_of_the_request_is_kept() -> None:
    zoned = NOW.astimezone()
    phrase = _only("since yesterday at 9:00", zoned)
    assert phrase.start.tzinfo is zoned.tzinfo
    assert phrase.start < phrase.end == zoned

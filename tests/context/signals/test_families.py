"""What single features say of a few items, and what is said in words."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.context.signals.conftest import NOW, MakeScene, call, event, note, song

from contextune.context.signals import (
    NAMES,
    RequestClasses,
    Scene,
    features,
    links,
    people,
    place,
    state,
    store,
    text,
    times,
    usage,
)
from contextune.context.signals.registry import initial_strength
from contextune.context.signals.time_phrases import clock_hours, intervals
from contextune.types import Item, UsageEvent


def values(scene: Scene, feature: str) -> dict[str, float]:
    column = features(scene)[:, NAMES.index(feature)]
    return {item.id: float(value) for item, value in zip(scene.items, column, strict=True)}


def number(scene: Scene, item: str) -> int:
    return [one.id for one in scene.items].index(item)


class TestTime:
    ITEMS = (
        event("now", "Firing", "2024-05-16T17:00", "2024-05-16T18:00"),
        event("next", "Glaze night", "2024-05-16T19:00", "2024-05-16T21:00"),
        event("far", "Dentist", "2024-05-20T09:00", "2024-05-20T09:30"),
        call("old", "2024-05-14T08:00"),
        call("new", "2024-05-16T17:30"),
    )

    def test_what_is_on_and_what_is_next(self, scene: MakeScene) -> None:
        made = scene("When do I have to be there?", self.ITEMS)
        assert values(made, "time.on now")["now"] == 1
        nexts = values(made, "time.next event")
        assert nexts["next"] < nexts["far"]
        assert values(made, "time.last in app")["new"] < values(made, "time.last in app")["old"]

    def test_in_words(self, scene: MakeScene) -> None:
        made = scene("When do I have to be there?", self.ITEMS)
        said = {item: times.why(made, number(made, item)) for item in ("now", "next", "far", "new")}
        assert said == {
            "now": "it is on now",
            "next": "starts in 80 minutes",
            "far": "starts in 4 days",
            "new": "from 10 minutes ago",
        }

    def test_one_minute(self, scene: MakeScene) -> None:
        made = scene("What came in?", [call("just", "2024-05-16T17:39"), call("now", "2024-05-16T17:40")])
        said = {item: times.why(made, number(made, item)) for item in ("just", "now")}
        assert set(said.values()) == {"from 1 minute ago"}

    def test_tonight_is_tonight(self, scene: MakeScene) -> None:
        made = scene("What is on tonight?", self.ITEMS)
        inside = values(made, "time.in spoken")
        assert inside["next"] == 1
        assert inside["far"] == 0

    @pytest.mark.parametrize(
        ("text", "inside", "outside"),
        [
            ("What came last night?", "2024-05-15T23:00", "2024-05-16T12:00"),
            ("yesterday's mail", "2024-05-15T10:00", "2024-05-16T10:00"),
            ("the day after tomorrow", "2024-05-18T10:00", "2024-05-17T10:00"),
            ("the day before yesterday", "2024-05-14T10:00", "2024-05-15T10:00"),
            ("put it off till tomorrow evening", "2024-05-17T19:00", "2024-05-17T09:00"),
            ("what is on Saturday?", "2024-05-18T10:00", "2024-05-19T10:00"),
            ("the one from last Tuesday", "2024-05-14T10:00", "2024-05-21T10:00"),
            ("this weekend", "2024-05-18T10:00", "2024-05-20T10:00"),
            ("next week", "2024-05-20T10:00", "2024-05-19T10:00"),
            ("this morning", "2024-05-16T08:00", "2024-05-16T15:00"),
        ],
    )
    def test_spoken_times(self, text: str, inside: str, outside: str) -> None:
        found = intervals(text, NOW)
        holds = [any(a <= datetime.fromisoformat(t) < b for a, b in found) for t in (inside, outside)]
        assert holds == [True, False]

    def test_no_time_is_spoken_of(self) -> None:
        assert intervals("Play my song.", NOW) == []
        assert clock_hours("Play my song.") == []

    def test_hours_of_the_clock(self) -> None:
        assert clock_hours("around three") == [3, 15]
        assert clock_hours("at 5 pm") == [17]
        assert clock_hours("by 17:30") == [17.5]


class TestUsage:
    MORNING = tuple(UsageEvent("run", datetime(2024, 5, 6 + day, 7, 10), "commute") for day in range(5))
    EVENING = tuple(UsageEvent("rest", datetime(2024, 5, 6 + day, 21, 0), "home") for day in range(7))
    SONGS = (song("run", "Fast one"), song("rest", "Slow one"), song("never", "Old one"))

    def test_the_habit_of_this_hour_and_place(self, scene: MakeScene) -> None:
        uses = (*self.MORNING, *self.EVENING)
        morning = scene("My usual.", self.SONGS, uses, now=datetime(2024, 5, 16, 7, 20), place="commute")
        evening = scene("My usual.", self.SONGS, uses, now=datetime(2024, 5, 16, 21, 5), place="home")
        for made, usual, other in ((morning, "run", "rest"), (evening, "rest", "run")):
            habit = values(made, "usage.habit")
            assert habit[usual] > 10 * habit[other]
            assert habit["never"] == 0
            assert values(made, "usage.unopened")["never"] == 1

    def test_in_words(self, scene: MakeScene) -> None:
        made = scene("My usual.", self.SONGS, self.MORNING, now=datetime(2024, 5, 16, 7, 20), place="commute")
        said = "played 5 times on weekday mornings at commute; you are there now"
        assert usage.why(made, number(made, "run")) == said
        assert usage.why(made, number(made, "never")) is None

    def test_like_clockwork(self, scene: MakeScene) -> None:
        uneven = [UsageEvent("rest", NOW - timedelta(hours=h), "home") for h in (300, 290, 100, 99, 20)]
        made = scene("My usual.", self.SONGS, [*self.MORNING, *uneven])
        rhythm = values(made, "usage.rhythm")
        assert rhythm["run"] < 0.1 < rhythm["rest"]
        assert np.isnan(rhythm["never"])

    def test_what_goes_with_what_was_used_last(self, scene: MakeScene) -> None:
        together = [
            UsageEvent(name, NOW - timedelta(days=day, minutes=minute), "home")
            for day in (3, 2, 1)
            for name, minute in (("run", 0), ("rest", 10))
        ]
        made = scene(
            "And the other?", self.SONGS, [*together, UsageEvent("run", NOW - timedelta(minutes=5), "home")]
        )
        assert values(made, "usage.with recent") == {"never": 0, "rest": 3, "run": 0}


class TestPeople:
    ITEMS = (
        call("rui", "2024-05-16T10:00"),
        call("other", "2024-05-16T11:00", contact="Kiln shop"),
        note("about", "for Rui, the blue bowl"),
    )

    def test_by_relation_and_by_other_words_for_it(self, scene: MakeScene) -> None:
        for asked in ("What did my brother want?", "What did my bro want?"):
            made = scene(asked, self.ITEMS)
            assert values(made, "people.relation") == {"rui": 1, "other": 0, "about": 0}
            assert values(made, "people.mention relation")["about"] == 1
            assert people.why(made, number(made, "rui")) == "Rui Duarte is your brother"
            assert people.why(made, number(made, "other")) is None

    def test_by_name(self, scene: MakeScene) -> None:
        assert values(scene("Ring Rui.", self.ITEMS), "people.named")["rui"] == 1


class TestPlace:
    ITEMS = (note("here", "glaze", place="studio"), note("home", "list", place="home"), note("no", "idea"))

    def test_where_the_user_is(self, scene: MakeScene) -> None:
        made = scene("What was I doing here?", self.ITEMS, place="studio")
        assert values(made, "place.same") == {"here": 1, "home": 0, "no": 0}
        away = values(made, "place.distance")
        assert away["here"] == 0
        assert 1 < away["home"] < 3
        assert np.isnan(away["no"])
        assert place.why(made, number(made, "here")) == "belongs to where you are: studio"
        assert place.why(made, number(made, "no")) is None


class TestOthers:
    def test_the_application_spoken_of(self, scene: MakeScene) -> None:
        reading = RequestClasses({}, {"Music": 0.8, "PhoneCall": 0.1}, {"Music": 0.5})
        made = scene("Louder!", [song("s", "One"), call("p", "2024-05-16T10:00")], reading=reading)
        assert values(made, "store.likely")["s"] == pytest.approx(0.8)
        assert values(made, "store.likely behind best")["p"] == pytest.approx(-0.7)
        assert store.why(made, number(made, "s")) == "the request sounds like a song played"
        assert store.why(made, number(made, "p")) is None

    def test_state(self, scene: MakeScene) -> None:
        made = scene(
            "Who was that?", [call("m", "2024-05-16T10:00"), call("o", "2024-05-16T11:00", "outgoing")]
        )
        assert values(made, "state.missed") == {"m": 1, "o": 0}
        assert state.why(made, number(made, "m")) == "a missed call"

    def test_words(self, scene: MakeScene) -> None:
        made = scene("celadon recipes", [note("n", "Celadon recipes"), note("m", "Shopping")])
        assert values(made, "text.overlap") == {"n": 1, "m": 0}
        assert text.why(made, number(made, "n")) == "shares the words: celadon, recipes"

    def test_the_labels_of_an_application_are_no_words_of_the_item(self, scene: MakeScene) -> None:
        made = scene("song played by whom", [song("s", "One")])
        assert values(made, "text.overlap") == {"s": 0}


class TestLinks:
    ITEMS = (
        Item(
            "mail",
            "Mail",
            {"subject": "Regulator arrived", "content": "Ask for Dewi", "date": "2024-05-15T16:05"},
        ),
        Item("search", "Google", {"query": "regulator voltage", "date": "2024-05-10T20:40"}),
        note("other", "Walking boots"),
        Item(
            "reply",
            "Mail",
            {"subject": "Re: Regulator arrived", "content": "Thanks", "date": "2024-05-15T18:00"},
        ),
    )

    def test_what_is_tied_to_the_strongest(self, scene: MakeScene) -> None:
        made = scene("arrived? ask for Dewi", self.ITEMS)
        tied = values(made, "links.words to top")
        assert tied["search"] > 0 == tied["other"]
        assert values(made, "links.thread to top")["reply"] == 1
        strength = initial_strength(made)
        assert (
            links.why(made, number(made, "search"), strength)
            == "tied to “Regulator arrived” by the words: regulator"
        )
        assert links.why(made, number(made, "reply"), strength) == "of one thread with “Regulator arrived”"
        assert links.why(made, number(made, "mail"), strength) is None

    def test_one_candidate_has_no_links(self, scene: MakeScene) -> None:
        assert not np.isinf(features(scene("arrived?", self.ITEMS[:1]))).any()

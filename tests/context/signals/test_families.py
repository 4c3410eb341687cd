"""Values of single features for a few items, and the reasons in words."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from tests.context.signals.conftest import NOW, MakeScene, call, event, note, song

from contextune.context.signals import (
    FEATURE_NAMES,
    RequestClasses,
    Scene,
    compute_features,
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
from contextune.context.signals.time_phrases import find_clock_hours, find_intervals
from contextune.types import Item, UsageEvent


def values(scene: Scene, feature: str) -> dict[str, float]:
    column = compute_features(scene)[:, FEATURE_NAMES.index(feature)]
    return {item.id: float(value) for item, value in zip(scene.items, column, strict=True)}


def number_of(scene: Scene, item: str) -> int:
    return [candidate.id for candidate in scene.items].index(item)


class TestTime:
    ITEMS = (
        event("now", "Firing", "2024-05-16T17:00", "2024-05-16T18:00"),
        event("next", "Glaze night", "2024-05-16T19:00", "2024-05-16T21:00"),
        event("far", "Dentist", "2024-05-20T09:00", "2024-05-20T09:30"),
        call("old", "2024-05-14T08:00"),
        call("new", "2024-05-16T17:30"),
    )

    def test_current_and_next_events(self, make_scene: MakeScene) -> None:
        scene = make_scene("When do I have to be there?", self.ITEMS)
        assert values(scene, "time.on now")["now"] == 1
        nexts = values(scene, "time.next event")
        assert nexts["next"] < nexts["far"]
        assert values(scene, "time.last in app")["new"] < values(scene, "time.last in app")["old"]

    def test_in_words(self, make_scene: MakeScene) -> None:
        scene = make_scene("When do I have to be there?", self.ITEMS)
        reasons = {
            item: times.explain(scene, number_of(scene, item)) for item in ("now", "next", "far", "new")
        }
        assert reasons == {
            "now": "happening now",
            "next": "starts in 80 minutes",
            "far": "starts in 4 days",
            "new": "from 10 minutes ago",
        }

    def test_explanation_rounds_up_to_one_minute(self, make_scene: MakeScene) -> None:
        scene = make_scene(
            "What came in?", [call("just", "2024-05-16T17:39"), call("now", "2024-05-16T17:40")]
        )
        reasons = {item: times.explain(scene, number_of(scene, item)) for item in ("just", "now")}
        assert set(reasons.values()) == {"from 1 minute ago"}

    def test_tonight_selects_events_this_evening(self, make_scene: MakeScene) -> None:
        scene = make_scene("What is on tonight?", self.ITEMS)
        inside = values(scene, "time.in spoken")
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
    def test_time_phrases_resolve_to_intervals(self, text: str, inside: str, outside: str) -> None:
        spans = find_intervals(text, NOW)
        holds = [
            any(start <= datetime.fromisoformat(t) < end for start, end in spans) for t in (inside, outside)
        ]
        assert holds == [True, False]

    def test_text_without_times(self) -> None:
        assert find_intervals("Play my song.", NOW) == []
        assert find_clock_hours("Play my song.") == []

    def test_clock_hours(self) -> None:
        assert find_clock_hours("around three") == [3, 15]
        assert find_clock_hours("at 5 pm") == [17]
        assert find_clock_hours("by 17:30") == [17.5]


class TestUsage:
    MORNING = tuple(UsageEvent("run", datetime(2024, 5, 6 + day, 7, 10), "commute") for day in range(5))
    EVENING = tuple(UsageEvent("rest", datetime(2024, 5, 6 + day, 21, 0), "home") for day in range(7))
    SONGS = (song("run", "Fast one"), song("rest", "Slow one"), song("never", "Old one"))

    def test_habit_matches_hour_and_place(self, make_scene: MakeScene) -> None:
        uses = (*self.MORNING, *self.EVENING)
        morning = make_scene("My usual.", self.SONGS, uses, now=datetime(2024, 5, 16, 7, 20), place="commute")
        evening = make_scene("My usual.", self.SONGS, uses, now=datetime(2024, 5, 16, 21, 5), place="home")
        for scene, usual, other in ((morning, "run", "rest"), (evening, "rest", "run")):
            habit = values(scene, "usage.habit")
            assert habit[usual] > 10 * habit[other]
            assert habit["never"] == 0
            assert values(scene, "usage.unopened")["never"] == 1

    def test_in_words(self, make_scene: MakeScene) -> None:
        scene = make_scene(
            "My usual.", self.SONGS, self.MORNING, now=datetime(2024, 5, 16, 7, 20), place="commute"
        )
        expected = "played 5 times, mostly on weekday mornings while commuting, as you are now"
        assert usage.explain(scene, number_of(scene, "run")) == expected
        assert usage.explain(scene, number_of(scene, "never")) is None

    def test_rhythm_is_low_for_regular_use(self, make_scene: MakeScene) -> None:
        uneven = [UsageEvent("rest", NOW - timedelta(hours=h), "home") for h in (300, 290, 100, 99, 20)]
        scene = make_scene("My usual.", self.SONGS, [*self.MORNING, *uneven])
        rhythm = values(scene, "usage.rhythm")
        assert rhythm["run"] < 0.1 < rhythm["rest"]
        assert np.isnan(rhythm["never"])

    def test_uses_next_to_the_last_used_item_count(self, make_scene: MakeScene) -> None:
        together = [
            UsageEvent(name, NOW - timedelta(days=day, minutes=minute), "home")
            for day in (3, 2, 1)
            for name, minute in (("run", 0), ("rest", 10))
        ]
        scene = make_scene(
            "And the other?", self.SONGS, [*together, UsageEvent("run", NOW - timedelta(minutes=5), "home")]
        )
        assert values(scene, "usage.with recent") == {"never": 0, "rest": 3, "run": 0}


class TestPeople:
    ITEMS = (
        call("rui", "2024-05-16T10:00"),
        call("other", "2024-05-16T11:00", contact="Kiln shop"),
        note("about", "for Rui, the blue bowl"),
    )

    def test_relation_and_its_synonyms_match_contact(self, make_scene: MakeScene) -> None:
        for request in ("What did my brother want?", "What did my bro want?"):
            scene = make_scene(request, self.ITEMS)
            assert values(scene, "people.relation") == {"rui": 1, "other": 0, "about": 0}
            assert values(scene, "people.mention relation")["about"] == 1
            assert people.explain(scene, number_of(scene, "rui")) == "Rui Duarte is your brother"
            assert people.explain(scene, number_of(scene, "other")) is None

    def test_name_matches_contact(self, make_scene: MakeScene) -> None:
        assert values(make_scene("Ring Rui.", self.ITEMS), "people.named")["rui"] == 1


class TestPlace:
    ITEMS = (note("here", "glaze", place="studio"), note("home", "list", place="home"), note("no", "idea"))

    def test_items_at_current_place(self, make_scene: MakeScene) -> None:
        scene = make_scene("What was I doing here?", self.ITEMS, place="studio")
        assert values(scene, "place.same") == {"here": 1, "home": 0, "no": 0}
        away = values(scene, "place.distance")
        assert away["here"] == 0
        assert 1 < away["home"] < 3
        assert np.isnan(away["no"])
        assert place.explain(scene, number_of(scene, "here")) == "belongs to your current place: studio"
        assert place.explain(scene, number_of(scene, "no")) is None


class TestOthers:
    def test_classifier_probability_of_application(self, make_scene: MakeScene) -> None:
        request_classes = RequestClasses({}, {"Music": 0.8, "PhoneCall": 0.1}, {"Music": 0.5})
        scene = make_scene(
            "Louder!", [song("s", "One"), call("p", "2024-05-16T10:00")], request_classes=request_classes
        )
        assert values(scene, "store.likely")["s"] == pytest.approx(0.8)
        assert values(scene, "store.likely behind best")["p"] == pytest.approx(-0.7)
        assert store.explain(scene, number_of(scene, "s")) == "the request is probably about a song"
        assert store.explain(scene, number_of(scene, "p")) is None

    def test_unknown_application_is_unlikely(self, make_scene: MakeScene) -> None:
        request_classes = RequestClasses(
            {}, {"Music": 0.8, "PhoneCall": 0.1, "Mail": 0.05}, {"Music": 0.5, "Mail": 0.2}
        )
        task = Item("t", "Tasks", {"title": "paint the fence"})
        scene = make_scene("Louder!", [song("s", "One"), task], request_classes=request_classes)
        assert values(scene, "store.likely") == pytest.approx({"s": 0.8, "t": 0.05})
        assert values(scene, "store.likely rank") == {"s": 0, "t": 2}
        assert values(scene, "store.tools behind best") == pytest.approx({"s": 0, "t": -0.3})
        assert store.explain(scene, number_of(scene, "t")) is None

    def test_other_name_of_an_application_has_its_prior(self, make_scene: MakeScene) -> None:
        request_classes = RequestClasses({}, {"Music": 0.1, "Mail": 0.8}, {"Music": 0.2, "Mail": 0.5})
        mails = [
            Item(app, app, {"subject": "Kiln", "date": "2024-05-13T09:00"})
            for app in ("email", "Outlook Mail", "Mail")
        ]
        items = [song("s", "One"), *mails, Item("todo", "todo", {"title": "paint the fence"})]
        scene = make_scene("Did she write?", items, request_classes=request_classes)
        mail = dict.fromkeys(("email", "Outlook Mail", "Mail"), 1)
        assert values(scene, "store.is Mail") == {"s": 0, "todo": 0, **mail}
        assert values(scene, "state.unread") == {"s": 0, "todo": 0, **mail}
        expected = {"s": 0.1, "todo": 0.1, **dict.fromkeys(mail, 0.8)}
        assert values(scene, "store.likely") == pytest.approx(expected)
        assert store.explain(scene, number_of(scene, "email")) == "the request is probably about an email"

    def test_prior_is_missing_if_no_application_is_known(self, make_scene: MakeScene) -> None:
        request_classes = RequestClasses({}, {"Music": 0.8, "Mail": 0.1}, {"Music": 0.5})
        items = [Item("t", "Tasks", {"title": "paint the fence"}), Item("c", "CRM", {"name": "Jaden White"})]
        scene = make_scene("Louder!", items, request_classes=request_classes)
        for feature in ("store.likely", "store.likely behind best", "store.tools", "store.tools behind best"):
            assert np.isnan(list(values(scene, feature).values())).all()

    def test_missed_call_state(self, make_scene: MakeScene) -> None:
        scene = make_scene(
            "Who was that?", [call("m", "2024-05-16T10:00"), call("o", "2024-05-16T11:00", "outgoing")]
        )
        assert values(scene, "state.missed") == {"m": 1, "o": 0}
        assert state.explain(scene, number_of(scene, "m")) == "a missed call"

    def test_overlap_with_title(self, make_scene: MakeScene) -> None:
        scene = make_scene("celadon recipes", [note("n", "Celadon recipes"), note("m", "Shopping")])
        assert values(scene, "text.overlap") == {"n": 1, "m": 0}
        assert text.explain(scene, number_of(scene, "n")) == "shares the words: celadon, recipes"

    def test_application_labels_are_not_item_words(self, make_scene: MakeScene) -> None:
        scene = make_scene("song played by whom", [song("s", "One")])
        assert values(scene, "text.overlap") == {"s": 0}


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

    def test_links_to_strongest_candidate(self, make_scene: MakeScene) -> None:
        scene = make_scene("arrived? ask for Dewi", self.ITEMS)
        links_to_top = values(scene, "links.words to top")
        assert links_to_top["search"] > 0 == links_to_top["other"]
        assert values(scene, "links.thread to top")["reply"] == 1
        strength = initial_strength(scene)
        assert (
            links.explain(scene, number_of(scene, "search"), strength)
            == "shares words with “Regulator arrived”: regulator"
        )
        assert (
            links.explain(scene, number_of(scene, "reply"), strength) == "same thread as “Regulator arrived”"
        )
        assert links.explain(scene, number_of(scene, "mail"), strength) is None

    def test_single_candidate_has_finite_features(self, make_scene: MakeScene) -> None:
        assert not np.isinf(compute_features(make_scene("arrived?", self.ITEMS[:1]))).any()

"""Requests in a script that the embedder cannot read: words, uses, times and feedback rank them."""

from datetime import datetime, timedelta

import pytest

from contextune import Item, Request, SQLiteStore, Tuner, UsageEvent, User
from contextune.embed import Embedder

NOW = datetime(2024, 5, 16, 17)
MUSIC = "放点音乐"


@pytest.fixture
def tuner(store: SQLiteStore, word_embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> Tuner:
    def unreadable(embedder: Embedder, text: str) -> float:
        del embedder, text
        return 0.0

    monkeypatch.setattr("contextune.context.build_scene.readability", unreadable)
    store.put_user(User("wei", places={"home": (39.9, 116.4), "gym": (39.8, 116.3)}))
    store.put_items(
        "wei",
        [
            Item.event(id="tomorrow", name="产品评审会", start=NOW + timedelta(days=1)),
            Item.event(id="later", name="看牙医", start=NOW + timedelta(days=20)),
            Item.note(id="old", title="购物清单", modified=NOW - timedelta(days=30)),
            Item.song(id="s1", name="月亮代表我的心", played=NOW - timedelta(hours=9)),
            Item.song(id="s2", name="晴天", played=NOW - timedelta(days=6)),
        ],
    )
    return Tuner(store, embedder=word_embedder)


def ranked(tuner: Tuner, text: str, time: datetime = NOW, place: str | None = None) -> list[str]:
    return [hit.item.id for hit in tuner.context(Request(text, "wei", time, place))]


def test_without_a_matching_word_items_near_in_time_come_first(tuner: Tuner) -> None:
    assert set(ranked(tuner, MUSIC)[:2]) == {"s1", "tomorrow"}


def test_matching_word_comes_before_nearness(tuner: Tuner) -> None:
    assert ranked(tuner, "我什么时候看牙医？")[0] == "later"


def test_item_used_at_this_hour_and_place_comes_first(tuner: Tuner) -> None:
    for day in range(1, 15):
        tuner.record("wei", UsageEvent("s2", NOW.replace(day=day), "gym"))
        tuner.record("wei", UsageEvent("s1", NOW.replace(day=day), "home"))
    assert ranked(tuner, MUSIC, place="gym")[0] == "s2"
    assert ranked(tuner, MUSIC, place="home")[0] == "s1"


def test_feedback_on_the_same_words_counts(tuner: Tuner) -> None:
    tuner.feedback(Request(MUSIC, "wei", NOW), rejected=["s1", "tomorrow"], used=["s2"])
    later = NOW + timedelta(hours=12)
    hits = tuner.context(Request(MUSIC, "wei", later))
    assert hits[0].item.id == "s2"
    assert "you chose it for a similar request" in hits[0].reasons
    assert ranked(tuner, "我什么时候看牙医？", later)[0] == "later"


def test_feedback_on_similar_words_does_not_outweigh_what_is_said(tuner: Tuner) -> None:
    tuner.feedback(Request("请你现在给我播放晴天", "wei", NOW), rejected=["s1"], used=["s2"])
    later = NOW + timedelta(hours=12)
    assert ranked(tuner, "请你现在给我播放雨天", later)[0] == "s2"
    assert ranked(tuner, "请你现在给我播放月亮", later)[0] == "s1"

"""The bundled ranker: reasons, usage, feedback, large stores, other embedders."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from contextune import Tuner
from contextune.context.build_scene import build_scene, resolve_place
from contextune.context.candidates import SCORE_ALL_LIMIT
from contextune.context.index_cache import UserIndexCache
from contextune.context.ranker import ContextRanker, default_ranker
from contextune.datasets import Persona, bundled_persona_file, load_persona, read_persona
from contextune.embed import Embedder, default_embedder
from contextune.errors import InvalidRequestError, RankerError
from contextune.store import SQLiteStore
from contextune.types import Item, Request, UsageEvent, User

MORNING = datetime(2024, 5, 20, 7, 15)
HOME = (41.152, -8.629)


def song(name: str, title: str) -> Item:
    fields = {"song_name": title, "artist": "Ana Moura", "played_time": "2024-04-01T07:00"}
    return Item(name, "Music", fields)


def runs(days: range, item: str, start: datetime = MORNING) -> list[UsageEvent]:
    return [UsageEvent(item, start - timedelta(days=day), "commute") for day in days]


@pytest.fixture
def songs(store: SQLiteStore) -> SQLiteStore:
    store.put_user(User("ines", places={"home": HOME}))
    store.put_items("ines", [song("old", "Fado loucura"), song("new", "Desfado"), song("other", "Leva-me")])
    return store


@pytest.fixture(scope="module")
def persona() -> Persona:
    return read_persona(bundled_persona_file("c05"))


@pytest.fixture(scope="module")
def loaded(persona: Persona, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SQLiteStore]:
    with SQLiteStore(tmp_path_factory.mktemp("learned") / "s.db") as store:
        load_persona(store, persona)
        yield store


def test_bundled_ranker_matches_bundled_embedder() -> None:
    assert default_ranker().has_classifier_for(default_embedder().name), (
        "contextune train ranker --out …/assets/ranker"
    )


def test_bundled_persona_is_answered(loaded: SQLiteStore, persona: Persona) -> None:
    tuner = Tuner(loaded)
    relevant_hits = [
        {hit.item.id for hit in tuner.context(persona.request(query), 3)} & (query.gold.relevant or {}).keys()
        for query in persona.queries
    ]
    assert sum(map(bool, relevant_hits)) >= len(persona.queries) - 1


def test_reasons_describe_habit(songs: SQLiteStore) -> None:
    tuner = Tuner(songs)
    tuner.record("ines", *runs(range(1, 8), "old"))
    best = tuner.context(Request("Put on what I always ride in to.", "ines", MORNING, "commute"), 1)[0]
    assert best.item.id == "old"
    assert any(
        reason.startswith("played 7 times") and reason.endswith("while commuting, as you are now")
        for reason in best.reasons
    ), best.reasons


def test_feedback_is_stored_and_counts_as_use(songs: SQLiteStore) -> None:
    tuner = Tuner(songs)
    request = Request("Louder!", "ines", MORNING, HOME)
    tuner.feedback(request, used=["new"], rejected=["old"])
    (kept,) = songs.feedback("ines")
    assert (kept.request, kept.used, kept.rejected) == (request, ("new",), ("old",))
    assert songs.uses("ines") == [UsageEvent("new", MORNING, "home")]


@pytest.mark.parametrize(
    ("used", "rejected", "reason"),
    [([], [], "feedback is empty"), (["old"], ["old"], "both"), (["gone"], [], "no item 'gone'")],
)
def test_invalid_feedback_is_rejected(
    songs: SQLiteStore, used: list[str], rejected: list[str], reason: str
) -> None:
    with pytest.raises(InvalidRequestError, match=reason):
        Tuner(songs).feedback(Request("Louder!", "ines", MORNING), used, rejected)
    assert songs.feedback("ines") == []
    assert songs.uses("ines") == []


def test_coordinates_near_a_place_resolve_to_it() -> None:
    user = User("ines", places={"home": HOME, "work": (41.160, -8.600)})
    assert resolve_place(Request("x", "ines", MORNING, (41.1521, -8.6291)), user) == "home"
    assert resolve_place(Request("x", "ines", MORNING, (41.2, -8.6)), user) is None
    assert resolve_place(Request("x", "ines", MORNING, HOME), User("ines")) is None


def test_all_items_of_a_large_store_are_returned(store: SQLiteStore, word_embedder: Embedder) -> None:
    store.put_user(User("ines"))
    count = SCORE_ALL_LIMIT + 50
    store.put_items("ines", [Item(f"{n:04}", "Notes", {"title": f"note {n}"}) for n in range(count)])
    hits = Tuner(store, embedder=word_embedder).context(Request("note 7", "ines", MORNING), k=None)
    assert sorted(hit.item.id for hit in hits) == [f"{n:04}" for n in range(count)]
    assert "0007" in [hit.item.id for hit in hits[:5]]


def test_classifier_is_skipped_for_another_embedder(loaded: SQLiteStore, word_embedder: Embedder) -> None:
    state = UserIndexCache(loaded, word_embedder).get("c05")
    request = Request("What did they leave?", "c05", datetime(2023, 11, 14, 8, 3), "home")
    scene = build_scene(request, state, word_embedder, default_ranker(), 10)
    assert scene.request_classes.apps == {}
    assert Tuner(loaded, embedder=word_embedder).context(request, 3)


def test_saved_ranker_loads_unchanged(tmp_path: Path, loaded: SQLiteStore, persona: Persona) -> None:
    default_ranker().save(tmp_path / "r")
    again = ContextRanker.load(tmp_path / "r")
    request = persona.request(persona.queries[0])
    assert Tuner(loaded, ranker=again).context(request) == Tuner(loaded).context(request)


def test_folder_without_ranker_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RankerError, match="contextune train ranker"):
        ContextRanker.load(tmp_path)


def test_past_request_ignores_later_uses(songs: SQLiteStore) -> None:
    """A request of the past gets the answer it would have got then."""
    tuner = Tuner(songs)
    tuner.record("ines", *runs(range(1, 6), "old"))
    request = Request("Put on what I always ride in to.", "ines", MORNING, "commute")
    before = tuner.context(request)
    tuner.record(
        "ines", *[UsageEvent("new", MORNING + timedelta(days=day), "commute") for day in range(1, 30)]
    )
    after = tuner.context(request)
    assert [hit.item.id for hit in after] == [hit.item.id for hit in before]
    np.testing.assert_allclose([h.score for h in after], [h.score for h in before], atol=1e-6)

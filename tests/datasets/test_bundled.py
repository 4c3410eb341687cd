"""The data in the package: whole, consistent, and the same as what it was copied from."""

import gzip
from collections import Counter
from datetime import timedelta

import pytest
from tests.paths import SHARED_DATA

from contextune._internal.assets import asset
from contextune.datasets import Persona, bundled_personas
from contextune.types import COMMUTE, NAMELESS
from contextune.types.app_schema import APPS

PERSONAS = bundled_personas()
SHARED = SHARED_DATA

each_persona = pytest.mark.parametrize("persona", PERSONAS, ids=lambda persona: persona.id)


def test_how_much_there_is() -> None:
    assert len(PERSONAS) == 109
    assert len({persona.id for persona in PERSONAS}) == 109
    assert sum(len(persona.queries) for persona in PERSONAS) == 770
    assert set(Counter(item.app for persona in PERSONAS for item in persona.items)) == set(APPS)


@each_persona
def test_items_can_be_read(persona: Persona) -> None:
    for item in persona.items:
        assert item.title
        assert item.title in item.text
        assert item.text.startswith(item.schema.noun)
        assert item.place is None or item.place in {*persona.user.places, COMMUTE}
        assert set(item.times) <= {"made", "start", "end", "due"}
        assert item.times
        assert all(time.tzinfo is None for time in item.times.values())
        assert (item.made is None) == (item.app == "Calendar")
        assert all(isinstance(person, str) and person for person in item.people)
        if item.app == "Calendar":
            assert item.times["start"] <= item.times["end"]


@each_persona
def test_queries_can_be_asked_and_judged(persona: Persona) -> None:
    assert persona.queries
    by_id = {item.id: item for item in persona.items}
    for query in persona.queries:
        request = persona.request(query)
        assert (request.user, request.text, request.time) == (persona.id, query.text, query.time)
        assert query.place in {*persona.user.places, *NAMELESS}
        assert query.gold.relevant
        assert set(query.gold.relevant.values()) <= {1, 2}
        assert query.gold.tools
        assert query.gold.tools[0] == query.gold.api
        for name in query.gold.relevant:
            made = by_id[name].made
            assert made is None or made <= query.time, f"{query.id} needs {name}, which is not there yet"


@each_persona
def test_queries_lie_close_together(persona: Persona) -> None:
    times = [query.time for query in persona.queries]
    assert max(times) - min(times) <= timedelta(days=15)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the data the package was made from is not beside it")
@pytest.mark.parametrize(
    ("name", "source"),
    [("personas", "personas"), ("pairs.jsonl.gz", "pairs/pairs.jsonl"), ("toolbox.yaml", "toolbox.yaml")],
)
def test_the_package_holds_the_shared_data(name: str, source: str) -> None:
    ours, theirs = asset(name), SHARED / source
    if ours.is_file():
        held = ours.read_bytes()
        assert (gzip.decompress(held) if ours.suffix == ".gz" else held) == theirs.read_bytes()
        return
    names = sorted(file.name for file in ours.glob("*.json"))
    assert names == sorted(file.name for file in theirs.glob("*.json"))
    assert [name for name in names if (ours / name).read_bytes() != (theirs / name).read_bytes()] == []

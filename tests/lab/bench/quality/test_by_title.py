"""Requests that name an item by its exact title."""

from collections import Counter
from dataclasses import replace

import pytest

from contextune.datasets import Persona, bundled_personas
from contextune.embed import Embedder
from contextune.search import tokenize
from contextune_lab.bench.quality.by_title import (
    REQUESTS,
    WORDING,
    TitleRequest,
    title_requests,
    title_rows,
    title_table,
    titled_items,
)


@pytest.fixture(scope="module")
def personas() -> list[Persona]:
    return bundled_personas()


@pytest.fixture(scope="module")
def requests(personas: list[Persona]) -> list[TitleRequest]:
    return title_requests(personas)


def test_requests_cover_all_personas_and_applications(
    personas: list[Persona], requests: list[TitleRequest]
) -> None:
    assert len(requests) == len({request.name for request in requests}) == REQUESTS
    assert {request.request.user for request in requests} == {persona.id for persona in personas}
    counts = Counter(request.item.app for request in requests)
    assert counts.keys() == WORDING.keys()
    assert min(counts.values()) >= 15
    assert title_requests(personas) == requests


def test_title_names_one_visible_item(personas: list[Persona], requests: list[TitleRequest]) -> None:
    items = {persona.id: persona.items for persona in personas}
    for request in requests:
        assert request.item.title in request.request.text
        assert request.item.made is None or request.item.made <= request.request.time
        title = set(tokenize(request.item.title))
        others = [
            item
            for item in items[request.request.user]
            if item.id != request.item.id and (item.made is None or item.made <= request.request.time)
        ]
        assert not any(title <= set(tokenize(item.text)) for item in others)


def test_item_whose_title_is_shared_is_left_out(personas: list[Persona]) -> None:
    persona = personas[0]
    first = titled_items(persona)[0]
    twin = replace(persona, items=(*persona.items, replace(first, id="twin")))
    assert {item.id for item in titled_items(persona)} - {item.id for item in titled_items(twin)} == {
        first.id
    }
    assert "twin" not in {item.id for item in titled_items(twin)}


def test_rows_are_judged_by_the_named_item(personas: list[Persona], word_embedder: Embedder) -> None:
    some = personas[:3]
    requests = title_requests(some, 12)
    calls: list[tuple[int, int]] = []
    rows = title_rows(
        some,
        requests,
        [(word_embedder, {"words": "bm25", "both": "hybrid"})],
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls[-1] == (3, 3)
    table = title_table(requests, rows)
    assert table.rows == ("words", "both")
    assert table.cell("words", "recall@1").n == 12
    assert table.cell("words", "recall@1").interval.mean > 0.8
    wrong = {"none": {name: ranking[1:] for name, ranking in rows["words"].items()}}
    assert title_table(requests, wrong).cell("none", "recall@1").interval.mean < 0.2

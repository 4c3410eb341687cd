"""Requests made up from the service's own OpenAPI document: whatever comes, it is no fault of the service."""

import os
from collections.abc import Iterator
from typing import Any, cast

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis import checks as general
from schemathesis.specs.openapi import checks as openapi
from tests.serve.conftest import Running

from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.store import SQLiteStore
from contextune.types.app_schema import APPS

EXAMPLES = int(os.environ.get("CONTEXTUNE_FUZZ", "5"))
"""Of each kind for each operation; more by hand."""
CHECKS: list[Any] = [
    cast("Any", general).not_a_server_error,  # they come with half of their types
    cast("Any", openapi).status_code_conformance,
    cast("Any", openapi).content_type_conformance,
    cast("Any", openapi).response_schema_conformance,
]
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.fixture(scope="module")
def tokens(service: Running) -> Iterator[dict[str, str]]:
    """One for whoever is forgotten, over and over, and one for all else: somebody with much to look at."""
    persona = read_persona(asset("personas/a08.json"))
    with SQLiteStore(service.settings.store) as store:
        load_persona(store, persona)
    with service.client(persona.id) as client, service.client("forgotten") as other:
        yield {"other": client.headers["Authorization"], "DELETE": other.headers["Authorization"]}


@pytest.fixture(scope="module")
def operations(service: Running) -> list[Any]:
    document = httpx.get(f"{service.url}/openapi.json").json()
    described = cast("Any", schemathesis.openapi.from_dict(document))
    found: list[Any] = [one.ok() for one in described.get_all_operations()]
    # first what is put in, then what is asked over it
    return sorted(found, key=lambda operation: operation.tags != ["your data"])


def test_every_operation_is_there(operations: list[Any]) -> None:
    assert len(operations) >= 15


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_nothing_breaks_it(
    service: Running, tokens: dict[str, str], operations: list[Any], mode: GenerationMode
) -> None:
    """Whatever the document allows, and whatever it does not."""
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and not operation.body and not operation.query:
            continue  # nothing can be wrong where nothing is sent
        shown = tokens.get(operation.method.upper(), tokens["other"])
        assert fuzzed(operation, mode, service.url, shown), operation.label


def fuzzed(operation: Any, mode: GenerationMode, url: str, shown: str) -> int:
    """How many requests were made up and answered as the document says."""
    asked = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize="CONTEXTUNE_FUZZ" not in os.environ,  # the same ones every time, unless it is by hand
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=SLOW,
    )
    def ask(case: Any) -> None:
        nonlocal asked
        case.call_and_validate(base_url=url, headers={"Authorization": shown}, checks=CHECKS, timeout=600)
        asked += 1

    ask()
    return asked


Json = dict[str, Any]
DATES = ["", "0001-01-01T00:00Z", "9999-12-31T23:59:59-23:59", "2024-05-16", "2024-05-16T17:40"]
DATED = frozenset({"date", "start", "due", "time"} | {n for app in APPS.values() for n in app.times.values()})
PLAIN: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(DATES),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)
NAMES = st.sampled_from(
    sorted(
        {"place", "status", "duration_s", "title", "name", "direction", *DATED}
        | {name for app in APPS.values() for name in [*app.text, *app.people]}
    )
)


@st.composite
def fields(draw: st.DrawFn) -> Json:
    """Those that applications have, holding anything; mostly times that can be read, or none is taken."""
    given = draw(st.dictionaries(NAMES, VALUES, max_size=6))
    dates = {name: draw(st.sampled_from(DATES)) for name in given if name in DATED}
    return {**given, **dates} if draw(st.integers(0, 3)) else given


@st.composite
def items(draw: st.DrawFn) -> list[Json]:
    apps = st.sampled_from([*APPS, "Recipes"])
    names = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
    return [{"id": name, "app": draw(apps), "fields": draw(fields())} for name in names]


@st.composite
def somebody(draw: st.DrawFn) -> Json:
    about = st.sampled_from(["name", "email", "phone", "city", "address"])
    known = draw(st.lists(st.text(min_size=1, max_size=9), max_size=2))
    more = st.dictionaries(st.text(max_size=9), VALUES, max_size=2)
    return {
        "profile": draw(st.dictionaries(about, VALUES)),
        "contacts": [{"name": name, "email": name, "more": draw(more)} for name in known],
    }


SAID = st.sampled_from(
    [
        "Call her back and read me the mail",
        "Remind me an hour before that",
        "play that song again",
        "?",
        "\x1c7 pm",
    ]
)
TIMES = st.sampled_from(["1900-01-01T00:00+14:00", "2024-05-16T17:40", "2199-12-31T23:59-12:00"])


def test_whatever_is_taken_in_spoils_no_later_request(service: Running) -> None:
    taken = 0
    with service.client("odd") as client:

        @given(somebody(), items(), SAID, TIMES)
        @settings(
            max_examples=2 * EXAMPLES,
            derandomize="CONTEXTUNE_FUZZ" not in os.environ,
            database=None,
            deadline=None,
            suppress_health_check=SLOW,
        )
        def ask(me: Json, items: list[Json], said: str, time: str) -> None:
            nonlocal taken
            assert client.put("/v1/me", json=me).status_code in (204, 422)
            put = client.put("/v1/items", json={"items": items})
            assert put.status_code in (200, 422), put.text
            taken += put.is_success
            asked = client.post("/v1/ask", json={"text": said, "time": time})
            assert asked.status_code == 200, asked.text

        client.put("/v1/me", json={})
        ask()
    assert taken >= EXAMPLES / 2

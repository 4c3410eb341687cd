"""Fuzzing with requests generated from the service's OpenAPI document: no input causes a server error."""

import os
from collections.abc import Iterator
from typing import Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis import checks as general
from schemathesis.specs.openapi import checks as openapi
from tests.serve.conftest import LiveService

from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.store import SQLiteStore
from contextune.tools import reading
from contextune.types.app_schema import APPS

EXAMPLES = int(os.environ.get("CONTEXTUNE_FUZZ", "3"))
"""Generated requests per operation and mode; set the variable for a longer run."""
CHECKS: list[Any] = [
    cast("Any", general).not_a_server_error,  # only partly typed
    cast("Any", openapi).status_code_conformance,
    cast("Any", openapi).content_type_conformance,
    cast("Any", openapi).response_schema_conformance,
]
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]


@pytest.fixture(scope="module", autouse=True)
def few_tools_are_read() -> Iterator[None]:
    """Reading a generated text beside two tools takes the same code as beside twelve."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "READ_TOOLS", 2)
        yield


@pytest.fixture(scope="module")
def tokens(service: LiveService) -> Iterator[dict[str, str]]:
    """A token of a user with data, and one of a user who is deleted again and again."""
    persona = read_persona(asset("personas/a08.json"))
    with SQLiteStore(service.settings.store) as store:
        load_persona(store, persona)
    with service.client(persona.id) as client, service.client("forgotten") as other:
        yield {"other": client.headers["Authorization"], "DELETE": other.headers["Authorization"]}


@pytest.fixture(scope="module")
def operations(service: LiveService) -> list[Any]:
    with service.anonymous_client() as client:
        document = client.get("/openapi.json").json()
    described = cast("Any", schemathesis.openapi.from_dict(document))
    operations: list[Any] = [result.ok() for result in described.get_all_operations()]
    # first store data, then make requests on it
    return sorted(operations, key=lambda operation: operation.tags != ["your data"])


def test_all_operations_are_covered(operations: list[Any]) -> None:
    assert len(operations) >= 15


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_generated_requests_get_documented_responses(
    service: LiveService, tokens: dict[str, str], operations: list[Any], mode: GenerationMode
) -> None:
    """Valid requests in positive mode, invalid ones in negative mode."""
    for operation in operations:
        if mode is GenerationMode.NEGATIVE and not operation.body and not operation.query:
            continue  # has no input that could be invalid
        token = tokens.get(operation.method.upper(), tokens["other"])
        assert fuzz(operation, mode, service.url, token), operation.label


def fuzz(operation: Any, mode: GenerationMode, url: str, token: str) -> int:
    """Send generated requests and check the responses; returns their number."""
    sent = 0

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize="CONTEXTUNE_FUZZ" not in os.environ,  # reproducible unless a longer run is wanted
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=SLOW,
    )
    def ask(case: Any) -> None:
        nonlocal sent
        case.call_and_validate(base_url=url, headers={"Authorization": token}, checks=CHECKS, timeout=600)
        sent += 1

    ask()
    return sent


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
    """Known field names with arbitrary values; times are mostly valid, else few items are accepted."""
    values = draw(st.dictionaries(NAMES, VALUES, max_size=6))
    dates = {name: draw(st.sampled_from(DATES)) for name in values if name in DATED}
    return {**values, **dates} if draw(st.integers(0, 3)) else values


@st.composite
def items(draw: st.DrawFn) -> list[Json]:
    apps = st.sampled_from([*APPS, "Recipes"])
    names = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
    return [{"id": name, "app": draw(apps), "fields": draw(fields())} for name in names]


@st.composite
def user_bodies(draw: st.DrawFn) -> Json:
    about = st.sampled_from(["name", "email", "phone", "city", "address"])
    names = draw(st.lists(st.text(min_size=1, max_size=9), max_size=2))
    more = st.dictionaries(st.text(max_size=9), VALUES, max_size=2)
    return {
        "profile": draw(st.dictionaries(about, VALUES)),
        "contacts": [{"name": name, "email": name, "more": draw(more)} for name in names],
    }


TEXTS = st.sampled_from(
    [
        "Call her back and read me the mail",
        "Remind me an hour before that",
        "play that song again",
        "?",
        "\x1c7 pm",
    ]
)
TIMES = st.sampled_from(["1900-01-01T00:00+14:00", "2024-05-16T17:40", "2199-12-31T23:59-12:00"])


def test_accepted_data_breaks_no_later_request(service: LiveService) -> None:
    accepted = 0
    with service.client("odd") as client:

        @given(user_bodies(), items(), TEXTS, TIMES)
        @settings(
            max_examples=2 * EXAMPLES,
            derandomize="CONTEXTUNE_FUZZ" not in os.environ,
            database=None,
            deadline=None,
            suppress_health_check=SLOW,
        )
        def ask(me: Json, items: list[Json], text: str, time: str) -> None:
            nonlocal accepted
            assert client.put("/v1/me", json=me).status_code in (204, 422)
            put = client.put("/v1/items", json={"items": items})
            assert put.status_code in (200, 422), put.text
            accepted += put.is_success
            response = client.post("/v1/ask", json={"text": text, "time": time})
            assert response.status_code == 200, response.text

        client.put("/v1/me", json={})
        ask()
    assert accepted >= EXAMPLES / 2

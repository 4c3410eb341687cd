"""A user of the inspector."""

import pytest
from tests.serve.conftest import LiveService

from contextune import SQLiteStore
from contextune._internal.assets import asset
from contextune.datasets import load_persona, read_persona
from contextune.serve.http.tokens import TokenFile


@pytest.fixture(scope="module")
def elin(service: LiveService) -> str:
    """The token of a user with many items."""
    with SQLiteStore(service.settings.store) as store:
        load_persona(store, read_persona(asset("personas/a08.json")))
    return TokenFile(service.tokens).add("a08")

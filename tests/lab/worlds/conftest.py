"""The worlds that tests ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from contextune_lab.worlds.load import LoadedWorld, load_world
from contextune_lab.worlds.world import World, read_world

BAKERY = Path(__file__).parent / "bakery"


@pytest.fixture(scope="session")
def bakery() -> World:
    return read_world(BAKERY)


@pytest.fixture(scope="session")
def loaded_bakery(bakery: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedWorld]:
    with load_world(bakery, cache=tmp_path_factory.mktemp("worlds")) as loaded:
        yield loaded

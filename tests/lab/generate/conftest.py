"""A scripted model server, and a writer that asks it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.lab.generate.author import Author

from contextune_lab.generate import CostMeter, MeteredEndpoint, ValidJsonWriter


@pytest.fixture
def author() -> Iterator[Author]:
    with Author() as server:
        yield server


@pytest.fixture
def meter() -> CostMeter:
    return CostMeter()


@pytest.fixture
def scribe_of(author: Author, meter: CostMeter) -> Callable[[Path], ValidJsonWriter]:
    """Creates a new writer per call, as in a new run, with its cache in a folder."""
    chat = MeteredEndpoint("author", meter, base_url=author.url, api_key="key", retries=2)

    def make(folder: Path) -> ValidJsonWriter:
        return ValidJsonWriter(chat, folder / ".answers")

    return make

"""A model that writes personas, and what asks it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.generate.author import Author

from contextune.generate import Meter, MeteredEndpoint, Scribe


@pytest.fixture
def author() -> Iterator[Author]:
    with Author() as server:
        yield server


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def scribe_of(author: Author, meter: Meter) -> Callable[[Path], Scribe]:
    """A new scribe each time, as a new run has one, that remembers in a folder."""
    chat = MeteredEndpoint("author", meter, base_url=author.url, api_key="key", retries=2)

    def make(folder: Path) -> Scribe:
        return Scribe(chat, folder / ".answers")

    return make

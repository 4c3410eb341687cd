"""Requests of random words cost little more than ordinary ones; `make fuzz` tries more of them."""

import json
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from string import ascii_lowercase
from time import process_time

import pytest

from contextune import Request, SQLiteStore, Tuner, User
from contextune.tools import bundled_toolbox
from contextune.types import Contact, Item

_SEEDS = int(os.environ.get("FUZZ_SEEDS", "1"))
_FIRST_SEED = int(os.environ.get("FUZZ_FIRST_SEED", "0"))
_SOUPS = 4
"""Requests of a seed."""
_RATIO = 4
"""CPU time of a request as a multiple of an ordinary one of the same length."""
_LENGTH = 1_990
NOW = datetime(2026, 3, 5, 10, 5)
ROWS = Path(__file__).parents[1].joinpath("plan", "requests.jsonl").read_text(encoding="utf-8").splitlines()
TEXTS: list[str] = [json.loads(row)["text"] for row in ROWS]
PEOPLE = (Contact("Marta Reis", "marta@example.org", "555-0142", "sister"), Contact("Rui Duarte"))
ITEMS = [
    Item.mail(
        subject=f"Kiln list {number}",
        date=NOW - timedelta(days=number),
        author="mallory@example.net",
        recipients=["ines@example.com"],
        content="Marta's kiln, tomorrow at 10:30: " * 500,
        id=f"m{number}",
    )
    for number in range(20)
]
PIECES = [
    *("at 10:30", "next tuesday", "two weeks ago", "the 3rd", "half past", "every other", "3", "99999999"),
    *("Marta", "Marta's", "my sister", "Rui", "ines@example.com", "https://example.org/a?b=1", "555-0142"),
    *("kiln list", "the kiln list", "it", "that one", "and then", "or", "not", "don't", "“", '"', "'s", "‘"),
    *(
        "(",
        ")",
        "[",
        "…",
        "?",
        "!",
        ":",
        "-",
        "@",
        "#",
        "\u200b",
        "\u202e",
        "é",
        "ß",
        "ñandú",
        "月曜日に",
        "😀",
    ),
]


def soup(random: Random) -> str:
    """Words in any order, few of them often or many once, with or without spaces between them."""
    words = [word for text in random.sample(TEXTS, 30) for word in text.split()]
    unknown = ["".join(random.choices(ascii_lowercase, k=random.randint(2, 40))) for _ in range(30)]
    kinds = random.choice([words, unknown, PIECES, [*words, *unknown, *PIECES]])
    chosen = random.sample(kinds, min(len(kinds), random.choice([1, 2, 3, 10, 100])))
    join = random.choice([" ", " ", ", ", " and ", "\n", "", "; "])
    return join.join(random.choices(chosen, k=_LENGTH))[:_LENGTH]


@pytest.fixture(scope="module")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    store = SQLiteStore(tmp_path_factory.mktemp("soups") / "me.db")
    store.put_user(User("ines", {"email": "ines@example.com"}, contacts=PEOPLE))
    store.put_items("ines", ITEMS)
    yield Tuner(store, tools=bundled_toolbox())
    store.close()


def seconds(tuner: Tuner, text: str, number: int) -> float:
    """CPU seconds for a request, which the number makes a new one."""
    start = process_time()
    tuner.answer(Request(f"{number} {text}", "ines", NOW))
    return process_time() - start


@pytest.fixture(scope="module")
def plain_seconds(tuner: Tuner) -> float:
    """CPU seconds for an ordinary request as long as the others."""
    text = "When is the glaze workshop, and who comes to it? " * 40
    return min(seconds(tuner, text[:_LENGTH], number) for number in range(3))


@pytest.mark.parametrize("seed", range(_FIRST_SEED, _FIRST_SEED + _SEEDS))
def test_random_words_cost_no_more_than_ordinary_ones(seed: int, tuner: Tuner, plain_seconds: float) -> None:
    random = Random(seed)
    for _ in range(_SOUPS):
        text = soup(random)
        spent = (
            seconds(tuner, text, number) for number in range(3)
        )  # a busy machine may count a little more
        assert any(each < _RATIO * plain_seconds + 0.2 for each in spent), text

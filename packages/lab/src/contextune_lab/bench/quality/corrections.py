"""Learning curve of tool search: a user's private words for tools, corrected a number of times.

Every simulated user has invented words ("Do the bradulfi for me.") that no model can have seen. In each
round every word is corrected once, each time in another sentence; the sentence that is searched never is.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.tuner import Tuner
from contextune.types import Progress, Request, Tool, User

ROUNDS = (0, 1, 2, 3, 5, 8)
"""Corrections of each word after which the requests are searched."""
_WORDS = 8
"""Private words of a user, each for another tool."""
_USERS = 10
_ASKED = "Please do the {} now."
_CORRECTED = (
    "Do the {} for me.",
    "Time for the {} again.",
    "I want a {} today.",
    "Can you start the {}?",
    "Once more the {}, as always.",
    "Let us have the {} before lunch.",
    "The {} please, quickly.",
    "Take care of the {} this evening.",
)
_SYLLABLES = ("bra", "dul", "fi", "gor", "ka", "lem", "mos", "nu", "pli", "rav", "sto", "ti", "vek", "zan")
_START = datetime(2024, 5, 13, 9)


@dataclass(frozen=True, slots=True)
class LearningPoint:
    """Shares of the requests after some corrections of each word."""

    corrections: int
    first: float
    """The right tool is first."""
    among_three: float


def learning_curve(
    users: int = _USERS, *, rounds: Sequence[int] = ROUNDS, seed: int = 7, progress: Progress | None = None
) -> list[LearningPoint]:
    """Simulate users who correct the tool search; one point per number of corrections."""
    ranks: dict[int, list[int]] = {number: [] for number in rounds}
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "corrections.db") as store:
        tuner = Tuner(store, tools=bundled_toolbox())
        for number in range(users):
            for corrections, rank in _simulate_user(tuner, f"user{number}", Random(seed + number), rounds):  # noqa: S311
                ranks[corrections].append(rank)
            if progress:
                progress(number + 1, users)
    return [LearningPoint(number, _share(ranks[number], 1), _share(ranks[number], 3)) for number in rounds]


def private_words(random: Random, count: int) -> list[str]:
    """Invented words of three syllables, all different."""
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(random.sample(_SYLLABLES, 3))] = None
    return list(words)


def _simulate_user(
    tuner: Tuner, user: str, random: Random, rounds: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """After each number of corrections, the rank of the right tool for each word."""
    tuner.store.put_user(User(user))
    meanings = dict(
        zip(private_words(random, _WORDS), random.sample(list(bundled_toolbox()), _WORDS), strict=True)
    )
    for corrections in range(max(rounds) + 1):
        if corrections in rounds:
            time = _START + timedelta(days=corrections)
            for word, tool in meanings.items():
                hits = tuner.tools(Request(_ASKED.format(word), user, time), 10, context=()).hits
                names = [hit.tool.id for hit in hits]
                yield corrections, names.index(tool.id) + 1 if tool.id in names else len(names) + 1
        _correct(tuner, user, meanings, corrections)


def _correct(tuner: Tuner, user: str, meanings: dict[str, Tool], day: int) -> None:
    """Ask for each word in other words; report a wrong tool, and the right one."""
    for number, (word, tool) in enumerate(meanings.items()):
        time = _START + timedelta(days=day, hours=1, minutes=number)
        request = Request(_CORRECTED[day % len(_CORRECTED)].format(word), user, time)
        hits = tuner.tools(request, 1, context=()).hits
        if hits and hits[0].tool.id != tool.id:
            tuner.feedback(request, tool=hits[0].tool, ok=False)
        tuner.feedback(request, tool=tool)


def _share(ranks: Sequence[int], k: int) -> float:
    return sum(rank <= k for rank in ranks) / len(ranks)

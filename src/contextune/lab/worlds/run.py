"""Ask several worlds, each in a process of its own."""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path

from contextune.lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune.lab.worlds.load import load_world
from contextune.lab.worlds.world import read_world
from contextune.types import Progress

NO_PLACES = "places"
"""Name of the switch that leaves out the places of the person, as score.py does."""


@dataclass(frozen=True)
class WorldRun:
    """How to ask one world; can be sent to another process."""

    folder: Path
    cache: Path | None = None
    now: datetime | None = None
    """The moment of the import; that of person.json by default."""
    places: bool = True
    only: frozenset[str] | None = None
    """Ids of the requests to ask; all by default."""


def run_world(run: WorldRun) -> list[RequestResult]:
    """Import a world, ask its requests and judge the answers."""
    world = read_world(run.folder)
    options = AskOptions(only=run.only)
    with load_world(world, cache=run.cache, now=run.now, places=run.places) as loaded:
        return ask_world(loaded, options)


def run_worlds(
    runs: Sequence[WorldRun], *, processes: int = 1, progress: Progress | None = None
) -> list[list[RequestResult]]:
    """The results of each run, in the order of `runs`."""
    results: dict[int, list[RequestResult]] = {}

    def add(number: int, done: list[RequestResult]) -> None:
        results[number] = done
        if progress:
            progress(len(results), len(runs))

    if processes <= 1 or len(runs) == 1:
        for number, run in enumerate(runs):
            add(number, run_world(run))
    else:
        with ProcessPoolExecutor(min(processes, len(runs)), get_context("spawn")) as pool:
            futures = {pool.submit(run_world, run): number for number, run in enumerate(runs)}
            for future in as_completed(futures):
                add(futures[future], future.result())
    return [results[number] for number in range(len(runs))]

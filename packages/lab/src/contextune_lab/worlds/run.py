"""Ask several worlds, each in a process of its own."""

from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path

from contextune.types import Progress
from contextune_lab.renamed_toolbox import renamed_toolboxes
from contextune_lab.worlds.ask import AskOptions, RequestResult, ask_world
from contextune_lab.worlds.held_out import held_out_folder, rankers_of
from contextune_lab.worlds.load import LoadedWorld, load_world
from contextune_lab.worlds.switches import PLACES, recorded, without
from contextune_lab.worlds.world import read_world


@dataclass(frozen=True)
class WorldRun:
    """How to ask one world; can be sent to another process."""

    folder: Path
    cache: Path | None = None
    now: datetime | None = None
    """The moment of the import; that of person.json by default."""
    without: tuple[str, ...] = ()
    """Rules and families of signals that are switched off."""
    renamed: bool = False
    """Whether the bundled tools have other names."""
    records: bool = False
    """Whether it is recorded which rules fire."""
    only: frozenset[str] | None = None
    """Ids of the requests to ask; all by default."""
    rankers: Path | None = None
    """Folder with the rankers that leave out each world; the bundled ones by default."""

    @property
    def world(self) -> str:
        """The name of the world."""
        return self.folder.name

    @property
    def has_own_tools(self) -> bool:
        """Whether the world has a catalogue of its own."""
        return (self.folder / "tools.json").exists()


@contextmanager
def opened(run: WorldRun) -> Generator[LoadedWorld]:
    """The imported world of a run, with its rankers and switches while the context lasts."""
    world = read_world(run.folder)
    with ExitStack() as stack:
        if run.rankers:
            stack.enter_context(rankers_of(held_out_folder(run.rankers, run.world)))
        stack.enter_context(without(run.without))
        places = PLACES not in run.without
        yield stack.enter_context(load_world(world, cache=run.cache, now=run.now, places=places))


def run_world(run: WorldRun) -> list[RequestResult]:
    """Import a world, ask its requests and judge the answers."""
    options = AskOptions(only=run.only, catalogues=renamed_toolboxes() if run.renamed else ())
    with opened(run) as loaded:
        if not run.records:
            return ask_world(loaded, options)
        with recorded() as fired:
            return ask_world(loaded, replace(options, take_fired=fired.take))


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

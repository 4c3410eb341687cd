"""Makes a folder of personas: many at once, a file each, going on where a run was broken off."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from contextune.datasets import Persona
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune.lab.generate.deduplicate import NearDuplicates
from contextune.lab.generate.files import bundled_tools, read_made, write_persona
from contextune.lab.generate.personas import known_people, make_persona
from contextune.lab.generate.queries import Slots, write_queries
from contextune.lab.generate.quotas import PERSONAS, QUERIES, kinds, offered, query_count
from contextune.types import Progress, Tool

AT_ONCE = 4
_AFTER = timedelta(minutes=5)


@dataclass(frozen=True)
class GenerationRun:
    """What a run came to."""

    personas: tuple[Persona, ...]
    """All that are in the folder now."""
    failed: tuple[str, ...]
    """Why some are not there, or have fewer queries than they should."""


def make_personas(
    scribe: ValidJsonWriter,
    folder: Path,
    n: int = PERSONAS,
    *,
    seed: int = 0,
    at_once: int = AT_ONCE,
    progress: Progress | None = None,
) -> GenerationRun:
    """Personas without queries, `n` in all with those that the folder has already.

    One whose answers are of no use is left out and told of; a model that cannot be reached ends the run.
    """
    if n < 1 or at_once < 1:
        raise InvalidDataError(f"{n} personas, {at_once} at once: ask for 1 or more")
    there = read_made(folder)
    people, held = known_people(there), {persona.id for persona in there}

    def make(number: int) -> list[str]:
        write_persona(folder, make_persona(scribe, _id(number), number, n, people, seed=seed))
        return []

    missing = [number for number in range(n) if _id(number) not in held]
    failed = _each(scribe, make, missing, folder, at_once, progress)
    return GenerationRun(tuple(read_made(folder)), tuple(failed))


def make_queries(
    scribe: ValidJsonWriter,
    folder: Path,
    *,
    toolbox: Sequence[Tool] | None = None,
    average: float = QUERIES / PERSONAS,
    seed: int = 0,
    at_once: int = AT_ONCE,
    progress: Progress | None = None,
) -> GenerationRun:
    """Queries for the personas in a folder, so many each on average with those that they have already."""
    if average <= 0 or at_once < 1:
        raise InvalidDataError(f"{average} queries a persona, {at_once} at once: ask for more than 0")
    tools = list(bundled_tools() if toolbox is None else toolbox)
    if len(tools) < 3:
        raise InvalidDataError(
            f"a toolbox of {len(tools)} APIs is too small: a query names the right one and two others"
        )
    personas = read_made(folder)
    if not personas:
        raise InvalidDataError(f"{folder}: holds no personas: make some with contextune generate personas")
    asked = NearDuplicates(query.text for persona in personas for query in persona.queries)

    def make(number: int) -> list[str]:
        persona = personas[number]
        slots = _slots(persona, number, tools, average, seed)
        found = write_queries(scribe, persona, moment(persona), slots, tools, asked)
        write_persona(folder, replace(persona, queries=(*persona.queries, *found.queries)))
        lacking = f"{persona.id}: {len(found.empty)} of {len(slots)} queries came to nothing"
        return [lacking] if found.empty else []

    missing = [n for n, persona in enumerate(personas) if len(persona.queries) < query_count(n, average)]
    failed = _each(scribe, make, missing, folder, at_once, progress)
    return GenerationRun(tuple(read_made(folder)), tuple(failed))


def _id(number: int) -> str:
    return f"p{number + 1:04}"


def moment(persona: Persona) -> datetime:
    """From when on a persona asks: since their first query, or since the last thing was made."""
    if persona.queries:
        return min(query.time for query in persona.queries).replace(tzinfo=None)
    made = [item.made.replace(tzinfo=None) for item in persona.items if item.made]
    return max(made or [item.time for item in persona.items if item.time]) + _AFTER


def _slots(persona: Persona, number: int, tools: Sequence[Tool], average: float, seed: int) -> Slots:
    """The queries that a persona lacks: their kinds, and the APIs that they may be for."""
    wanted = kinds(number, query_count(number, average), average)
    for query in persona.queries:
        if query.gold.kind in wanted:
            wanted.remove(query.gold.kind)
    wanted = wanted[: query_count(number, average) - len(persona.queries)]
    taken = [int(query.id[1:]) for query in persona.queries if query.id[1:].isdecimal()]
    first = max([len(persona.queries), *taken]) + 1
    offers = offered(number, len(wanted), tools, seed)
    return {first + place: wish for place, wish in enumerate(zip(wanted, offers, strict=True))}


def _each(
    scribe: ValidJsonWriter,
    make: Callable[[int], list[str]],
    numbers: Sequence[int],
    folder: Path,
    at_once: int,
    progress: Progress | None,
) -> list[str]:
    """Do it for each number, some at once; what went wrong, in words."""
    failed: list[str] = []

    def kept(number: int) -> list[str]:
        try:
            return make(number)
        except NoValidAnswerError as error:
            scribe.forget(error.filed)
            return [str(error)]

    with _pool(at_once, scribe) as pool:
        futures: list[Future[list[str]]] = [pool.submit(kept, number) for number in numbers]
        for done, future in enumerate(as_completed(futures), 1):
            try:
                failed += future.result()
            except LanguageModelError as error:
                raise LanguageModelError(
                    f"{error}; what is finished is in {folder}: run the same command again to go on"
                ) from None
            if progress:
                progress(done, len(numbers))
    return sorted(failed)


@contextmanager
def _pool(at_once: int, scribe: ValidJsonWriter) -> Generator[ThreadPoolExecutor]:
    """Threads that, if anything goes wrong, hear the answer they wait for and ask for nothing more."""
    scribe.stop.clear()
    pool = ThreadPoolExecutor(at_once)
    try:
        yield pool
    except BaseException:
        scribe.stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)

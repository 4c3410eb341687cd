"""Generate a folder of personas in parallel; an interrupted run continues."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from contextune.datasets import Persona
from contextune.errors import InvalidDataError, LanguageModelError
from contextune.types import Progress, Tool
from contextune_lab.generate.ask_until_valid import NoValidAnswerError, ValidJsonWriter
from contextune_lab.generate.deduplicate import NearDuplicates
from contextune_lab.generate.files import bundled_tools, read_existing, write_persona
from contextune_lab.generate.personas import known_people, make_persona
from contextune_lab.generate.queries import Slots, write_queries
from contextune_lab.generate.quotas import PERSONAS, QUERIES, kinds, query_count, suggested_apis

PARALLEL = 4
_AFTER = timedelta(minutes=5)


@dataclass(frozen=True)
class GenerationRun:
    """Result of a run."""

    personas: tuple[Persona, ...]
    """All personas in the folder."""
    failed: tuple[str, ...]
    """Reasons for missing personas or queries."""


def make_personas(
    writer: ValidJsonWriter,
    folder: Path,
    n: int = PERSONAS,
    *,
    seed: int = 0,
    at_once: int = PARALLEL,
    progress: Progress | None = None,
) -> GenerationRun:
    """Generate personas without queries, `n` in total including existing ones.

    A persona without valid answers is reported; an unreachable model ends the run.
    """
    if n < 1 or at_once < 1:
        raise InvalidDataError(f"invalid counts: {n} personas, {at_once} at once; both must be 1 or more")
    existing = read_existing(folder)
    people, existing_ids = known_people(existing), {persona.id for persona in existing}

    def make(number: int) -> list[str]:
        write_persona(folder, make_persona(writer, _id(number), number, n, people, seed=seed))
        return []

    missing = [number for number in range(n) if _id(number) not in existing_ids]
    failures = _run_parallel(writer, make, missing, folder, at_once, progress)
    return GenerationRun(tuple(read_existing(folder)), tuple(failures))


def make_queries(
    writer: ValidJsonWriter,
    folder: Path,
    *,
    toolbox: Sequence[Tool] | None = None,
    average: float = QUERIES / PERSONAS,
    seed: int = 0,
    at_once: int = PARALLEL,
    progress: Progress | None = None,
) -> GenerationRun:
    """Generate queries for the personas in a folder, `average` per persona including existing ones."""
    if average <= 0 or at_once < 1:
        raise InvalidDataError(
            f"invalid counts: {average} queries per persona, {at_once} at once; both must be above 0"
        )
    tools = list(bundled_tools() if toolbox is None else toolbox)
    if len(tools) < 3:
        raise InvalidDataError(
            f"the toolbox has {len(tools)} APIs: a query needs the right one and two others"
        )
    personas = read_existing(folder)
    if not personas:
        raise InvalidDataError(
            f"{folder}: no personas found (create some with 'contextune generate personas')"
        )
    known_queries = NearDuplicates(query.text for persona in personas for query in persona.queries)

    def make(number: int) -> list[str]:
        persona = personas[number]
        slots = _slots(persona, number, tools, average, seed)
        generated = write_queries(writer, persona, first_query_time(persona), slots, tools, known_queries)
        write_persona(folder, replace(persona, queries=(*persona.queries, *generated.queries)))
        message = f"{persona.id}: {len(generated.empty)} of {len(slots)} queries could not be generated"
        return [message] if generated.empty else []

    missing = [n for n, persona in enumerate(personas) if len(persona.queries) < query_count(n, average)]
    failures = _run_parallel(writer, make, missing, folder, at_once, progress)
    return GenerationRun(tuple(read_existing(folder)), tuple(failures))


def _id(number: int) -> str:
    return f"p{number + 1:04}"


def first_query_time(persona: Persona) -> datetime:
    """Start of a persona's queries: its first query, or the last item made."""
    if persona.queries:
        return min(query.time for query in persona.queries).replace(tzinfo=None)
    made = [item.made.replace(tzinfo=None) for item in persona.items if item.made]
    return max(made or [item.time for item in persona.items if item.time]) + _AFTER


def _slots(persona: Persona, number: int, tools: Sequence[Tool], average: float, seed: int) -> Slots:
    """The queries a persona lacks: their kinds and suggested APIs."""
    missing_kinds = kinds(number, query_count(number, average), average)
    for query in persona.queries:
        if query.gold.kind in missing_kinds:
            missing_kinds.remove(query.gold.kind)
    missing_kinds = missing_kinds[: query_count(number, average) - len(persona.queries)]
    used_numbers = [int(query.id[1:]) for query in persona.queries if query.id[1:].isdecimal()]
    first = max([len(persona.queries), *used_numbers]) + 1
    suggestions = suggested_apis(number, len(missing_kinds), tools, seed)
    return {first + place: slot for place, slot in enumerate(zip(missing_kinds, suggestions, strict=True))}


def _run_parallel(
    writer: ValidJsonWriter,
    make: Callable[[int], list[str]],
    numbers: Sequence[int],
    folder: Path,
    at_once: int,
    progress: Progress | None,
) -> list[str]:
    """Run `make` for each number in parallel; returns the failures."""
    failures: list[str] = []

    def make_or_report(number: int) -> list[str]:
        try:
            return make(number)
        except NoValidAnswerError as error:
            writer.forget(error.key)
            return [str(error)]

    with _pool(at_once, writer) as pool:
        futures: list[Future[list[str]]] = [pool.submit(make_or_report, number) for number in numbers]
        for done, future in enumerate(as_completed(futures), 1):
            try:
                failures += future.result()
            except LanguageModelError as error:
                raise LanguageModelError(
                    f"{error}; finished personas are in {folder}, run the same command again to continue"
                ) from None
            if progress:
                progress(done, len(numbers))
    return sorted(failures)


@contextmanager
def _pool(at_once: int, writer: ValidJsonWriter) -> Generator[ThreadPoolExecutor]:
    """A thread pool; if anything fails, pending requests finish and no new ones start."""
    writer.stop.clear()
    pool = ThreadPoolExecutor(at_once)
    try:
        yield pool
    except BaseException:
        writer.stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)

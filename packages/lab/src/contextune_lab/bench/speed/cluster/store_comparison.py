"""SQLite beside PostgreSQL: items loaded per second, and the latency of a warm request."""

import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

from contextune.datasets import Persona, load_persona
from contextune.embed import default_embedder
from contextune.store import Store, open_store
from contextune.tuner import Tuner
from contextune.types import Progress
from contextune_lab.bench.speed import store as store_bench

_LOADED_ITEMS = 10_000
_REPETITIONS = 5


def load_figures(url: str, progress: Progress) -> dict[str, float]:
    """Items loaded per second into both kinds of store."""
    sqlite = store_bench.measure(_LOADED_ITEMS)["load"]
    progress(1, 2)
    postgres = store_bench.measure(_LOADED_ITEMS, url)["load"]
    progress(2, 2)
    return {
        "loading, sqlite, items per second": sqlite,
        "loading, postgres, items per second": postgres,
        "loading, PostgreSQL against SQLite": postgres / sqlite,
    }


def request_figures(persona: Persona, url: str, progress: Progress) -> dict[str, float]:
    """Median milliseconds of a warm request for context over both kinds of store, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        times = _request_ms(persona, url, Path(folder), progress)
    ratios = {
        f"warm request, {kind}, PostgreSQL against SQLite": times[f"postgres, {kind}"]
        / times[f"sqlite, {kind}"]
        for kind in ("new text", "repeated text")
    }
    return ratios | {f"warm request, {name}, ms": value for name, value in times.items()}


def _request_ms(persona: Persona, url: str, folder: Path, progress: Progress) -> dict[str, float]:
    """Median milliseconds of a warm request for context over both stores, measured in turn."""
    embedder = default_embedder()
    times: dict[str, list[float]] = {}
    with open_store(folder / "one.db") as file, open_store(url) as shared:
        tuners: dict[str, Tuner] = {}
        stores: dict[str, Store] = {"sqlite": file, "postgres": shared}
        for name, store in stores.items():
            load_persona(store, persona)
            tuners[name] = Tuner(store, embedder=embedder)
            tuners[name].prepare(persona.id)
        for number in range(_REPETITIONS):
            for query in persona.queries[:10]:
                for name, tuner in tuners.items():
                    request = replace(persona.request(query), text=f"{query.text} {number} {name}")
                    for kind in ("new text", "repeated text"):
                        start = perf_counter()
                        tuner.context(request)
                        times.setdefault(f"{name}, {kind}", []).append(1000 * (perf_counter() - start))
            progress(number + 1, _REPETITIONS)
        shared.forget(persona.id)
    return {name: median(values) for name, values in times.items()}

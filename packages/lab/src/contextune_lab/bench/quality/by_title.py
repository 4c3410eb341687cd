"""Requests that name an item by its exact title: the easy case, which no method may lose.

The requests of the benchmark leave the item out. People also say its name ("Play Sodade"), and a ranker
trained on the former only may fail there.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextune.datasets import Persona, load_persona
from contextune.embed import Embedder
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.search import tokenize
from contextune.store import SQLiteStore
from contextune.tuner import Tuner
from contextune.types import Item, Progress, Request
from contextune.types.app_schema import APPS

REQUESTS = 140
"""About twenty for each of the seven applications, spread over the personas."""
METRICS = ("recall@1", "recall@3", "mrr")
WORDING = {
    "Mail": "Open the email {}",
    "Calendar": "When is {}?",
    "Google": "Search for {} again",
    "Notes": "Show me the note {}",
    "Music": "Play {}",
    "Reminders": "Mark {} as done",
    "PhoneCall": "Call {} again",
}
UNTUNED_METHODS = {
    "BM25T": "bm25",
    "Semantic search, untuned": "semantic",
    "Hybrid, RRF, untuned": "hybrid",
}
SHIPPED_METHODS = {
    "Semantic search, shipped embedder": "semantic",
    "Semantic search, situated, shipped embedder": "situated",
    "LambdaMART-RRF, as shipped": "learned",
}

EmbedderMethods = tuple[Embedder | None, dict[str, str]]
"""An embedder (None: the shipped one), and methods to run with it by row title."""


@dataclass(frozen=True, slots=True)
class TitleRequest:
    """A request by title, with the item it names."""

    name: str
    request: Request
    item: Item


def title_requests(personas: Sequence[Persona], count: int = REQUESTS) -> list[TitleRequest]:
    """Requests that name an item by its title, at the time and place of the persona's last query.

    Request n is of persona n, counted round and round, and of application n; if the persona has no item of
    it whose title names that item alone, the next application is taken. No item is named twice.
    """
    apps = list(WORDING)
    requests: list[TitleRequest] = []
    named: set[tuple[str, str]] = set()
    for number in range(count):
        turn, place = divmod(number, len(personas))
        persona = personas[place]
        titled = [item for item in titled_items(persona) if (persona.id, item.id) not in named]
        order = (apps[(number + turn + step) % len(apps)] for step in range(len(apps)))
        candidates = next(filter(None, ([item for item in titled if item.app == app] for app in order)), None)
        if candidates is None:
            continue
        item = candidates[number // len(apps) % len(candidates)]
        named.add((persona.id, item.id))
        last = max(persona.queries, key=lambda query: query.time)
        text = WORDING[item.app].format(item.title)
        request = Request(text, user=persona.id, time=last.time, place=last.place)
        requests.append(TitleRequest(f"{persona.id}/{item.id}", request, item))
    return requests


def titled_items(persona: Persona) -> list[Item]:
    """Items of the known applications whose title no other item contains, as of the last query."""
    last = max(persona.queries, key=lambda query: query.time)
    visible = [persona.items[position] for position in persona.visible(last)]
    words = {item.id: frozenset(tokenize(item.text)) for item in visible}
    titled: list[Item] = []
    for item in visible:
        title = frozenset(tokenize(item.title))
        others = (words[other.id] for other in visible if other.id != item.id)
        if item.app in APPS and title and not any(title <= other for other in others):
            titled.append(item)
    return titled


def title_rows(
    personas: Sequence[Persona],
    requests: Sequence[TitleRequest],
    embedders: Sequence[EmbedderMethods],
    *,
    progress: Progress | None = None,
) -> dict[str, Run]:
    """Rank the items for each request with all methods.

    The shipped models were trained on these personas, though on other requests.
    """
    rows: dict[str, dict[str, list[str]]] = {title: {} for _, methods in embedders for title in methods}
    by_user: dict[str, list[TitleRequest]] = {}
    for request in requests:
        by_user.setdefault(request.request.user, []).append(request)
    chosen = [persona for persona in personas if persona.id in by_user]
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "titles.db") as store:
        tuners = {
            title: Tuner(store, embedder=embedder, method=method)
            for embedder, methods in embedders
            for title, method in methods.items()
        }
        for number, persona in enumerate(chosen, 1):
            load_persona(store, persona)
            for title, tuner in tuners.items():
                for request in by_user[persona.id]:
                    hits = tuner.context(request.request, k=None)
                    rows[title][request.name] = [hit.item.id for hit in hits]
            if progress:
                progress(number, len(chosen))
    return dict(rows)


def title_table(requests: Sequence[TitleRequest], rows: Mapping[str, Run]) -> ResultTable:
    """Evaluate the rows, overall and by application, against the last."""
    return evaluate_runs(
        rows,
        {request.name: {request.item.id: 1} for request in requests},
        METRICS,
        groups={request.name: request.request.user for request in requests},
        kinds={request.name: request.item.app for request in requests},
        baseline=list(rows)[-1],
    )

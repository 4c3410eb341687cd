"""The additional training requests as planned requests, with retrieved context.

Their context comes from a retriever that the caller chooses. The bundled embedder and context ranker have
been trained on the personas: pass out-of-fold hits where that matters.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from contextune.context import ContextRetriever
from contextune.datasets import Persona, Query, load_persona
from contextune.embed import Embedder, default_embedder
from contextune.lab.train.rankers.argument_examples import PlannedRequest, planned_request
from contextune.store import SQLiteStore
from contextune.types import ItemHit, Progress

RetrieveContext = Callable[[Persona, Query], Sequence[ItemHit]]
_DEPTH = 10


def additional_requests(
    personas: Sequence[Persona],
    requests: Mapping[str, Sequence[Query]],
    folds: Mapping[str, int],
    retrieve: RetrieveContext,
    *,
    progress: Progress | None = None,
) -> list[PlannedRequest]:
    """The requests of each persona, by persona id as in `training_requests`, with retrieved context."""
    planned: list[PlannedRequest] = []
    for number, persona in enumerate(personas, 1):
        planned += [
            planned_request(
                persona, query, retrieve(persona, query), folds[persona.id], measured=False, additional=True
            )
            for query in requests.get(persona.id, ())
        ]
        if progress:
            progress(number, len(personas))
    return planned


class BundledRetrieval:
    """Retrieves the context of personas with the bundled models, from a temporary store."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._folder = TemporaryDirectory(prefix="contextune-")
        self._store = SQLiteStore(Path(self._folder.name) / "personas.db")
        self._retriever = ContextRetriever(self._store, embedder or default_embedder())
        self._loaded: set[str] = set()

    def __call__(self, persona: Persona, query: Query) -> list[ItemHit]:
        """The best items of the persona for the query."""
        if persona.id not in self._loaded:
            load_persona(self._store, persona)
            self._loaded.add(persona.id)
        return list(self._retriever.rank(persona.request(query), _DEPTH))

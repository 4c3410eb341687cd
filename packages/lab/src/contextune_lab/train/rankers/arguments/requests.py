"""The additional training requests as planned requests, with retrieved context.

Their context comes from a retriever that the caller chooses. The bundled embedder and context ranker have
been trained on the personas: pass out-of-fold hits where that matters.
"""

from collections.abc import Callable, Mapping, Sequence

from contextune.datasets import Persona, Query
from contextune.types import ItemHit, Progress
from contextune_lab.train.rankers.arguments.examples import PlannedRequest, planned_request

RetrieveContext = Callable[[Persona, Query], Sequence[ItemHit]]


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

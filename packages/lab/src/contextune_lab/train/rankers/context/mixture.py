"""What the context ranker learns from besides the personas' own requests.

A ranker that has only seen implicit requests over thirty items loses to plain search elsewhere: on explicit
requests, in large stores, on items of applications it does not know, and on requests long after the items.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from contextune._internal.assets import asset
from contextune.context.build_scene import MIN_READABLE, RequestVectors
from contextune.context.signals.request_classifier import RequestClassifier
from contextune.datasets import Gold, Persona, Query, training_requests
from contextune.embed import CachedEmbedder, Embedder, Matrix, default_embedder, readability
from contextune.time_phrases import parse_time_phrases
from contextune.types import Item, Progress
from contextune_lab.public_data.context_sets import TRAIN, ContextSet, read_context_sets
from contextune_lab.train.embedder.data import FOLDS, embed_persona
from contextune_lab.train.embedder.fold_vectors import PersonaVectors
from contextune_lab.train.rankers.context.authored_stores import authored_stores
from contextune_lab.train.rankers.context.examples import (
    ContextExample,
    PersonaScenes,
    from_folds,
)
from contextune_lab.train.rankers.context.haystack import padded_scenes, padded_with
from contextune_lab.train.rankers.context.recast import recast_persona
from contextune_lab.train.rankers.context.request_writer import RequestWriter

_TIMELESS_KINDS = ("semantic", "explicit", "person")
_UNKNOWN_APP = "Things"
_WEEKS_LATER = (26, 200)
_SIZES = (300, 600, 1200)
_SAID_SIZES = (150, 400, 1200, 3000)
_RECAST, _BLIND = 0.6, 0.12
"""Shares of the stores with unknown applications, and of the requests without vectors."""
_MOMENTS = 3
_MAX_HOURS_LATER = 24 * 600


def mixture_examples(
    vectors: PersonaVectors,
    public: Sequence[ContextSet] = (),
    *,
    embedder: Embedder | None = None,
    classifier: RequestClassifier | None = None,
    progress: Progress | None = None,
) -> list[ContextExample]:
    """All that the ranker is trained on, the personas' own requests first.

    `embedder` and its `classifier` are for requests that no embedder was trained on: to public sets and
    authored stores, and those that say outright what is meant.
    """
    makers: list[Callable[[], Iterable[ContextExample]]] = [
        lambda: from_folds(vectors),
        lambda: training_request_examples(vectors),
        lambda: late_examples(vectors),
        lambda: bare_examples(vectors),
        lambda: large_store_examples(vectors),
        lambda: recast_examples(vectors),
        lambda: blind_examples(vectors),
    ]
    chosen, heads = CachedEmbedder(embedder or default_embedder()), classifier or bundled_classifier()
    makers.append(lambda: direct_request_examples(vectors, chosen, heads))
    makers.append(lambda: public_examples([*public, authored_stores()], chosen, heads))
    examples: list[ContextExample] = []
    for number, make in enumerate(makers, 1):
        examples += make()
        if progress:
            progress(number, len(makers))
    return examples


def bundled_classifier() -> RequestClassifier:
    """The request classifier of the bundled embedder."""
    return RequestClassifier.load(asset("ranker") / "reader.npz")


def training_sets(folder: Path) -> list[ContextSet]:
    """The training parts of the public context sets."""
    return [context_set.part(TRAIN) for context_set in read_context_sets(folder)]


def request_parts(parts: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """The vectors of a persona's training requests, under the names of those of its own requests."""
    own = {part: parts[f"more_{part}"] for part in ("bare", "around", "kinds", "apps")}
    return {**own, "tools": parts["tools"]}


def training_request_examples(
    vectors: PersonaVectors, *, with_items_only: bool = True, progress: Progress | None = None
) -> Iterator[ContextExample]:
    """The training requests, explicit and implicit; half of the explicit ones need no item."""
    requests = training_requests()
    for number, (persona, parts) in enumerate(vectors, 1):
        more = request_parts(parts)
        scenes = PersonaScenes.build(persona, parts["items"], contents=parts["contents"])
        for n, query in enumerate(requests.get(persona.id, [])):
            if query.gold.relevant or not with_items_only:
                example = scenes.fold_example(query, more, n, vectors.fold[persona.id])
                yield replace(example, measured=False)
        if progress:
            progress(number, len(vectors.all_personas))


def late_examples(vectors: PersonaVectors, share: float = 0.3) -> Iterator[ContextExample]:
    """Requests asked months or years later, where what is said does not depend on the time.

    Whole weeks later, so that weekday, hour and with them the vector of the moment stay the same.
    """
    requests = training_requests()
    for persona, parts in vectors:
        draw = random.Random(f"late/{persona.id}")  # noqa: S311  # repeatable, not secret
        scenes = PersonaScenes.build(persona, parts["items"], contents=parts["contents"])
        for queries, own in (
            (persona.queries, parts),
            (requests.get(persona.id, []), request_parts(parts)),
        ):
            for n, query in enumerate(queries):
                if (
                    draw.random() > share
                    or query.gold.kind not in _TIMELESS_KINDS
                    or not query.gold.relevant
                    or parse_time_phrases(query.text, query.time.replace(tzinfo=None))
                ):
                    continue
                later = replace(query, time=query.time + timedelta(weeks=draw.randrange(*_WEEKS_LATER)))
                example = scenes.fold_example(later, own, n, vectors.fold[persona.id])
                yield replace(example, measured=False, name=f"late/{example.name}")


def bare_examples(vectors: PersonaVectors, share: float = 0.3) -> Iterator[ContextExample]:
    """Requests over items of an unknown application, of which there is nothing but a text.

    Only requests that their words and meaning can answer; without them, the ranker looks for times, uses and
    known applications where there are none.
    """
    requests = training_requests()
    for persona, parts in vectors:
        draw = random.Random(f"bare/{persona.id}")  # noqa: S311  # repeatable, not secret
        texts = [item.text.partition(" — ")[2] or item.text for item in persona.items]
        items = tuple(
            Item(item.id, _UNKNOWN_APP, {"text": text})
            for item, text in zip(persona.items, texts, strict=True)
        )
        bare = replace(persona, items=items)
        scenes = PersonaScenes.build(bare, parts["contents"], [], contents=parts["contents"])
        for queries, own in (
            (persona.queries, parts),
            (requests.get(persona.id, []), request_parts(parts)),
        ):
            for n, query in enumerate(queries):
                if draw.random() > share or query.gold.kind not in _TIMELESS_KINDS or not query.gold.relevant:
                    continue
                example = scenes.fold_example(query, own, n, vectors.fold[persona.id])
                yield replace(example, measured=False, name=f"bare/{example.name}")


def large_store_examples(vectors: PersonaVectors, per_persona: int = 5) -> Iterator[ContextExample]:
    """Some requests of every persona over hundreds and thousands of items."""
    requests = training_requests()
    for number, (persona, parts) in enumerate(vectors):
        scenes = padded_scenes(vectors, persona, parts, _SIZES[number % len(_SIZES)])
        draw = random.Random(f"large/{persona.id}")  # noqa: S311  # repeatable, not secret
        more = request_parts(parts)
        pool = [(query, parts, n) for n, query in enumerate(persona.queries)]
        pool += [
            (query, more, n) for n, query in enumerate(requests.get(persona.id, [])) if query.gold.relevant
        ]
        for query, own, n in draw.sample(pool, min(per_persona, len(pool))):
            example = scenes.fold_example(query, own, n, vectors.fold[persona.id])
            yield replace(example, measured=False, name=f"large/{example.name}")


def recast_examples(vectors: PersonaVectors, share: float = 0.25) -> Iterator[ContextExample]:
    """Requests over items some of which are of applications that no model knows, half in large stores."""
    for number, (persona, parts) in enumerate(vectors):
        draw = random.Random(f"recast/{persona.id}")  # noqa: S311  # repeatable, not secret
        recast = recast_persona(persona, draw)
        scenes = (
            padded_scenes(vectors, recast, parts, _SIZES[number // 2 % len(_SIZES)])
            if number % 2
            else PersonaScenes.build(recast, parts["items"], contents=parts["contents"])
        )
        for n, (query, own) in _all_requests(persona, parts):
            if draw.random() < share and query.gold.relevant:
                example = scenes.fold_example(query, own, n, vectors.fold[persona.id])
                yield replace(example, measured=False, name=f"recast/{example.name}")


def blind_examples(vectors: PersonaVectors, share: float = 0.15) -> Iterator[ContextExample]:
    """Requests without any vector, as of one in a script that the embedder cannot read."""
    for persona, parts in vectors:
        draw = random.Random(f"blind/{persona.id}")  # noqa: S311  # repeatable, not secret
        scenes = PersonaScenes.build(persona, parts["items"], contents=parts["contents"])
        for _, (query, _) in _all_requests(persona, parts):
            if draw.random() < share and query.gold.relevant:
                example = scenes.blind_example(query, vectors.fold[persona.id])
                yield replace(example, measured=False, name=f"blind/{example.name}")


def _all_requests(
    persona: Persona, parts: Mapping[str, Matrix]
) -> Iterator[tuple[int, tuple[Query, Mapping[str, Matrix]]]]:
    """The persona's own and training requests, each with its number and the vectors it is a row of."""
    more = request_parts(parts)
    for n, query in enumerate(persona.queries):
        yield n, (query, parts)
    for n, query in enumerate(training_requests().get(persona.id, [])):
        yield n, (query, more)


def direct_request_examples(
    vectors: PersonaVectors,
    embedder: Embedder,
    classifier: RequestClassifier,
    per_store: tuple[int, int] = (5, 6),
) -> Iterator[ContextExample]:
    """Composed requests that say what is meant, over every persona's own items and over a large store.

    The bundled embedder has seen the items, but not these requests, which their words decide.
    """
    recast: dict[str, tuple[Persona, dict[str, Matrix]]] = {}
    for persona in vectors.all_personas:
        draw = random.Random(f"said/{persona.id}")  # noqa: S311  # repeatable, not secret
        changed = recast_persona(persona, draw) if draw.random() < _RECAST else persona
        rows, contents = embed_persona(changed, embedder)
        recast[persona.id] = changed, {"items": rows, "contents": contents}
    for number, (name, (persona, own)) in enumerate(recast.items()):
        fold = vectors.fold[name]
        others = [entry for other, entry in recast.items() if other != name and vectors.fold[other] == fold]
        small = PersonaScenes.build(persona, own["items"], contents=own["contents"])
        large = padded_with(persona, own, others, _SAID_SIZES[number % len(_SAID_SIZES)])
        for size, scenes, count in (("small", small, per_store[0]), ("large", large, per_store[1])):
            draw = random.Random(f"said/{size}/{name}")  # noqa: S311  # repeatable, not secret
            time = max(query.time for query in persona.queries)
            writer = RequestWriter(scenes.index, time.replace(tzinfo=None), draw)
            for n, said in enumerate(writer.write(count)):
                gold = Gold(kind=said.kind, relevant=dict.fromkeys(said.relevant, 1))
                query = Query(f"said-{size}-{n}", said.text, time, persona.queries[0].place, gold)
                request_vectors = RequestVectors.build(persona.request(query), persona.user, embedder)
                classes = classifier.classify(request_vectors.situated, request_vectors.text)
                example = (
                    scenes.blind_example(query, fold)
                    if draw.random() < _BLIND
                    else scenes.example(query, request_vectors, classes, fold)
                )
                yield replace(example, measured=False, name=f"said/{size}/{example.name}")


def public_examples(
    sets: Iterable[ContextSet], embedder: Embedder, classifier: RequestClassifier
) -> Iterator[ContextExample]:
    """Requests over data of other origin, which the embedder has not seen.

    Those of sets without times are asked at several moments, since theirs is arbitrary.
    """
    for context_set in sets:
        for user in context_set.users:
            vectors, contents = embed_persona(user, embedder)
            scenes = PersonaScenes.build(user, vectors, [], contents=contents)
            timeless = not any(item.times for item in user.items)
            for query in user.queries:
                draw = random.Random(f"{context_set.name}/{user.name(query)}")  # noqa: S311  # repeatable
                hours = [0, *(draw.randrange(1, _MAX_HOURS_LATER) for _ in range(_MOMENTS - 1))]
                for number, later in enumerate(hours if timeless else hours[:1]):
                    asked = replace(query, time=query.time + timedelta(hours=later))
                    request_vectors = RequestVectors.build(user.request(asked), user.user, embedder)
                    classes = classifier.classify(request_vectors.situated, request_vectors.text)
                    group = str(query.more.get("template", user.id))
                    fold = random.Random(group).randrange(FOLDS)  # noqa: S311  # repeatable, not secret
                    readable = readability(embedder, asked.text)
                    example = (
                        scenes.blind_example(asked, fold)
                        if readable < MIN_READABLE
                        else scenes.example(asked, request_vectors, classes, fold)
                    )
                    name = f"{context_set.name}/{number}/{example.name}"
                    yield replace(example, measured=False, name=name)

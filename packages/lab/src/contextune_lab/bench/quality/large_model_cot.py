"""Tuned rows with the chain of thought of a large model, by models that have not seen the persona.

Its vectors are an optional part of the fold vectors (`large_model_cot`); without them there are no rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

import numpy as np

from contextune.context.build_scene import RequestVectors
from contextune.context.signals import compute_features
from contextune.embed import Matrix
from contextune.evaluate.metrics import Run
from contextune_lab.bench.large_model import large_model_cot
from contextune_lab.train.embedder.fold_vectors import FoldVectors
from contextune_lab.train.rankers.context.examples import ContextExample, PersonaScenes, fold_classes
from contextune_lab.train.rankers.context.train import TrainedPasses

PART = "large_model_cot"
TUNED = "Fine-tuned with CoT by a large model"
LEARNED = "LambdaMART-RRF with CoT by a large model"


def large_model_cot_rows(folds: FoldVectors, trained: Mapping[int, TrainedPasses]) -> dict[str, Run]:
    """Semantic search and the ranker, with the chain of thought appended to the request as at run time.

    The ranker is the one of the other rows, trained on requests without it. Empty if the fold vectors lack
    the part.
    """
    semantic: dict[str, list[str]] = {}
    learned: dict[str, list[str]] = {}
    for example in cot_examples(folds):
        ids = example.ids
        order = np.argsort(-example.scene.similarities.situated, kind="stable")
        semantic[example.name] = [ids[place] for place in order]
        ranking = trained[example.fold].rank(example, compute_features(example.scene))
        learned[example.name] = ranking.ranked()
    return {TUNED: semantic, LEARNED: learned} if semantic else {}


def cot_examples(folds: FoldVectors) -> Iterator[ContextExample]:
    """The measured requests with their chains of thought, embedded by models that have not seen the persona.

    The classes are those of the request alone, for which the fold vectors have the heads' outputs.
    """
    thoughts: Mapping[str, str] = {}
    for persona, parts in islice(folds, len(folds.personas)):
        if PART not in parts:
            return
        thoughts = thoughts or large_model_cot()
        scenes = PersonaScenes.build(persona, parts["items"], contents=parts["contents"])
        for n, query in enumerate(persona.queries):
            vectors = _split_sum(parts[PART][n], parts["around"][n])
            augmented = replace(query, text=f"{query.text} {thoughts[persona.name(query)]}")
            yield scenes.example(augmented, vectors, fold_classes(parts, n), folds.fold[persona.id])


def _split_sum(situated: Matrix, moment: Matrix) -> RequestVectors:
    """The vector of the text, from its normalised sum with that of the moment.

    All three are of unit length, so the text's is the moment's reflected at the sum.
    """
    text = 2 * (situated @ moment) * situated - moment
    return RequestVectors(text, moment)

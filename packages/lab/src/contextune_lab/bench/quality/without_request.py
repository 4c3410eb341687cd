"""How far a ranking gets without the request: from time, place, habits and the items alone.

A request of the kind "habit" or "recency" can often be answered before it is said. The row "LambdaMART
without the request" tells how much of a figure is owed to that, and the random row how much to small stores.
"""

import random
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from contextune.context.signals import RequestClasses, Scene, Similarities, compute_features
from contextune.evaluate.metrics import Run
from contextune.types import Progress
from contextune_lab.train.rankers.context.train import FeaturedExamples, fit

WITHOUT_REQUEST = "LambdaMART without the request"
RANDOM = "Random order"


def blank_request(scene: Scene) -> Scene:
    """The scene with nothing said: no words, no similarity to them, and no classes of the request.

    Time and place stay: the similarity to request and moment becomes that to the moment, and links lead to
    the candidates most similar to it. No signal can read a word of the request.
    """
    silence = np.zeros_like(scene.similarities.text)
    similarities = Similarities(
        situated=scene.similarities.moment,
        text=silence,
        moment=scene.similarities.moment,
        lexical=silence,
        content=silence,
        store_lexical=silence,
        before=silence,
    )
    return replace(
        scene, text="", query="", similarities=similarities, request_classes=RequestClasses({}, {}, {})
    )


def without_request(data: FeaturedExamples) -> FeaturedExamples:
    """The same examples with the signals of blank requests."""
    return FeaturedExamples(
        data.examples, [compute_features(blank_request(example.scene)) for example in data.examples]
    )


def without_request_rows(data: FeaturedExamples, *, progress: Progress | None = None) -> Mapping[str, Run]:
    """A random order, and one pass of LambdaMART without the request, by models of the other folds."""
    blank = without_request(data)
    shuffled: dict[str, list[str]] = {}
    ranked: dict[str, list[str]] = {}
    folds = sorted({example.fold for example in blank.examples if example.measured})
    for number, fold in enumerate(folds, 1):
        ranker = fit(blank.select(lambda example, fold=fold: example.fold != fold))
        for example, matrix in zip(blank.examples, blank.matrices, strict=True):
            if example.fold == fold and example.measured:
                ids = example.ids
                order = np.argsort(-ranker.score(matrix), kind="stable")
                ranked[example.name] = [ids[place] for place in order]
                draw = random.Random(example.name)  # noqa: S311  # repeatable, not secret
                shuffled[example.name] = draw.sample(sorted(ids), len(ids))
        if progress:
            progress(number, len(folds))
    return {RANDOM: shuffled, WITHOUT_REQUEST: ranked}

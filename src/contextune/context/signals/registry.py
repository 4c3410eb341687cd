"""All features by family, each with its name and description."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals import (
    links,
    named,
    people,
    place,
    state,
    store,
    text,
    times,
    usage,
    utterance,
)
from contextune.context.signals.scene import FeatureColumns, Floats, Scene

Matrix = NDArray[np.float32]
_TEMPERATURE = 0.07
"""Scales similarities before the softmax over the strongest candidates in `links`."""


@dataclass(frozen=True)
class Family:
    """A group of related features."""

    description: str
    features: Mapping[str, str]
    """Feature name → description."""
    compute: Callable[[Scene, Floats], FeatureColumns]
    """Scene and strength of the candidates → values of all features."""
    explain: Callable[[Scene, int, Floats], str | None]
    """Why a candidate fits, in words; None if the family has nothing to say."""


class _FamilyModule(Protocol):
    """What a module of this package provides to be a family."""

    @property
    def FEATURES(self) -> Mapping[str, str]: ...  # noqa: N802  # a module constant

    def compute(self, scene: Scene, /) -> FeatureColumns: ...

    def explain(self, scene: Scene, number: int, /) -> str | None: ...


def _family(description: str, module: _FamilyModule) -> Family:
    """A family whose features do not depend on the strength of the candidates."""
    return Family(
        description,
        module.FEATURES,
        lambda scene, _: module.compute(scene),
        lambda scene, number, _: module.explain(scene, number),
    )


# the names are part of the API: keys of `Tuner.signals()` and of `/v1/inspect`
FAMILIES: Mapping[str, Family] = {
    "text": _family("Lexical and semantic similarity between the request and the item.", text),
    "named": _family(
        "What the request names outright: words, a title, people, times, an application.", named
    ),
    "store": _family("Which application the request is about.", store),
    "times": _family("Distance in time between the request and the item.", times),
    "place": _family("Where the user is and which place the item belongs to.", place),
    "usage": _family("How often, when and where the user has used the item before.", usage),
    "people": _family("Contacts that the request names or refers to by relation (“my sister”).", people),
    "state": _family("State of the item: missed or answered, open or done, sent or received.", state),
    "utterance": _family(
        "Properties of the request itself, the same for all candidates; decision trees combine them with the "
        "other features.",
        utterance,
    ),
    "links": Family(
        "Links between an item and the strongest candidates: shared words, people, time, place or thread.",
        links.FEATURES,
        links.compute,
        links.explain,
    ),
}
FEATURE_NAMES: tuple[str, ...] = tuple(name for family in FAMILIES.values() for name in family.features)
FAMILY_BY_FEATURE: Mapping[str, str] = {
    feature: name for name, family in FAMILIES.items() for feature in family.features
}
_COLUMN = {name: number for number, name in enumerate(FEATURE_NAMES)}


def initial_strength(scene: Scene) -> Floats:
    """Strength of the candidates before the first ranking pass: their similarity to the request."""
    return (scene.similarities.situated + scene.similarities.text) / (2 * _TEMPERATURE)


def compute_features(scene: Scene) -> Matrix:
    """Feature matrix: one row per candidate, one column per feature in the order of `FEATURE_NAMES`."""
    strength = initial_strength(scene)
    # transposed, so that each feature is written to contiguous memory
    transposed = np.empty((len(FEATURE_NAMES), len(scene.rows)), np.float32)
    for family in FAMILIES.values():
        for name, values in family.compute(scene, strength).items():
            transposed[_COLUMN[name]] = values
    return np.ascontiguousarray(transposed.T)


def recompute_links(scene: Scene, features: Matrix, strength: Floats) -> Matrix:
    """The feature matrix with the `links` family recomputed for a new strength of the candidates."""
    updated = features.copy()
    for name, values in links.compute(scene, strength).items():
        updated[:, _COLUMN[name]] = values
    return updated

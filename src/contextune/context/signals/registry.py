"""All features in one table: families in order, every feature named and explained once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from contextune.context.signals import (
    links,
    people,
    place,
    state,
    store,
    text,
    times,
    usage,
    utterance,
)
from contextune.context.signals.scene import Columns, Floats, Scene

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Family:
    """Features that look at one side of things."""

    about: str
    features: Mapping[str, str]
    measure: Callable[[Scene, Floats], Columns]
    why: Callable[[Scene, int, Floats], str | None]


def _plain(
    measure: Callable[[Scene], Columns],
    why: Callable[[Scene, int], str | None],
    about: str,
    names: Mapping[str, str],
) -> Family:
    """A family that takes no notice of how strong candidates are."""
    return Family(about, names, lambda scene, _: measure(scene), lambda scene, number, _: why(scene, number))


def _first_line(module: object) -> str:
    return (module.__doc__ or "").splitlines()[0]


FAMILIES: Mapping[str, Family] = {
    module.__name__.rpartition(".")[2]: _plain(
        module.measure, module.why, _first_line(module), module.FEATURES
    )
    for module in (text, store, times, place, usage, people, state, utterance)
} | {"links": Family(_first_line(links), links.FEATURES, links.measure, links.why)}
NAMES: tuple[str, ...] = tuple(name for family in FAMILIES.values() for name in family.features)
FAMILY_OF: Mapping[str, str] = {name: family for family, entry in FAMILIES.items() for name in entry.features}


def initial_strength(scene: Scene) -> Floats:
    """How strong candidates are before anything is learnt: by likeness, scaled so that near ties stay so."""
    return (scene.likeness.situated + scene.likeness.bare) / (2 * _SHARPNESS)


def features(scene: Scene) -> Matrix:
    """A row a candidate, a column a feature, in the order of `NAMES`."""
    strength = initial_strength(scene)
    rows = np.empty((len(NAMES), len(scene.rows)), np.float32)  # the other way round: one line a feature
    for family in FAMILIES.values():
        for name, column in family.measure(scene, strength).items():
            rows[_POSITION[name]] = column
    return np.ascontiguousarray(rows.T)


def recompute_links(scene: Scene, matrix: Matrix, strength: Floats) -> Matrix:
    """The same table with the links worked out anew, by a better notion of what is strong."""
    again = matrix.copy()
    for name, column in links.measure(scene, strength).items():
        again[:, _POSITION[name]] = column
    return again


_SHARPNESS = 0.07
_POSITION = {name: number for number, name in enumerate(NAMES)}

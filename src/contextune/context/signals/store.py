"""Feature family `store`: which application the request is about."""

from collections.abc import Mapping, Sequence

import numpy as np

from contextune.context.signals.scene import FeatureColumns, Floats, Scene, constant
from contextune.types import Item
from contextune.types.app_schema import APPS, known_app

_MIN_PROBABILITY = 0.3

FEATURES = {
    **{f"store.is {app}": f"1 if the item is from {app}" for app in APPS},
    "store.likely": "probability that the request needs an item of this application (request classifier)",
    "store.likely rank": "number of applications with a higher probability",
    "store.likely behind best": "`store.likely` minus the probability of the most likely application",
    "store.tools": "similarity of the request to the most similar tool of this application",
    "store.tools behind best": "`store.tools` minus the highest value of all applications",
    "store.size": "number of candidates of this application",
    "store.best": "highest `text.meaning` in this application minus the highest of all candidates",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    classes = scene.request_classes
    apps = [known_app(app) for app in scene.item_columns.apps]
    app_likely, app_tools = _by_app(apps, classes.apps), _by_app(apps, classes.tools)
    probabilities = np.array(list(classes.apps.values()) or [np.nan])
    app_similarity = np.full(len(apps), -np.inf)
    np.fmax.at(app_similarity, scene.app, scene.similarities.situated)
    best = app_similarity.max(initial=-np.inf)
    likely, tools = app_likely[scene.app], app_tools[scene.app]
    return {
        **{
            f"store.is {app}": np.array([name == app for name in apps], np.float64)[scene.app] for app in APPS
        },
        "store.likely": likely,
        "store.likely rank": (probabilities[None] > likely[:, None]).sum(1).astype(np.float64),
        "store.likely behind best": likely - _max_or_nan(probabilities),
        "store.tools": tools,
        "store.tools behind best": tools - _max_or_nan(np.array(list(classes.tools.values()))),
        "store.size": scene.same_app.sum(1).astype(np.float64),
        "store.best": (app_similarity - best)[scene.app] if np.isfinite(best) else constant(scene, np.nan),
    }


def explain(scene: Scene, number: int) -> str | None:
    """That the request is probably about an item of this application."""
    item = scene.items[number]
    if scene.request_classes.apps.get(known_app(item.app), 0) < _MIN_PROBABILITY:
        return None
    return f"the request is probably about {_with_article(item)}"


def _by_app(apps: Sequence[str], values: Mapping[str, float]) -> Floats:
    """The value of each application; the lowest of all for one that the classifier does not know.

    Without a value, an unknown application would be ranked before all known ones. If all are unknown, the
    value says nothing, so it is missing for all.
    """
    unknown = min(values.values()) if values.keys() & set(apps) else np.nan
    return np.array([values.get(app, unknown) for app in apps])


def _max_or_nan(values: Floats) -> float:
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else np.nan


def _with_article(item: Item) -> str:
    # the noun "song played" is part of the embedded text, so it cannot be changed in the schema
    noun = item.schema.noun.removesuffix(" played")
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"

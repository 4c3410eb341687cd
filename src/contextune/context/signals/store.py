"""Store: which applications the request speaks of."""

import numpy as np

from contextune.context.signals.scene import Columns, Floats, Scene, flat
from contextune.types.app_schema import APPS

_SURE = 0.3

FEATURES = {
    **{f"store.is {app}": f"1 for items of {app}" for app in APPS},
    "store.likely": "probability that the request hangs on an item of this application, learnt from pairs",
    "store.likely rank": "how many applications are more probable",
    "store.likely behind best": "distance to the most probable application",
    "store.tools": "likeness of the request to the nearest tool of this application",
    "store.tools behind best": "distance to the application with the nearest tool",
    "store.size": "number of candidates of this application",
    "store.best": "the application's best likeness, less the best of all applications",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    names = scene.facts.apps
    likely = np.array([scene.reading.apps.get(name, np.nan) for name in names])
    tools = np.array([scene.reading.tools.get(name, np.nan) for name in names])
    every = np.array(list(scene.reading.apps.values()) or [np.nan])
    like = np.full(len(names), -np.inf)
    np.maximum.at(like, scene.app, scene.likeness.situated)
    mine = likely[scene.app]
    return {
        **{
            f"store.is {app}": (scene.app == names.index(app)).astype(np.float64)
            if app in names
            else flat(scene, 0)
            for app in APPS
        },
        "store.likely": mine,
        "store.likely rank": (every[None] > mine[:, None]).sum(1).astype(np.float64),
        "store.likely behind best": mine - _best(every),
        "store.tools": tools[scene.app],
        "store.tools behind best": tools[scene.app] - _best(np.array(list(scene.reading.tools.values()))),
        "store.size": scene.same_app.sum(1).astype(np.float64),
        "store.best": (like - like.max())[scene.app],
    }


def why(scene: Scene, number: int) -> str | None:
    """That the request sounds like this application, where it does."""
    item = scene.items[number]
    if scene.reading.apps.get(item.app, 0) < _SURE:
        return None
    return f"the request sounds like {_article(item.schema.noun)}"


def _best(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else np.nan


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"

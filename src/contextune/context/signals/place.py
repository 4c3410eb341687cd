"""Place: where the user is, and where an item belongs."""

import numpy as np

from contextune.context.signals.columns import NOWHERE
from contextune.context.signals.scene import Columns, Floats, Scene, flat
from contextune.types import COMMUTE, Coordinates

_EARTH = 12742.0
"""Kilometres through the middle."""

FEATURES = {
    "place.same": "1 if the item belongs where the user is",
    "place.elsewhere": "1 if the item belongs to another place",
    "place.distance": "kilometres from the user to the item's place",
    "place.same here": "number of candidates that belong where the user is",
    "place.same here in app": "number of the same application that belong where the user is",
    "place.home": "1 if the user is at home",
    "place.work": "1 if the user is at work",
    "place.commute": "1 if the user is on the way",
    "place.known": "1 if it is known where the user is",
    "place.usual": "share of all uses that were made where the user is",
    "place.spoken": "1 if the request names the item's place",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    facts, place = scene.facts, scene.facts.place[scene.rows]
    same = (place == scene.here) & (scene.here != NOWHERE)
    total = len(scene.uses.item)
    named = [set(name.casefold().split("_")) <= set(scene.words) for name in facts.places]
    spoken = np.append(np.array(named, bool), False)  # the last stands for nowhere
    return {
        "place.same": same.astype(np.float64),
        "place.elsewhere": ((place != NOWHERE) & ~same).astype(np.float64),
        "place.distance": _distance(scene),
        "place.same here": flat(scene, int(same.sum())),
        "place.same here in app": (scene.same_app & same[None]).sum(1).astype(np.float64),
        "place.home": flat(scene, scene.place == "home"),
        "place.work": flat(scene, scene.place in ("work", "office")),
        "place.commute": flat(scene, scene.place == COMMUTE),
        "place.known": flat(scene, scene.here != NOWHERE),
        "place.usual": flat(scene, float((scene.uses.place == scene.here).sum()) / total if total else 0),
        "place.spoken": spoken[place].astype(np.float64),
    }


def why(scene: Scene, number: int) -> str | None:
    """That it belongs where the user is."""
    if scene.facts.place[scene.rows[number]] != scene.here or scene.here == NOWHERE or not scene.place:
        return None
    return f"belongs to where you are: {scene.place.replace('_', ' ')}"


def kilometres(here: Coordinates, there: Coordinates) -> float:
    """Between two points on Earth."""
    return float(_haversine(np.radians(np.array(here)), np.radians(np.array([there])))[0])


def _distance(scene: Scene) -> Floats:
    """NaN where either place has no coordinates."""
    where = np.radians(np.vstack([scene.facts.coordinates, [[np.nan, np.nan]]]))
    return _haversine(where[scene.here], where[scene.facts.place[scene.rows]])


def _haversine(here: Floats, there: Floats) -> Floats:
    across = np.sin((there - here) / 2) ** 2
    half = across[:, 0] + np.cos(here[0]) * np.cos(there[:, 0]) * across[:, 1]
    return _EARTH * np.arcsin(np.sqrt(half))

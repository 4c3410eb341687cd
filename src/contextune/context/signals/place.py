"""Feature family `place`: where the user is and which place the item belongs to."""

import numpy as np

from contextune.context.signals.columns import NO_PLACE
from contextune.context.signals.scene import FeatureColumns, Floats, Scene, constant
from contextune.types import COMMUTE, Coordinates

_EARTH_DIAMETER_KM = 12742.0

FEATURES = {
    "place.same": "1 if the item belongs to the place where the user is",
    "place.elsewhere": "1 if the item belongs to another place",
    "place.distance": "kilometres from the user to the item's place",
    "place.same here": "number of candidates that belong to the place where the user is",
    "place.same here in app": "number of candidates of the same application that belong to that place",
    "place.home": "1 if the user is at home",
    "place.work": "1 if the user is at work",
    "place.commute": "1 if the user is commuting",
    "place.known": "1 if the place of the user is known",
    "place.usual": "share of all uses that took place where the user is",
    "place.spoken": "1 if the request names the item's place",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    columns, place = scene.item_columns, scene.item_columns.place[scene.rows]
    same = (place == scene.here) & (scene.here != NO_PLACE)
    total = len(scene.uses.item)
    named = [set(name.casefold().split("_")) <= set(scene.words) for name in columns.places]
    place_named = np.append(np.array(named, bool), False)  # the last entry is for `NO_PLACE`
    return {
        "place.same": same.astype(np.float64),
        "place.elsewhere": ((place != NO_PLACE) & ~same).astype(np.float64),
        "place.distance": _distances_km(scene),
        "place.same here": constant(scene, int(same.sum())),
        "place.same here in app": (scene.same_app & same[None]).sum(1).astype(np.float64),
        "place.home": constant(scene, scene.place == "home"),
        "place.work": constant(scene, scene.place in ("work", "office")),
        "place.commute": constant(scene, scene.place == COMMUTE),
        "place.known": constant(scene, scene.here != NO_PLACE),
        "place.usual": constant(scene, float((scene.uses.place == scene.here).sum()) / total if total else 0),
        "place.spoken": place_named[place].astype(np.float64),
    }


def explain(scene: Scene, number: int) -> str | None:
    """That the item belongs to the place where the user is."""
    if (
        scene.item_columns.place[scene.rows[number]] != scene.here
        or scene.here == NO_PLACE
        or not scene.place
    ):
        return None
    return f"belongs to your current place: {scene.place.replace('_', ' ')}"


def distance_km(here: Coordinates, there: Coordinates) -> float:
    """Great-circle distance between two points."""
    return float(_haversine(np.radians(np.array(here)), np.radians(np.array([there])))[0])


def _distances_km(scene: Scene) -> Floats:
    """From the user to each candidate's place; NaN if either has no coordinates."""
    coordinates = np.radians(np.vstack([scene.item_columns.coordinates, [[np.nan, np.nan]]]))
    return _haversine(coordinates[scene.here], coordinates[scene.item_columns.place[scene.rows]])


def _haversine(here: Floats, there: Floats) -> Floats:
    squares = np.sin((there - here) / 2) ** 2
    half = squares[:, 0] + np.cos(here[0]) * np.cos(there[:, 0]) * squares[:, 1]
    return _EARTH_DIAMETER_KM * np.arcsin(np.sqrt(half))

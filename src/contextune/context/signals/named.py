"""Feature family `named`: what the request names outright: words, titles, people, times and applications.

Trees need to tell a request that names its item from one that leaves it out: the share of the request's
telling words that are found at all, and how much of them one item has.
"""

import math
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from contextune.context.signals.columns import Floats
from contextune.context.signals.scene import (
    FeatureColumns,
    Scene,
    constant,
    describe_with_ranks,
    signed_log1p,
)
from contextune.context.signals.time_phrases import find_probable_intervals
from contextune.context.stop_words import STOP_WORDS
from contextune.search import tokenize

_RARE = 2
"""A word in at most this many candidates is rare."""
_QUOTED = re.compile(r"[\"“”„«](.{2,80}?)[\"“”»]|(?<!\w)['‘](.{2,80}?)['’](?!\w)")

FEATURES = {
    **describe_with_ranks(
        "named.words", "share of the request's telling words in the item, rare ones count more"
    ),
    "named.words best": "highest `named.words` of all candidates",
    "named.found": "share of the request's telling words that any candidate contains",
    "named.telling": "number of telling words in the request",
    "named.rare words": "number of the request's words in this item and at most one other candidate",
    **describe_with_ranks("named.title", "share of the words of the item's title that the request contains"),
    "named.title best": "highest `named.title` of all candidates",
    "named.title words": "number of telling words that title and request share",
    "named.people": "number of the request's words in names of people of the item, contacts or not",
    "named.people best": "highest `named.people` of all candidates",
    "named.quoted": "share of the quoted text in the item; missing without a quotation",
    "named.times": "number of times that the request names",
    "named.time distance": "hours from the item's times to the nearest time the request names (signed log)",
    "named.time distance rank": "number of candidates closer to a time the request names",
    "named.main in time": "1 if the item's main time is within a time the request names",
    "named.made in time": "1 if the item was created within a time the request names",
    "named.app": "1 if the request names the item's application",
    "named.other app": "1 if the request names another application of the user, and not this one",
    "named.readable": "share of the request that the embedder can read",
    "named.since newest": "hours from the newest item to the request (signed log)",
    "named.candidates": "number of candidates (log)",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    telling = [word for word in dict.fromkeys(scene.query_words) if word not in STOP_WORDS]
    contains = np.array(
        [[word in words for word in telling] for words in scene.word_sets], np.float64
    ).reshape(len(scene.rows), len(telling))
    count = contains.sum(0)
    weight = np.log((len(scene.rows) + 1) / (count + 0.5))
    weight = np.maximum(weight, 0.1)
    share = contains @ weight / max(weight.sum(), 1e-9)
    title, title_words = _title_shares(scene, frozenset(telling))
    people = _people_words(scene, frozenset(telling), contains.sum(1))
    newest = scene.hours_until("made")
    newest = newest[~np.isnan(newest)]
    ranked = scene.with_ranks({"named.words": share, "named.title": title})
    return {
        **ranked,
        "named.words best": constant(scene, float(share.max(initial=0))),
        "named.found": constant(scene, float((count > 0).mean()) if telling else math.nan),
        "named.telling": constant(scene, len(telling)),
        "named.rare words": contains[:, count <= _RARE].sum(1),
        "named.title best": constant(scene, float(title.max(initial=0))),
        "named.title words": title_words,
        "named.people": people,
        "named.people best": constant(scene, float(people.max(initial=0))),
        "named.quoted": _quoted_share(scene),
        **_time_features(scene),
        **_app_features(scene),
        "named.readable": constant(scene, scene.readability),
        "named.since newest": constant(
            scene, float(signed_log1p(-newest.max(keepdims=True))[0]) if len(newest) else math.nan
        ),
        "named.candidates": constant(scene, math.log(max(1, len(scene.rows)))),
    }


def explain(scene: Scene, number: int) -> str | None:
    """The title, if the request names it."""
    words = frozenset(scene.query_words)
    title = scene.item_columns.title_words[int(scene.rows[number])]
    if title and words.issuperset(title) and not STOP_WORDS.issuperset(title):
        return "the request names its title"
    return None


def _title_shares(scene: Scene, telling: frozenset[str]) -> tuple[Floats, Floats]:
    """Share of each title that the request contains, and the number of telling words in common."""
    words = frozenset(scene.query_words)
    shares, common = np.zeros(len(scene.rows)), np.zeros(len(scene.rows))
    for number, row in enumerate(map(int, scene.rows)):
        title = scene.item_columns.title_words[row]
        if title and not telling.isdisjoint(title):
            distinct = set(title)
            shares[number] = len(words & distinct) / len(distinct)
            common[number] = len(telling & distinct)
    return shares, common


def _people_words(scene: Scene, telling: frozenset[str], matches: Floats) -> Floats:
    """Words that name people of an item; only items that share a word with the request are looked at."""
    counts = np.zeros(len(scene.rows))
    for number in np.flatnonzero(matches).tolist():
        names = {word for person in scene.items[number].people for word in _name_words(person)}
        counts[number] = len(names & telling)
    return counts


def _name_words(person: str) -> list[str]:
    # not cached: names must not stay in memory after a user is forgotten
    return tokenize(person.partition("@")[0])


def _quoted_share(scene: Scene) -> Floats:
    quoted = [word for match in _QUOTED.finditer(scene.text) for word in tokenize(match[1] or match[2])]
    if not quoted:
        return constant(scene, math.nan)
    distinct = frozenset(quoted)
    return np.array([len(distinct & words) / len(distinct) for words in scene.word_sets], np.float64)


def _time_features(scene: Scene) -> FeatureColumns:
    spans = [
        ((start - scene.now).total_seconds() / 3600, (end - scene.now).total_seconds() / 3600)
        for start, end in find_probable_intervals(scene.times_text, scene.now)
    ]
    if not spans:
        missing = constant(scene, math.nan)
        names = ("time distance", "time distance rank", "main in time", "made in time")
        return {"named.times": constant(scene, 0), **{f"named.{name}": missing for name in names}}
    main, made = scene.hours_until_main_time, scene.hours_until("made")
    from_main, from_made = _distance(main, spans), _distance(made, spans)
    distance = np.fmin(from_main, from_made)
    return {
        "named.times": constant(scene, len(spans)),
        "named.time distance": signed_log1p(distance),
        "named.time distance rank": scene.rank(-distance),
        "named.main in time": (from_main == 0).astype(np.float64),
        "named.made in time": (from_made == 0).astype(np.float64),
    }


def _distance(times: Floats, spans: Sequence[tuple[float, float]]) -> Floats:
    """Hours to the nearest span; 0 within one."""
    return np.min([np.maximum(np.maximum(start - times, times - end), 0) for start, end in spans], axis=0)


def _app_features(scene: Scene) -> FeatureColumns:
    words = frozenset(scene.query_words)
    apps = {int(code): scene.items[number] for number, code in enumerate(scene.app.tolist())}
    named = {
        code for code, item in apps.items() if not words.isdisjoint(_app_words(item.app, item.schema.noun))
    }
    own = np.isin(scene.app, list(named)).astype(np.float64) if named else constant(scene, 0)
    return {"named.app": own, "named.other app": (1 - own) if named else constant(scene, 0)}


@lru_cache(maxsize=256)
def _app_words(app: str, noun: str) -> frozenset[str]:
    """Words for an application and one of its items, singular and plural."""
    words = {*tokenize(app), *tokenize(noun)} - STOP_WORDS - {"played"}
    return frozenset(words | {f"{word}s" for word in words} | {word.removesuffix("s") for word in words})

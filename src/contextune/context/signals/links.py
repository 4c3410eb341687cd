"""Feature family `links`: links between an item and the strongest candidates.

An item may have no words in common with the request and still be needed, by way of another: the person in the
mail that the request is about, the other event of that day, the search for the broken part. The strongest
candidates are those most similar to the request in the first pass, and those the first pass ranked highest in
the second.
"""

import numpy as np

from contextune.context.signals.scene import FeatureColumns, Floats, Numbers, Scene

ANCHORS = 6
"""Number of strongest candidates that links are computed to."""
_SHORT_WORD = 3
_TIME_SCALE = 3.0
"""Hours apart at which closeness in time has fallen to 1/e."""
_LINKS = {
    "meaning": "semantic similarity to",
    "words": "weight of the rare words shared with",
    "person": "1 if a contact is shared with",
    "time": "closeness in time to",
    "day": "1 if on the same day as",
    "place": "1 if at the same place as",
    "app": "1 if of the same application as",
    "thread": "1 if the title, without Re: and Fwd:, is that of",
}

FEATURES = {
    **{
        f"links.{link}{suffix}": f"{description} {target}"
        for link, description in _LINKS.items()
        for suffix, target in (
            (" to top", "the strongest candidate"),
            (" to second", "the second strongest candidate"),
            ("", "the strongest candidates, averaged by their strength"),
        )
    },
    "links.meaning rank": "number of candidates more similar to the strongest one",
    "links.words rank": "number of candidates that share more rare words with the strongest one",
    "links.strength": "strength of the candidate itself: its similarity, or its score in the first pass",
    "links.strength rank": "number of stronger candidates",
    "links.strength behind best": "`links.strength` minus that of the strongest candidate",
    "links.lead": "strength of the strongest candidate minus that of the second",
}


def compute(scene: Scene, strength: Floats) -> FeatureColumns:
    """The values of all features, one per candidate; `strength` determines the strongest candidates."""
    anchors = np.argsort(-strength, kind="stable")[:ANCHORS]
    share = np.exp(strength[anchors] - strength[anchors[0]])
    share = share / share.sum()
    is_anchor = anchors[None] == np.arange(len(scene.rows))[:, None]
    to_others = np.where(is_anchor, 0, _links_to(scene, anchors))
    to_second = to_others[:, :, 1] if len(anchors) > 1 else np.zeros(to_others.shape[:2])
    columns: dict[str, Floats] = {}
    for number, (link, average) in enumerate(zip(_LINKS, to_others @ share, strict=True)):
        columns[f"links.{link} to top"] = to_others[number, :, 0]
        columns[f"links.{link} to second"] = to_second[number]
        columns[f"links.{link}"] = average
    lead = strength[anchors[0]] - strength[anchors[1]] if len(anchors) > 1 else 0.0
    return {
        **columns,
        "links.meaning rank": scene.rank(columns["links.meaning to top"]),
        "links.words rank": scene.rank(columns["links.words to top"]),
        "links.strength": strength,
        "links.strength rank": scene.rank(strength),
        "links.strength behind best": strength - strength.max(),
        "links.lead": np.full(len(strength), lead),
    }


def explain(scene: Scene, number: int, strength: Floats) -> str | None:
    """What links the candidate to the strongest one."""
    top = int(np.argmax(strength))
    if top == number:
        return None
    columns, row, top_row = scene.item_columns, int(scene.rows[number]), int(scene.rows[top])
    title = scene.items[top].title
    if columns.thread_id[row] >= 0 and columns.thread_id[row] == columns.thread_id[top_row]:
        return f"same thread as “{title}”"
    shared = sorted(scene.rare_sets[number] & scene.rare_sets[top], key=lambda word: (-len(word), word))
    if shared and len(shared[0]) > _SHORT_WORD:
        words = [word for word in shared[:3] if len(word) > _SHORT_WORD]
        return f"shares words with “{title}”: {', '.join(words)}"
    if columns.people.share_contact(scene.rows[[number]], scene.rows[[top]]).any():
        return f"involves the same person as “{title}”"
    hours_apart = abs(columns.main_time[row] - columns.main_time[top_row])
    return f"close in time to “{title}”" if hours_apart < _TIME_SCALE / 2 else None


def _links_to(scene: Scene, anchors: Numbers) -> Floats:
    """Strength of each kind of link from each candidate (rows) to each anchor (columns)."""
    columns, rows = scene.item_columns, scene.rows
    time, place = columns.main_time[rows], columns.place[rows]
    day = np.floor(time / 24)
    hours_apart = np.abs(time[:, None] - time[anchors][None])
    thread = columns.thread_id[rows]
    contains, weight = scene.shared_words
    closeness = np.exp(-hours_apart / _TIME_SCALE)
    links = np.empty((len(_LINKS), len(rows), len(anchors)))
    # einsum instead of BLAS, whose threads take longer to start than these products
    links[0] = np.einsum("ij,kj->ik", scene.vectors, scene.vectors[anchors])
    in_anchors = np.flatnonzero(contains[anchors].any(0))
    links[1] = np.einsum(
        "ij,kj->ik", contains[:, in_anchors] * weight[in_anchors], contains[anchors][:, in_anchors]
    )
    links[2] = columns.people.share_contact(rows, rows[anchors])
    links[3] = np.where(np.isnan(closeness), 0, closeness)
    links[4] = day[:, None] == day[anchors][None]
    links[5] = (place[:, None] == place[anchors][None]) & (place[:, None] >= 0)
    links[6] = scene.same_app[:, anchors]
    links[7] = (thread[:, None] == thread[anchors][None]) & (thread[:, None] >= 0)
    return links

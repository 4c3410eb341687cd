"""Links: the second hop. What ties an item to the candidates that are strong already.

Who is in the mail that the request is about, what else is on that day, which search was made
over that broken part: an item may have nothing to do with the words of the request and yet
be what it hangs on, by way of another. Strong is, in a first pass, what is like the
request; in a second, what the first pass put on top.
"""

import numpy as np

from contextune.context.signals.scene import Columns, Floats, Numbers, Scene

ANCHORS = 6
_TELLING = 3
"""A tie by words no longer than this is not worth telling."""
_NEAR = 3.0
"""Hours apart at which a tie in time is down to a third."""
_TIES = {
    "meaning": "likeness of meaning to",
    "words": "rare words shared with",
    "person": "a contact shared with",
    "time": "nearness in time to",
    "day": "the same day as",
    "place": "the same place as",
    "app": "the same application as",
    "thread": "the same title, but for Re: and Fwd:, as",
}

FEATURES = {
    **{
        f"links.{tie}{suffix}": f"{about} {whom}"
        for tie, about in _TIES.items()
        for suffix, whom in (
            (" to top", "the strongest candidate"),
            (" to second", "the second strongest"),
            ("", "the strong candidates, by their strength"),
        )
    },
    "links.meaning rank": "how many candidates are more like the strongest one",
    "links.words rank": "how many candidates share more rare words with the strongest one",
    "links.strength": "how strong the candidate itself is, before links",
    "links.strength rank": "how many candidates are stronger, before links",
    "links.strength behind best": "distance to the strongest candidate, before links",
    "links.lead": "distance between the strongest candidate and the second",
}


def measure(scene: Scene, strength: Floats) -> Columns:
    """The features of this family, for candidates of a given strength."""
    anchors = np.argsort(-strength, kind="stable")[:ANCHORS]
    share = np.exp(strength[anchors] - strength[anchors[0]])
    share = share / share.sum()
    itself = anchors[None] == np.arange(len(scene.rows))[:, None]
    others = np.where(itself, 0, _tied(scene, anchors))
    second = others[:, :, 1] if len(anchors) > 1 else np.zeros(others.shape[:2])
    columns: dict[str, Floats] = {}
    for number, (tie, all_of_them) in enumerate(zip(_TIES, others @ share, strict=True)):
        columns[f"links.{tie} to top"] = others[number, :, 0]
        columns[f"links.{tie} to second"] = second[number]
        columns[f"links.{tie}"] = all_of_them
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


def why(scene: Scene, number: int, strength: Floats) -> str | None:
    """What ties it to the strongest candidate, in words."""
    top = int(np.argmax(strength))
    if top == number:
        return None
    facts, (one, other) = scene.facts, (int(scene.rows[number]), int(scene.rows[top]))
    title = scene.items[top].title
    if facts.thread[one] >= 0 and facts.thread[one] == facts.thread[other]:
        return f"of one thread with “{title}”"
    shared = sorted(scene.rare_sets[number] & scene.rare_sets[top], key=lambda word: (-len(word), word))
    if shared and len(shared[0]) > _TELLING:
        words = [word for word in shared[:3] if len(word) > _TELLING]
        return f"tied to “{title}” by the words: {', '.join(words)}"
    if facts.people.shared(scene.rows[[number]], scene.rows[[top]]).any():
        return f"has the same people as “{title}”"
    return f"near in time to “{title}”" if abs(facts.time[one] - facts.time[other]) < _NEAR / 2 else None


def _tied(scene: Scene, anchors: Numbers) -> Floats:
    """By tie, how each candidate (rows) is tied to each anchor (columns)."""
    facts, rows = scene.facts, scene.rows
    time, place = facts.time[rows], facts.place[rows]
    day = np.floor(time / 24)
    apart = np.abs(time[:, None] - time[anchors][None])
    thread = facts.thread[rows]
    held, weight = scene.shared_words
    near = np.exp(-apart / _NEAR)
    found = np.empty((len(_TIES), len(rows), len(anchors)))
    # not by BLAS, whose threads would have to be waited for; and only words that any anchor has
    found[0] = np.einsum("ij,kj->ik", scene.vectors, scene.vectors[anchors])
    mine = np.flatnonzero(held[anchors].any(0))
    found[1] = np.einsum("ij,kj->ik", held[:, mine] * weight[mine], held[anchors][:, mine])
    found[2] = facts.people.shared(rows, rows[anchors])
    found[3] = np.where(np.isnan(near), 0, near)
    found[4] = day[:, None] == day[anchors][None]
    found[5] = (place[:, None] == place[anchors][None]) & (place[:, None] >= 0)
    found[6] = scene.same_app[:, anchors]
    found[7] = (thread[:, None] == thread[anchors][None]) & (thread[:, None] >= 0)
    return found

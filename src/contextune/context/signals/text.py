"""Text: what the words and the meaning of the request have in common with an item's."""

import numpy as np

from contextune.context.signals.scene import Columns, Floats, Scene, spread_features

_STRONG = 0.35

FEATURES = {
    **spread_features("text.meaning", "likeness of meaning, the request with its time and place"),
    "text.meaning score": "the same in standard deviations above the mean of the candidates",
    **spread_features("text.said", "likeness of meaning, the words of the request alone"),
    "text.said score": "the same in standard deviations above the mean of the candidates",
    **spread_features("text.situation", "likeness of meaning, the time and place of the request alone"),
    **spread_features("text.words", "BM25T, each application as a collection of its own"),
    "text.title words": "words of the request in the item's title",
    "text.overlap": "share of the request's words that stand in the item",
    "text.length": "number of words in the item",
}


def measure(scene: Scene) -> Columns:
    """The features of this family."""
    facts, said = scene.facts, frozenset(scene.words)
    like = scene.likeness
    return {
        **scene.spread(
            {
                "text.meaning": like.situated,
                "text.said": like.bare,
                "text.situation": like.around,
                "text.words": like.lexical,
            }
        ),
        "text.meaning score": _standard(like.situated),
        "text.said score": _standard(like.bare),
        "text.title words": np.array(
            [len(said.intersection(facts.title_words[n])) for n in map(int, scene.rows)], np.float64
        ),
        "text.overlap": np.array([len(found & said) for found in scene.word_sets]) / max(1, len(said)),
        "text.length": facts.lengths[scene.rows],
    }


def why(scene: Scene, number: int) -> str | None:
    """The words shared, else the likeness, if there is any to speak of."""
    shared = [w for w in dict.fromkeys(scene.words) if w in scene.word_sets[number]]
    if shared := [w for w in shared if len(w) > 3]:  # shorter ones are mostly "the" and "to"
        return f"shares the words: {', '.join(shared)}"
    likeness = float(scene.likeness.situated[number])
    return f"close in meaning to what was said ({likeness:.2f})" if likeness >= _STRONG else None


def _standard(values: Floats) -> Floats:
    return (values - values.mean()) / (values.std() + 1e-6)

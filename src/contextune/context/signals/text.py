"""Feature family `text`: lexical and semantic similarity between the request and the item."""

import numpy as np

from contextune.context.signals.scene import FeatureColumns, Scene, describe_with_ranks

_MIN_SIMILARITY = 0.35
_STD = "`{}` in standard deviations from the mean of the candidates"

FEATURES = {
    **describe_with_ranks("text.meaning", "semantic similarity to the request with its time and place"),
    "text.meaning score": _STD.format("text.meaning"),
    **describe_with_ranks("text.said", "semantic similarity to the text of the request alone"),
    "text.said score": _STD.format("text.said"),
    **describe_with_ranks("text.situation", "semantic similarity to the time and place of the request alone"),
    **describe_with_ranks(
        "text.content", "semantic similarity of the request's text to the item without habits"
    ),
    **describe_with_ranks("text.words", "BM25T score, each application as its own collection"),
    **describe_with_ranks("text.store words", "BM25T score, all items as one collection"),
    "text.before": "`text.said` of the item created right before it in the same application",
    "text.before score": "the same, in standard deviations from the mean `text.said`",
    "text.title words": "number of words of the request in the item's title",
    "text.overlap": "share of the words of the request that occur in the item",
    "text.length": "number of words in the item",
}


def compute(scene: Scene) -> FeatureColumns:
    """The values of all features, one per candidate."""
    columns, words = scene.item_columns, frozenset(scene.words)
    similarities = scene.similarities
    mean, deviation = similarities.text.mean(), similarities.text.std() + 1e-6
    return {
        **scene.with_ranks(
            {
                "text.meaning": similarities.situated,
                "text.said": similarities.text,
                "text.situation": similarities.moment,
                "text.content": similarities.content,
                "text.words": similarities.lexical,
                "text.store words": similarities.store_lexical,
            }
        ),
        "text.meaning score": (similarities.situated - similarities.situated.mean())
        / (similarities.situated.std() + 1e-6),
        "text.said score": (similarities.text - mean) / deviation,
        "text.before": similarities.before,
        "text.before score": (similarities.before - mean) / deviation,
        "text.title words": np.array(
            [len(words.intersection(columns.title_words[row])) for row in map(int, scene.rows)], np.float64
        ),
        "text.overlap": np.array([len(item_words & words) for item_words in scene.word_sets])
        / max(1, len(words)),
        "text.length": columns.word_count[scene.rows],
    }


def explain(scene: Scene, number: int) -> str | None:
    """The words shared with the request, else the similarity if it is high."""
    shared = [word for word in dict.fromkeys(scene.words) if word in scene.word_sets[number]]
    if shared := [word for word in shared if len(word) > 3]:  # shorter ones are mostly "the" and "to"
        return f"shares the words: {', '.join(shared)}"
    similarity = float(scene.similarities.situated[number])
    if similarity < _MIN_SIMILARITY:
        return None
    return "similar in meaning to the request"

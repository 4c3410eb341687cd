"""Prints checksums of features and models trained on three personas, for `test_reproducible.py`."""

import json
import sys
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from tests.conftest import WordEmbedder
from tests.lab.train.tiny_tools import few_folds

from contextune.embed import default_embedder
from contextune.rank import Ranker, RankerSettings
from contextune.tools.features import FEATURE_NAMES as TOOL_FEATURES
from contextune_lab.train.rankers.context import train as context_recipe
from contextune_lab.train.rankers.context.examples import from_folds
from contextune_lab.train.rankers.tools import train as tools_recipe
from contextune_lab.train.rankers.tools.examples import from_personas, without_context

_ROUNDS = RankerSettings(rounds=8, seeds=1)


def digests() -> dict[str, str]:
    """One checksum per stage, from the vectors to the tool ranker."""
    with tempfile.TemporaryDirectory() as folder:
        folds = few_folds(Path(folder) / "folds.npz", WordEmbedder(), count=2)
        examples = from_folds(folds)
    texts = [item.text for item in folds.personas[0].items[:40]]
    data = context_recipe.FeaturedExamples.build(examples)
    first = context_recipe.fit(data, _ROUNDS)
    scores = [first.score(matrix) for matrix in data.matrices]
    second = context_recipe.fit(data.with_links(scores), _ROUNDS)
    requests = from_personas(folds, examples, scores)[::4]
    featured = tools_recipe.with_features([*requests, *map(without_context, requests)])
    tool_ranker = Ranker.fit([example.group for example in featured], TOOL_FEATURES, _ROUNDS)
    return {
        "vectors": _digest([default_embedder().embed(texts).tobytes()]),
        "features": _digest(matrix.tobytes() for matrix in data.matrices),
        "first pass": _digest(model.encode() for model in first.models),
        "scores": _digest(score.tobytes() for score in scores),
        "second pass": _digest(model.encode() for model in second.models),
        "tool features": _digest(example.group.matrix.tobytes() for example in featured),
        "tool ranker": _digest(model.encode() for model in tool_ranker.models),
    }


def _digest(parts: Iterable[bytes]) -> str:
    checksum = sha256()
    for part in parts:
        checksum.update(part)
    return checksum.hexdigest()


if __name__ == "__main__":
    json.dump(digests(), sys.stdout)

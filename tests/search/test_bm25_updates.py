"""An updated lexical index gives the scores of a new one."""

from random import Random

import numpy as np
import pytest

from contextune.search import LexicalIndex

WORDS = ["kiln", "slots", "boat", "jose", "josé", "книга", "книгу", "talc", "größe", "rowing"]


def random_document(random: Random) -> list[str]:
    return random.choices(WORDS, k=random.randint(0, 5))


@pytest.mark.parametrize("seed", range(8))
def test_updated_index_equals_rebuilt_index(seed: int) -> None:
    random = Random(seed)
    documents = [random_document(random) for _ in range(12)]
    index = LexicalIndex(documents)
    for _ in range(30):
        kept = [row for row in range(len(documents)) if random.random() > 0.1]
        rows = list(kept)
        for _ in range(random.randint(0, 3)):
            rows.insert(random.randint(0, len(rows)), -1)
        new = [random_document(random) for row in rows if row < 0]
        added = iter(new)
        documents = [documents[row] if row >= 0 else next(added) for row in rows]
        index.scores(["josé"])  # so that there are cached variants and weights to update
        index = index.updated(np.array(rows, np.int64), new)
        rebuilt = LexicalIndex(documents)
        visible = np.array([random.random() > 0.3 for _ in documents], np.bool_)
        assert len(index) == len(documents)
        for word in WORDS:
            assert index.document_frequency(word) == rebuilt.document_frequency(word)
        for query in (["kiln", "slots"], ["jose"], ["josé"], ["книгу", "boat", "boat"], ["grösse"]):
            np.testing.assert_allclose(index.scores(query), rebuilt.scores(query), rtol=1e-12)
            np.testing.assert_allclose(
                index.scores(query, visible=visible), rebuilt.scores(query, visible=visible), rtol=1e-12
            )
            numbers = np.arange(len(documents))
            np.testing.assert_allclose(
                index.scores_for(query, numbers), rebuilt.scores_for(query, numbers), rtol=1e-5
            )

"""BM25T over postings on disk: the best rows are found without scoring all."""

import random
from pathlib import Path

import numpy as np
import pytest

from contextune.search import top
from contextune.tools.large import field_words
from contextune.tools.large.field_words import FieldWords, Vocabulary
from contextune.tools.large.segment import ALL_FIELDS, Segment, merge_segments, write_part
from contextune.types import Tool

WORDS = [f"word{number}" for number in range(60)]


@pytest.fixture
def segments(tmp_path: Path) -> list[Segment]:
    """Two segments of tools with words of very different frequencies."""
    rng = random.Random(3)
    averages: dict[str, float] = dict.fromkeys(ALL_FIELDS, 8.0)
    result: list[Segment] = []
    for number, rows in enumerate((400, 90)):
        texts = [
            " ".join(rng.choices(WORDS, [1 / (n + 1) for n in range(60)], k=rng.randint(2, 14)))
            for _ in range(rows)
        ]
        tools = [Tool(f"tool_{n}", text) for n, text in enumerate(texts)]
        vectors = np.zeros((rows, 4), np.float32)
        part, merged = tmp_path / f"part{number}", tmp_path / f"segment{number}"
        write_part(part, range(rows), tools, vectors, (np.empty((0, 4), np.float32), []))
        merge_segments(merged, [(Segment.open(part, {}), None)], averages)
        result.append(Segment.open(merged, averages))
    return result


@pytest.mark.parametrize("hidden", [False, True])
def test_best_rows_are_those_of_scoring_all(
    segments: list[Segment], hidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_words, "_FEW_POSTINGS", 0)
    words = FieldWords("all", segments, Vocabulary(segments))
    rng = random.Random(4)
    visible = np.array([not hidden or rng.random() < 0.5 for _ in range(len(words))])
    for _ in range(60):
        query = rng.choices(WORDS, k=rng.randint(1, 7))
        scores = words.scores_for(query, np.arange(len(words)))
        expected = [row for row in top(scores, 10, visible=visible).tolist() if scores[row] > 0]
        assert words.best(query, 10, visible if hidden else None).tolist() == expected, query
    assert words.best(["unknown"], 10).tolist() == []


def test_beyond_the_limit_only_the_rarest_words_choose_rows(
    segments: list[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_words, "_MAX_POSTINGS", 1)
    words = FieldWords("all", segments, Vocabulary(segments))
    rare, frequent = "word50", "word0"
    assert 0 < words.document_frequency(rare) < 20 < words.document_frequency(frequent)
    hits = words.best([frequent, rare], 50)
    assert sorted(hits.tolist()) == sorted(words.best([rare], 50).tolist())
    scores = words.scores_for([frequent, rare], hits)
    assert (np.diff(scores) <= 1e-6).all()

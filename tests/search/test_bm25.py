"""BM25T and BM25: numbers worked by hand, an independent library, and what hidden documents must not do."""

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextune.search import LexicalIndex, Method

# it carries no types
bm25s: Any = importlib.import_module("bm25s")

LETTERS = st.sampled_from("abcdefgh")
DOCUMENTS = st.lists(st.lists(LETTERS, max_size=12), min_size=1, max_size=12)
QUERIES = st.lists(st.sampled_from("abcdefghxy"), max_size=6)
METHODS = st.sampled_from(["bm25t", "bm25"])

# all of length 4, so that the length normalisation is 1 whatever b is
EVEN = [
    ["cake", "anna", "anna", "anna"],
    ["cake", "bank", "tea", "tea"],
    ["milk", "bank", "rent", "loan"],
]
# lengths 1, 2 and 3; the mean is 2, so with b = 0.5 the normalisations are 0.75, 1 and 1.25
UNEVEN = [["cake"], ["tea", "milk"], ["cake", "cake", "tea"]]


def test_bm25t_where_k1_has_a_closed_form() -> None:
    index = LexicalIndex(EVEN)
    # "cake" stands once wherever it stands: the mean of log(1 + 1) is log 2 = g(1/2), for
    # g(1/2) = 0.5 / -0.5 * log(1/2); so k1 = 1/2, tf part (1/2 + 1) * 1 / (1/2 + 1) = 1
    cake = math.log(4 / 2) * 1.0
    # "anna" stands three times: log(1 + 3) = 2 log 2 = g(2), so k1 = 2, tf part 3 * 3 / (2 + 3) = 9/5
    anna = math.log(4 / 1) * 9 / 5
    assert index.scores(["cake"]) == pytest.approx([cake, cake, 0])
    assert index.scores(["anna", "cake"]) == pytest.approx([anna + cake, cake, 0])


def test_bm25t_with_uneven_lengths() -> None:
    # "cake": once in a document of normalisation 0.75, twice in one of 1.25
    first, last = 1 / 0.75, 2 / 1.25
    target = (math.log(1 + first) + math.log(1 + last)) / 2
    k1 = 0.8153557389041
    assert k1 / (k1 - 1) * math.log(k1) == pytest.approx(target, rel=1e-9)
    idf = math.log(4 / 2)
    expected = [idf * (k1 + 1) * first / (k1 + first), 0, idf * (k1 + 1) * last / (k1 + last)]
    assert LexicalIndex(UNEVEN).scores(["cake"], b=0.5) == pytest.approx(expected, rel=1e-9)


def test_bm25_by_hand() -> None:
    # df 2 of 3: idf = log(1 + 1.5 / 2.5) = log 1.6; tf parts 1 / (1.2 * 0.75 + 1) and 2 / (1.2 * 1.25 + 2)
    expected = [math.log(1.6) / 1.9, 0, math.log(1.6) * 2 / 3.5]
    assert LexicalIndex(UNEVEN).scores(["cake"], method="bm25", b=0.5) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["bm25t", "bm25"])
def test_a_word_asked_for_twice_counts_twice(method: Method) -> None:
    index = LexicalIndex(UNEVEN)
    tea, cake = index.scores(["tea"], method=method), index.scores(["cake"], method=method)
    assert index.scores(["tea", "cake", "tea"], method=method) == pytest.approx(2 * tea + cake)


def test_a_store_of_one_document_can_match() -> None:
    assert LexicalIndex([["cake"]]).scores(["cake"]) == pytest.approx([math.log(2)])


@pytest.mark.parametrize("query", [[], ["unknown"]])
def test_nothing_asked_nothing_found(query: list[str]) -> None:
    scores = LexicalIndex(EVEN).scores(query)
    assert scores.tolist() == [0, 0, 0]
    assert scores.dtype == np.float64


def test_empty_index_and_empty_documents() -> None:
    assert LexicalIndex([]).scores(["cake"]).shape == (0,)
    assert LexicalIndex([[], []]).scores(["cake"]).tolist() == [0, 0]
    assert LexicalIndex(EVEN).scores(["cake"], visible=np.zeros(3, np.bool_)).tolist() == [0, 0, 0]


def lucene(documents: Sequence[Sequence[str]], query: Sequence[str], k1: float, b: float) -> list[float]:
    reference = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    reference.index([list(document) for document in documents], show_progress=False)
    known = [word for word in query if any(word in document for document in documents)]
    return list(reference.get_scores(known)) if known else [0.0] * len(documents)


@settings(deadline=None)  # bm25s may compile on its first call
@given(
    DOCUMENTS.filter(lambda documents: any(documents)),
    QUERIES,
    st.floats(0.1, 3),
    st.floats(0, 1),
)
def test_bm25_agrees_with_bm25s(documents: list[list[str]], query: list[str], k1: float, b: float) -> None:
    scores = LexicalIndex(documents).scores(query, method="bm25", k1=k1, b=b)
    assert scores == pytest.approx(lucene(documents, query, k1, b), rel=1e-6)


@given(st.lists(st.tuples(st.lists(LETTERS, max_size=12), st.booleans()), max_size=12), QUERIES, METHODS)
def test_hidden_documents_change_nothing(
    shelf: list[tuple[list[str], bool]], query: list[str], method: Method
) -> None:
    visible: NDArray[np.bool_] = np.array([seen for _, seen in shelf], np.bool_)
    scores = LexicalIndex([words for words, _ in shelf]).scores(query, visible=visible, method=method)
    rebuilt = LexicalIndex([words for words, seen in shelf if seen]).scores(query, method=method)
    assert scores[visible] == pytest.approx(rebuilt, rel=1e-12)
    assert not scores[~visible].any()


@given(DOCUMENTS, QUERIES, METHODS, st.sampled_from([0.0, 0.75, 1.0]))
def test_a_score_is_positive_exactly_where_a_word_is_shared(
    documents: list[list[str]], query: list[str], method: Method, b: float
) -> None:
    scores = LexicalIndex(documents).scores(query, method=method, b=b)
    assert np.isfinite(scores).all()
    assert (scores > 0).tolist() == [bool(set(document) & set(query)) for document in documents]


@given(DOCUMENTS, QUERIES)
def test_matched_words(documents: list[list[str]], query: list[str]) -> None:
    index = LexicalIndex(documents)
    for place, document in enumerate(documents):
        matched = index.matched(query, place)
        assert sorted(matched) == sorted(set(query) & set(document))
        assert matched == sorted(matched, key=query.index)


def test_what_is_refused() -> None:
    index = LexicalIndex(EVEN)
    assert len(index) == 3
    with pytest.raises(TypeError, match="split it with `words`"):
        index.scores("cake")
    with pytest.raises(TypeError, match="not a text"):
        LexicalIndex(["cake"])
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        index.scores(["cake"], visible=np.ones(2, np.bool_))
    with pytest.raises(ValueError, match=r"b=1\.5"):
        index.scores(["cake"], b=1.5)
    with pytest.raises(ValueError, match="k1=-1"):
        index.scores(["cake"], method="bm25", k1=-1)
    unknown: Any = "bm26"
    with pytest.raises(ValueError, match="unknown method 'bm26'"):
        index.scores(["cake"], method=unknown)
    for document in (-1, 3):
        with pytest.raises(IndexError):
            index.matched(["cake"], document)

"""BM25T: scores worked out by hand, and no influence of hidden documents."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from contextune.search import LexicalIndex

LETTERS = st.sampled_from("abcdefgh")
DOCUMENTS = st.lists(st.lists(LETTERS, max_size=12), min_size=1, max_size=12)
QUERIES = st.lists(st.sampled_from("abcdefghxy"), max_size=6)

# all of length 4, so that the length normalisation is 1
EVEN = [
    ["cake", "anna", "anna", "anna"],
    ["cake", "bank", "tea", "tea"],
    ["milk", "bank", "rent", "loan"],
]
# lengths 1, 2 and 3; the mean is 2, so with b = 0.75 the normalisations are 0.625, 1 and 1.375
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
    # "cake": once in a document of normalisation 0.625, twice in one of 1.375
    first, last = 1 / 0.625, 2 / 1.375
    target = (math.log(1 + first) + math.log(1 + last)) / 2
    k1 = 0.8604402375932
    assert k1 / (k1 - 1) * math.log(k1) == pytest.approx(target, rel=1e-9)
    idf = math.log(4 / 2)
    expected = [idf * (k1 + 1) * first / (k1 + first), 0, idf * (k1 + 1) * last / (k1 + last)]
    assert LexicalIndex(UNEVEN).scores(["cake"]) == pytest.approx(expected, rel=1e-9)


def test_repeated_query_word_counts_twice() -> None:
    index = LexicalIndex(UNEVEN)
    tea, cake = index.scores(["tea"]), index.scores(["cake"])
    assert index.scores(["tea", "cake", "tea"]) == pytest.approx(2 * tea + cake)


def test_document_frequency_counts_documents_not_occurrences() -> None:
    index = LexicalIndex(EVEN)
    assert [index.document_frequency(word) for word in ("cake", "anna", "tea", "unknown")] == [2, 1, 1, 0]


def test_single_document_can_match() -> None:
    assert LexicalIndex([["cake"]]).scores(["cake"]) == pytest.approx([math.log(2)])


@pytest.mark.parametrize("query", [[], ["unknown"]])
def test_empty_or_unknown_query_scores_zero(query: list[str]) -> None:
    scores = LexicalIndex(EVEN).scores(query)
    assert scores.tolist() == [0, 0, 0]
    assert scores.dtype == np.float64


def test_empty_index_and_empty_documents() -> None:
    assert LexicalIndex([]).scores(["cake"]).shape == (0,)
    assert LexicalIndex([[], []]).scores(["cake"]).tolist() == [0, 0]
    assert LexicalIndex(EVEN).scores(["cake"], visible=np.zeros(3, np.bool_)).tolist() == [0, 0, 0]


@given(st.lists(st.tuples(st.lists(LETTERS, max_size=12), st.booleans()), max_size=12), QUERIES)
def test_hidden_documents_do_not_change_scores(
    documents: list[tuple[list[str], bool]], query: list[str]
) -> None:
    visible: NDArray[np.bool_] = np.array([shown for _, shown in documents], np.bool_)
    scores = LexicalIndex([words for words, _ in documents]).scores(query, visible=visible)
    rebuilt = LexicalIndex([words for words, shown in documents if shown]).scores(query)
    assert scores[visible] == pytest.approx(rebuilt, rel=1e-12)
    assert not scores[~visible].any()


@given(DOCUMENTS, QUERIES)
def test_score_is_positive_exactly_if_a_word_is_shared(documents: list[list[str]], query: list[str]) -> None:
    scores = LexicalIndex(documents).scores(query)
    assert np.isfinite(scores).all()
    assert (scores > 0).tolist() == [bool(set(document) & set(query)) for document in documents]


@given(DOCUMENTS, QUERIES, st.data())
def test_scores_for_a_few_documents_equal_the_scores_of_all(
    documents: list[list[str]], query: list[str], data: st.DataObject
) -> None:
    index = LexicalIndex(documents)
    few = np.array(data.draw(st.lists(st.integers(0, len(documents) - 1), max_size=5)), np.intp)
    assert index.scores_for(query, few) == pytest.approx(index.scores(query)[few])


@given(DOCUMENTS, QUERIES)
def test_matching_words(documents: list[list[str]], query: list[str]) -> None:
    index = LexicalIndex(documents)
    for position, document in enumerate(documents):
        matching = index.matching_words(query, position)
        assert sorted(matching) == sorted(set(query) & set(document))
        assert matching == sorted(matching, key=query.index)


def test_invalid_arguments_are_refused() -> None:
    index = LexicalIndex(EVEN)
    assert len(index) == 3
    with pytest.raises(TypeError, match="split it with `tokenize`"):
        index.scores("cake")
    with pytest.raises(TypeError, match="not a string"):
        LexicalIndex(["cake"])
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        index.scores(["cake"], visible=np.ones(2, np.bool_))
    for document in (-1, 3):
        with pytest.raises(IndexError):
            index.matching_words(["cake"], document)

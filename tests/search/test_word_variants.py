"""Spellings and endings that a query word finds in an index."""

import numpy as np
import pytest

from contextune.search import LexicalIndex, tokenize
from contextune.search.word_variants import ENDING_WEIGHT, WordVariants, without_accents


def _found(query: str, *documents: str) -> list[int]:
    """Numbers of the documents that match, best first."""
    scores = LexicalIndex([tokenize(document) for document in documents]).scores(tokenize(query))
    return [int(number) for number in np.argsort(-scores, kind="stable") if scores[number] > 0]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        pytest.param("dinner with jose", "José, 7pm", id="spanish"),
        pytest.param("muller", "Rechnung von Müller", id="german, left out"),
        pytest.param("Mueller", "Rechnung von Müller", id="german, spelt out"),
        pytest.param("Kobenhavn", "Tur til København", id="danish"),
        pytest.param("lodz", "Pociąg do Łódź", id="polish"),
        pytest.param("cagri", "Çağrı ile toplantı", id="turkish"),
        pytest.param("reuniao", "Reunião com a Ana", id="portuguese"),
        pytest.param("ΑΘΗΝΑ", "Πτήση για Αθήνα", id="greek capitals have no accents"),
        pytest.param("елка", "купить ёлку, ёлка", id="russian yo"),
        pytest.param("محمد", "مُحَمَّد", id="arabic vowels"),
        pytest.param("احمد", "اتصل أحمد", id="arabic hamza"),
        pytest.param("שלום", "שָׁלוֹם", id="hebrew points"),
    ],
)
def test_word_without_accents_finds_the_accented_word(query: str, document: str) -> None:
    assert _found(query, "nothing of it", document) == [1]


def test_accented_word_finds_the_exact_spelling_first_and_others_only_if_there_is_none() -> None:
    assert _found("josé", "Jose", "José") == [1]
    assert _found("josé", "Jose", "Anna") == [0]
    assert _found("jose", "Jose", "José") == [0, 1]


@pytest.mark.parametrize(
    ("query", "document"),
    [
        pytest.param("найди книгу", "новая книга", id="russian noun"),
        pytest.param("встреча", "о встречами с Анной", id="russian plural"),
        pytest.param("σημείωση", "οι σημειώσεις μου", id="greek"),
        pytest.param("öğretmen", "öğretmene sor", id="turkish"),
    ],
)
def test_other_ending_is_found(query: str, document: str) -> None:
    assert _found(query, "something else", document) == [1]


def test_same_ending_beats_another() -> None:
    assert _found("книгу", "новая книга", "дай книгу") == [1, 0]


def test_words_that_only_begin_alike_are_not_found() -> None:
    assert _found("переговоры", "перегородка в офисе") == []
    assert _found("कल", "कुल") == []  # Indic vowel signs are letters, not accents
    assert _found("かき", "がき") == []


def test_plain_words_have_no_variants() -> None:
    terms = {word: number for number, word in enumerate(["meeting", "meetings", "jose"])}
    variants = WordVariants(terms)
    assert variants.weights("meeting") == {0: 1.0}
    assert variants.weights("meet") == {}


def test_endings_weigh_less() -> None:
    variants = WordVariants({"книга": 0, "книгу": 1})
    assert variants.weights("книгу") == {1: 1.0, 0: ENDING_WEIGHT}


def test_scores_of_some_documents_count_variants_too() -> None:
    index = LexicalIndex([tokenize(text) for text in ("José", "Anna", "Müller und José")])
    query = tokenize("jose mueller")
    assert index.scores_for(query, np.arange(3)) == pytest.approx(index.scores(query))
    assert index.matching_words(query, 2) == ["jose", "mueller"]


def test_marks_that_are_letters_stay() -> None:
    assert without_accents("बहुत") == "बहुत"
    assert without_accents("が") == "が"
    assert without_accents("åäö") == "aao"

"""English glosses of everyday words in other languages."""

import pytest

from contextune._internal.assets import asset
from contextune.datasets import read_persona
from contextune.search.glosses import gloss, word_gloss
from contextune.search.tokenize import tokenize


@pytest.mark.parametrize(
    ("title", "english"),
    [
        ("Zahnarzt Ben", "dentist"),
        ("1. Weihnachtstag", "christmas holiday"),
        ("Rendez-vous chez le dentiste", "dentist"),
        ("Cumpleaños de Ana", "birthday"),
        ("STEUERERKLÄRUNG", "tax"),
        ("Geburtstagsfeier Oma", "birthday grandmother"),
        ("Zahnarzttermin", "dentist appointment"),
        ("Dentist, Zahnarzt Dr. Vogel", ""),
        ("Sprint planning", ""),
        ("", ""),
    ],
)
def test_title_in_another_language_has_an_english_gloss(title: str, english: str) -> None:
    assert gloss(title) == english


def test_compound_needs_two_known_parts() -> None:
    assert word_gloss("zahnarztstuhl") == ""


def test_english_requests_have_no_glosses() -> None:
    requests = [
        query.text
        for file in sorted(asset("personas").glob("*.json"))
        for query in read_persona(file).queries
    ]
    lower = {word for text in requests for word in tokenize(text) if f" {word}" in text}
    assert requests
    assert [word for word in sorted(lower) if word_gloss(word)] == []

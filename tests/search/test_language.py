"""The language of requests: that of short ones is named, and English is not taken for another."""

from collections.abc import Iterator

import pytest

from contextune.datasets import bundled_personas
from contextune.search.language import foreign_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wann ist der Termin beim Zahnarzt?", "German"),
        ("Ruf Anna an", "German"),
        ("Quand est mon rendez-vous chez le dentiste ?", "French"),
        ("Appelle ma mère", "French"),
        ("¿Cuándo es la cita con el dentista?", "Spanish"),
        ("Liga à minha irmã", "Portuguese"),
        ("Quando è la prossima riunione?", "Italian"),
        ("Wanneer is de volgende vergadering?", "Dutch"),
        ("Kiedy jest następne spotkanie?", "Polish"),
        ("När är nästa möte?", "Swedish"),
        ("Когда моя следующая встреча?", "Cyrillic script"),
        ("我下次看牙医是什么时候", "Cjk script"),
        ("When is Zahnarzt Ben?", None),
        ("Play La vie en rose", None),
        ("Read Der Tod in Venedig", None),
        ("What did die Bahn write?", None),
        ("whos my three o clock", None),
        ("Remind me to call de la Cruz", None),
        ("Despacito", None),
        ("12:30", None),
    ],
)
def test_language_is_named_if_it_is_certain(text: str, language: str | None) -> None:
    assert foreign_language(text) == language


def english_requests() -> Iterator[str]:
    yield from (query.text for persona in bundled_personas() for query in persona.queries)


def test_english_requests_are_not_taken_for_another_language() -> None:
    texts = list(english_requests())
    assert len(texts) > 100
    assert [text for text in texts if foreign_language(text)] == []

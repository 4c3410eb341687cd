"""Which texts an embedder can read."""

import pytest
from tests.embed import tiny_bert

from contextune.embed import CachedEmbedder, OnnxEmbedder, SentenceTransformersEmbedder, readability
from contextune.embed.scripts import readable_scripts, script_share


@pytest.mark.parametrize(
    "text",
    [
        "When is my next dentist appointment?",
        "Wann ist mein nächster Termin beim Zahnarzt?",
        "Bir sonraki dişçi randevum ne zaman?",
        "Quando é a minha próxima consulta no dentista?",
        "Cuộc hẹn nha sĩ tiếp theo của tôi là khi nào?",
        "2024-05-16 19:00 🎉",
        "",
    ],
)
def test_bundled_model_reads_latin_letters(embedder: OnnxEmbedder, text: str) -> None:
    assert readability(embedder, text) == 1


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("我下次看牙医是什么时候？", id="chinese"),
        pytest.param("次の歯医者の予約はいつですか？", id="japanese"),
        pytest.param("Когда моя следующая встреча с зубным врачом?", id="russian"),
        pytest.param("متى موعدي القادم مع طبيب الأسنان؟", id="arabic"),
        pytest.param("Πότε είναι το επόμενο ραντεβού μου με τον οδοντίατρο;", id="greek"),
        pytest.param("मेरी अगली मीटिंग कब है?", id="hindi"),
        pytest.param("다음 치과 예약이 언제야?", id="korean"),
        pytest.param("นัดหมอฟันครั้งต่อไปเมื่อไหร่", id="thai"),
        pytest.param("מתי התור הבא שלי לרופא השיניים?", id="hebrew"),
    ],
)
def test_bundled_model_reads_no_other_script(embedder: OnnxEmbedder, text: str) -> None:
    assert readability(embedder, text) == 0


def test_share_of_a_mixed_text_counts_letters(embedder: OnnxEmbedder) -> None:
    assert readability(embedder, "买 iPhone 15") == pytest.approx(6 / 7)
    assert readability(embedder, "ｉＰｈｏｎｅ 买") == pytest.approx(6 / 7)  # fullwidth letters


def test_cache_tells_what_its_embedder_reads(embedder: OnnxEmbedder) -> None:
    assert readability(CachedEmbedder(embedder), "встреча") == 0


def test_embedder_that_does_not_tell_reads_everything() -> None:
    class Server:
        name = "server"

        def embed(self, texts: object) -> None:
            raise AssertionError(f"readability needs no vectors, but {texts!r} was embedded")

    assert readability(Server(), "встреча") == 1  # pyright: ignore[reportArgumentType]  # no vectors are needed


def test_sentence_transformers_vocabulary_is_read(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(tiny_bert.make(tmp_path_factory.mktemp("tiny")))
    tiny = SentenceTransformersEmbedder(folder, device="cpu")
    assert tiny.scripts is not None
    assert readability(tiny, "dentist appointment") == 1
    assert readability(tiny, "встреча") == 0


def test_multilingual_vocabulary() -> None:
    latin = [first + second for first in "abcdefghij" for second in "abcdefghijk"]
    cyrillic = ["▁" + first + second for first in "абвгдежзик" for second in "абвгдежзикл"]
    scripts = readable_scripts([*latin, *cyrillic, *"αβγδ", "αν"])
    assert scripts == {"LATIN", "CYRILLIC"}
    assert script_share("встреча with Ανν", frozenset({"LATIN", "CYRILLIC"})) == pytest.approx(11 / 14)


def test_many_single_han_characters_are_enough() -> None:
    assert readable_scripts([chr(0x4E00 + number) for number in range(8_000)]) == {"CJK"}
    assert readable_scripts([*map(str, range(20_000)), *(chr(0x4E00 + n) for n in range(488))]) == frozenset()


def test_byte_level_vocabulary_does_not_tell() -> None:
    assert readable_scripts(["Ġthe", "æĪ", "ij"]) is None

"""Tokenization of many scripts, and of identifiers."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextune.search import identifier_words, tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [], id="empty"),
        pytest.param(" \n—…!?_", [], id="no words"),
        pytest.param("Dinner at 7pm, table_4", ["dinner", "at", "7pm", "table", "4"], id="english"),
        pytest.param("Straße STRASSE", ["strasse", "strasse"], id="german sharp s"),
        pytest.param("ΟΔΟΣ οδός", ["οδοσ", "οδόσ"], id="greek final sigma folds, accents stay"),
        pytest.param("año ano", ["año", "ano"], id="accents stay"),
        pytest.param("İstanbul istanbul IŞIK ışık", ["istanbul", "istanbul", "işik", "işik"], id="turkish i"),
        pytest.param("मुझे कल की मीटिंग", ["मुझे", "कल", "की", "मीटिंग"], id="hindi"),
        pytest.param("বাংলা ভাষা", ["বাংলা", "ভাষা"], id="bengali"),
        pytest.param("متى موعد الطبيب؟", ["متى", "موعد", "الطبيب"], id="arabic"),
        pytest.param("می\u200cخواهم میخواهم", ["میخواهم", "میخواهم"], id="persian zero-width non-joiner"),
        pytest.param("مـــوعد", ["موعد"], id="arabic, stretched"),
        pytest.param("שלום, עולם", ["שלום", "עולם"], id="hebrew"),
        pytest.param("Đường Hà Nội", ["đường", "hà", "nội"], id="vietnamese"),
        pytest.param("встреча В Москве", ["встреча", "в", "москве"], id="russian"),
        pytest.param("北京天气", ["北", "北京", "京", "京天", "天", "天气", "气"], id="chinese"),
        pytest.param("山 。", ["山"], id="one character"),
        pytest.param("東京タワーへ", ["東", "東京", "京", "京タ", "タワ", "ワー", "ーへ"], id="japanese"),
        pytest.param("ﾀﾜｰ", ["タワ", "ワー"], id="halfwidth katakana"),
        pytest.param("ฉันกินข้าว", ["ฉัน", "นกิ", "กิน", "นข้", "ข้า", "าว"], id="thai"),
        pytest.param("ກິນເຂົ້າ", ["ກິນ", "ນເ", "ເຂົ້", "ຂົ້າ"], id="lao"),
        pytest.param("ខ្មែរ", ["ខ្មែ", "មែរ"], id="khmer"),
        pytest.param("မြန်မာ", ["မြန်", "န်မာ"], id="myanmar"),
        pytest.param("서울에서 나", ["서울", "울에", "에서", "나"], id="korean"),
        pytest.param("iPhone手机15个", ["iphone", "手", "手机", "机", "15", "个"], id="scripts side by side"),
        pytest.param("party 🎉👨‍👩‍👧 ❤️ 1️⃣ 👍🏽", ["party", "1"], id="emoji"),
        pytest.param("Anna's Anna’s ANNA'S James'", ["anna", "anna", "anna", "james"], id="possessive"),
        pytest.param("don't o'clock l’eau", ["don", "t", "o", "clock", "l", "eau"], id="other apostrophes"),
        pytest.param("'s it'sy", ["s", "it", "sy"], id="no possessive"),
        pytest.param("ﬁle x² Ｗｉｄｅ", ["file", "x2", "wide"], id="compatibility forms"),
        pytest.param("co\u00adoperate cafe\u00ad\u0301", ["cooperate", "café"], id="soft hyphen"),
        pytest.param("กิน\u200bข้าว", ["กิน", "ข้า", "าว"], id="zero-width space"),
        pytest.param("anna\u00b4x \u0301", ["anna", "x"], id="marks on nothing"),
    ],
)
def test_tokenize(text: str, expected: list[str]) -> None:
    assert tokenize(text) == [unicodedata.normalize("NFKC", word) for word in expected]


def test_words_of_a_chinese_phrase_stay_together_inside_a_sentence() -> None:
    phrase, sentence = tokenize("北京天气"), tokenize("明天北京天气怎么样")
    starts = range(len(sentence) - len(phrase) + 1)
    assert any(sentence[start : start + len(phrase)] == phrase for start in starts)


def test_composed_and_decomposed_text_gives_the_same_words() -> None:
    text = "Đường Hà Nội, Café Müller, Āpple, が"
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(unicodedata.normalize("NFC", text))


@given(st.text())
def test_word_starts_with_a_letter_or_digit_and_is_normalized(text: str) -> None:
    for word in tokenize(text):
        assert word
        assert word[0].isalnum()
        assert not any(character.isspace() or character == "_" for character in word)
        assert unicodedata.is_normalized("NFC", word)


@given(st.text(st.characters(max_codepoint=0x2FF)))
def test_tokenize_is_idempotent(text: str) -> None:
    once = tokenize(text)
    assert tokenize(" ".join(once)) == once


@given(st.text(), st.text())
def test_space_separates_words(left: str, right: str) -> None:
    assert tokenize(f"{left} . {right}") == tokenize(left) + tokenize(right)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("", []),
        ("get_current_weather", ["get", "current", "weather"]),
        ("getHTTPResponse_v2", ["get", "http", "response", "v", "2"]),
        ("calendar.events/list-all", ["calendar", "events", "list", "all"]),
        ("SendSMS", ["send", "sms"]),
        ("OAuth2Token", ["o", "auth", "2", "token"]),
        ("base64Encode", ["base", "64", "encode"]),
        ("__init__", ["init"]),
        ("ÉcoleNationale", ["école", "nationale"]),
        ("天气getWeather", ["天", "天气", "气", "get", "weather"]),
    ],
)
def test_identifier_words(name: str, expected: list[str]) -> None:
    assert identifier_words(name) == expected


@given(st.text(st.characters(codec="ascii"), max_size=20))
def test_plain_ascii_identifiers_have_the_words_of_any_others(name: str) -> None:
    assert identifier_words(name) == identifier_words(f"{name} é")[:-1]

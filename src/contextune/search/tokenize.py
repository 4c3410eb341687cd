"""Tokenizer: text to words, the same for every language, for documents and queries.

Spellings of the same word become equal, and different words stay different:

- Case and compatibility forms are folded (NFKC, full case folding): "Straße" = "STRASSE", "ﬁle" = "file".
  Case folding ignores the language, and Turkish pairs I with ı and İ with i; so all four become "i".
- Accents and vowel signs are kept: they distinguish words ("año"/"ano", Vietnamese tones), and in Indic
  scripts they are the vowels.
- A possessive ending ("Anna's") is dropped, because queries say "Anna". Any other apostrophe splits.
- Scripts written without spaces become character bigrams, which need no dictionary. Hangul has spaces but
  attaches particles to nouns ("서울에서", "in Seoul"), so it becomes bigrams as well.
- A Han character has a meaning of its own and is a word too, between the bigrams it is part of: "看书" (read
  a book) and "书店" (bookshop) share "书".
- Emoji and other symbols are dropped.
"""

import re
import unicodedata
from itertools import pairwise

_HAN_CHARACTERS = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_BIGRAM_SCRIPTS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    f"{_HAN_CHARACTERS}"
    "\u3040-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # Hiragana, Katakana
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
)
_RUNS = re.compile(f"[{_BIGRAM_SCRIPTS}]+|[^{_BIGRAM_SCRIPTS}]+")
_BIGRAMS = re.compile(f"[{_BIGRAM_SCRIPTS}]")
_HAN = re.compile(f"[{_HAN_CHARACTERS}]")
_LETTER = re.compile(r"[^\W_]")
_POSSESSIVE = re.compile(r"(?<=[^\W_])['’]s(?![^\W_])")
_ZERO_WIDTH_SPACE = "\u200b"
_TATWEEL = "\u0640"


class _CharacterClasses(dict[int, str]):
    r"""Lazy table for `str.translate`: letters, marks and digits stay, everything else becomes a space.

    Python's `\w` excludes combining marks and would split a Hindi word at every vowel.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = unicodedata.category(character)
        if character == "ı":
            kept = "i"
        elif (
            character == _TATWEEL
            or kind == "Me"
            or unicodedata.name(character, "").startswith("VARIATION SELECTOR")
        ):
            kept = ""  # they change how a text looks, as a keycap emoji or a stretched Arabic word
        elif kind == "Cf":
            # joiners and soft hyphens occur inside words; the zero-width space ends words in Thai and Khmer
            kept = " " if character == _ZERO_WIDTH_SPACE else ""
        else:
            kept = character if kind[0] in "LMN" else " "
        self[code] = kept
        return kept


_CHARACTERS = _CharacterClasses()
_ASCII_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
"""A word of an identifier in plain ASCII: the same as `identifier_words` finds letter by letter."""
_ASCII_BOUNDARY = re.compile(
    "(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
)
"""Where a word of an identifier in plain ASCII begins inside a run of letters and digits."""


def alnum_key(text: str) -> str:
    """Case-folded letters and digits only, so that "e-mail" equals "E mail"."""
    return "".join(filter(str.isalnum, text.casefold()))


def tokenize(text: str) -> list[str]:
    """The normalized words of `text`, in order; see the module docstring for the rules."""
    if text.isascii():  # none of the rules for other scripts applies
        lower = text.lower()
        return (_POSSESSIVE.sub("", lower) if "'s" in lower else lower).translate(_CHARACTERS).split()
    folded = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")  # what "İ" folds to
    normalized = _POSSESSIVE.sub("", folded).translate(_CHARACTERS)
    # again: folding and dropping characters can each join a letter and an accent
    normalized = unicodedata.normalize("NFKC", normalized)
    words: list[str] = []
    for chunk in normalized.split():
        if chunk.isascii():
            words.append(chunk)
            continue
        for run in _RUNS.findall(chunk):
            if not (start := _LETTER.search(run)):
                continue  # only combining marks
            word = run[start.start() :]
            words.extend(_bigrams(word) if _BIGRAMS.match(word) else [word])
    return words


def identifier_words(name: str) -> list[str]:
    """The words of an identifier: "getHTTPResponse_v2" → get, http, response, v, 2.

    Splits at punctuation, at camelCase humps and between letters and digits. An acronym ends before the
    capital that starts the next word.
    """
    if name.isascii():
        if "'" in name:  # "Anna's" is one word
            return tokenize(_ASCII_BOUNDARY.sub(" ", name))
        return [word.lower() for word in _ASCII_WORD.findall(name)]
    name = unicodedata.normalize("NFKC", name)
    parts: list[str] = []
    for before, here, after in zip(" " + name, name, name[1:] + " ", strict=False):
        hump = here.isupper() and (before.islower() or (before.isupper() and after.islower()))
        number = before.isalnum() and here.isalnum() and before.isdigit() != here.isdigit()
        parts.append(" " + here if hump or number else here)
    return tokenize("".join(parts))


def _bigrams(run: str) -> list[str]:
    """Character bigrams of `run`, and its Han characters; a mark belongs to the character before it."""
    letters: list[str] = []
    for character in run:
        if letters and unicodedata.category(character).startswith("M"):
            letters[-1] += character
        else:
            letters.append(character)
    if len(letters) == 1:
        return letters
    # in the order of the text, so that the words of a phrase stay a part of the words around it
    words: list[str] = []
    for first, second in pairwise([*letters, ""]):
        if _HAN.match(first):
            words.append(first)
        if second:
            words.append(first + second)
    return words

"""Text → words, the same way for every language and for both sides of a search.

Two spellings of a word should be one word, and nothing else should be:

- Case and compatibility forms are folded (NFKC, full case folding): "Straße" = "STRASSE", "ﬁle" = "file".
  Case folding knows no language, and Turkish pairs I with ı and İ with i; so all four become "i".
- Accents and vowel signs are kept: they tell words apart ("año"/"ano", Vietnamese tones), and in Indic
  scripts they are the vowels.
- A possessive ending ("Anna's") is dropped, because people ask for "Anna". Any other apostrophe splits.
- Scripts written without spaces give character bigrams: good words without a dictionary. Hangul is
  spaced but glues particles to its nouns ("서울에서", "in Seoul"), so it gives bigrams as well.
  The price: a single character finds only itself standing alone.
- Emoji and other symbols are no words.
"""

import re
import unicodedata
from itertools import pairwise

_BIGRAM_SCRIPTS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Han
    "\u3040-\u30ff\u31f0-\u31ff\U0001aff0-\U0001b16f"  # Hiragana, Katakana
    "\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff"  # Hangul
)
_RUNS = re.compile(f"[{_BIGRAM_SCRIPTS}]+|[^{_BIGRAM_SCRIPTS}]+")
_BIGRAMS = re.compile(f"[{_BIGRAM_SCRIPTS}]")
_LETTER = re.compile(r"[^\W_]")
_POSSESSIVE = re.compile(r"(?<=[^\W_])['’]s(?![^\W_])")
_ZERO_WIDTH_SPACE = "\u200b"


class _CharacterClasses(dict[int, str]):
    r"""A table for `str.translate`, filled as characters turn up: spelling stays, the rest parts words.

    Python's `\w` leaves out combining marks and would cut a Hindi word at every vowel.
    """

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = unicodedata.category(character)
        if character == "ı":
            kept = "i"
        elif unicodedata.name(character, "").startswith("VARIATION SELECTOR") or kind == "Me":
            kept = ""  # they change how a character looks, as in a keycap emoji, not what it says
        elif kind == "Cf":
            # joiners and soft hyphens stand inside a word; this one marks a word's end in Thai and Khmer
            kept = " " if character == _ZERO_WIDTH_SPACE else ""
        else:
            kept = character if kind[0] in "LMN" else " "
        self[code] = kept
        return kept


_CHARACTERS = _CharacterClasses()


def alnum_key(text: str) -> str:
    """Letters and digits alone, folded: names that are spelled apart, or with other marks, become one."""
    return "".join(filter(str.isalnum, text.casefold()))


def tokenize(text: str) -> list[str]:
    """The words of `text` in their order, folded; see the module for what counts as one word."""
    folded = unicodedata.normalize("NFKC", text).casefold().replace("i\u0307", "i")  # what "İ" folds to
    spelled = _POSSESSIVE.sub("", folded).translate(_CHARACTERS)
    # once more, because folding and leaving out can each bring a letter and an accent together
    spelled = unicodedata.normalize("NFKC", spelled)
    found: list[str] = []
    for chunk in spelled.split():
        if chunk.isascii():
            found.append(chunk)
            continue
        for run in _RUNS.findall(chunk):
            if not (start := _LETTER.search(run)):
                continue  # marks that stood on a symbol, or on nothing
            word = run[start.start() :]
            found.extend(_bigrams(word) if _BIGRAMS.match(word) else [word])
    return found


def identifier_words(name: str) -> list[str]:
    """The words of a name that a program gave: "getHTTPResponse_v2" → get, http, response, v, 2.

    Words part at punctuation, at camelCase humps and between letters and digits; an
    abbreviation stays whole up to the capital that opens the next word.
    """
    name = unicodedata.normalize("NFKC", name)
    parts: list[str] = []
    for before, here, after in zip(" " + name, name, name[1:] + " ", strict=False):
        hump = here.isupper() and (before.islower() or (before.isupper() and after.islower()))
        number = before.isalnum() and here.isalnum() and before.isdigit() != here.isdigit()
        parts.append(" " + here if hump or number else here)
    return tokenize("".join(parts))


def _bigrams(run: str) -> list[str]:
    """Each two neighbours of `run`; a mark goes with the character it stands on and begins no bigram."""
    letters: list[str] = []
    for character in run:
        if letters and unicodedata.category(character).startswith("M"):
            letters[-1] += character
        else:
            letters.append(character)
    return [first + second for first, second in pairwise(letters)] or letters

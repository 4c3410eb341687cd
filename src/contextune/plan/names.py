"""Contacts named in a request: by full name, first name, nickname, with a title, without accents.

`count_name_matches` of `ContactLookup` counts words; here each match has a position, so that "Forward Anna's
mail to Bruno" tells the sender from the recipient, and a quality, so that "Bruno Rossi" beats another Bruno.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from contextune.search import tokenize
from contextune.search.glosses import gloss
from contextune.types import Contact

_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"(?:['’]s|['’](?=\s))(?![^\W_])")
_HONORIFICS = {
    form: forms.split()[0]
    for forms in (
        "dr dra drs dres doctor doctora doutor doutora dott dottor dottore dottoressa docteur doktor",
        "prof profa profe profesor profesora professor professora professore professoressa professeur",
        "mr mister sr senor senhor signor herr monsieur don sir",
        "mrs ms miss mx sra srta senora senorita senhora frau fraulein madame mme mlle madam dona signora",
    )
    for form in forms.split()
}
"""Forms of address, each with the first of those that mean the same: "Dr" is also "Dra." and "Doctora"."""
_TITLES = frozenset(_HONORIFICS) | frozenset(
    tokenize("""
    padre father brother sister pastor rabbi imam judge master teacher coach captain officer aunt aunty
    auntie uncle tante onkel opa oma mama papa nana tio tia kak mwalimu whaea um abu ong ba chu co anh chi bac
    hoca abla abi hanim bey teyze amca apa bhai didi ji sensei san kyra kyr pani pan the of de da do del la le
    el al van von der den di y und and
    """)
)
"""Words of names that many people share: they confirm a match but do not make one."""
_AFFILIATION = re.compile(r"\s+(?:from|at|of|with)\s+(?:(?:the|my|our)\s+)?(?P<word>[^\W_]+)", re.IGNORECASE)
"""What follows a name and tells which of several namesakes is meant: "Anna from Nordlicht"."""
_MIN_NICKNAME, _MAX_NICKNAMES = 3, 32
"""Least letters of a word that may be a nickname, and most such words of a request."""
_MIN_LETTERS = 3
"""Shorter words of a name count only where the request capitalises them: "me" is not Mẹ."""


@dataclass(frozen=True, slots=True)
class NameMatch:
    """How, and where, a request names a contact."""

    words: float = 0.0
    """Number of words of the name; a nickname or a word in lower case counts half."""
    share: float = 0.0
    """Share of the words of the name."""
    first: bool = False
    """Whether the first word of the name, titles aside, is among them."""
    start: int = -1
    end: int = -1
    """The range of characters of the first match."""
    possessive: bool = False
    """Whether 's follows: "Anna's mail"."""

    @property
    def full(self) -> bool:
        """Whether the whole name of at least two words is in the request."""
        return self.share == 1.0 and self.words > 1

    def overlaps(self, other: "NameMatch") -> bool:
        """Whether both are said by the same words."""
        return self.start < other.end and other.start < self.end


NO_MATCH = NameMatch()


@lru_cache(maxsize=65536)
def fold_accents(text: str) -> str:
    """Lower case without accents: a request seldom repeats them all."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    return plain.replace("ı", "i").replace("ł", "l").replace("đ", "d").replace("ø", "o")


@lru_cache(maxsize=8192)
def name_words(name: str) -> tuple[str, ...]:
    """The folded words of a name; what follows a comma describes the person: "Tuula, service manager"."""
    words = tuple(map(fold_accents, _WORD.findall(name.partition(",")[0])))
    return words or tuple(map(fold_accents, _WORD.findall(name)))


def match_names(text: str, contacts: Sequence[Contact]) -> list[NameMatch]:
    """For each contact, how the text names it."""
    words = [(fold_accents(match.group()), match.start(), match.end()) for match in _WORD.finditer(text)]
    has_capitals = any(text[start].isupper() for _, start, _ in words[1:])
    places: dict[str, list[int]] = {}
    for number, (word, _, _) in enumerate(words):
        places.setdefault(word, []).append(number)
    known = {word for contact in contacts for name in all_names(contact) for word in name_words(name)}
    nicknames = [
        number
        for number, (word, start, _) in enumerate(words)
        if number and word not in known and len(word) >= _MIN_NICKNAME and text[start].isupper()
    ][:_MAX_NICKNAMES]
    matches = [
        max(
            (_match(name, text, words, places, nicknames, has_capitals) for name in all_names(contact)),
            key=lambda match: match.words,
        )
        for contact in contacts
    ]
    return [
        _affiliated(match, contact, text) if match.words else match
        for match, contact in zip(matches, contacts, strict=True)
    ]


def all_names(contact: Contact) -> list[str]:
    """The name of a contact, also with its title, and the nicknames that the address book has: "Amma"."""
    nicknames, prefix = contact.more.get("nickname"), contact.more.get("prefix")
    stored = nicknames.split(",") if isinstance(nicknames, str) else ()
    titled = [f"{prefix} {contact.name}"] if isinstance(prefix, str) and prefix not in contact.name else []
    return [contact.name, *titled, *(name for part in stored if _WORD.search(name := part.strip()))]


def _affiliated(match: NameMatch, contact: Contact, text: str) -> NameMatch:
    """The match with the company or the role that follows it, if it is the contact's."""
    following = _AFFILIATION.match(text, match.end)
    if following is None:
        return match
    organization = str(contact.more.get("organization") or "")
    described = " ".join(filter(None, (contact.relation, organization, gloss(organization))))
    domain = (contact.email or "").partition("@")[2].partition(".")[0]
    if fold_accents(following["word"]) not in map(fold_accents, _WORD.findall(f"{described} {domain}")):
        return match
    return replace(match, words=match.words + 1, end=following.end("word"), possessive=False)


def _match(
    full_name: str,
    text: str,
    words: Sequence[tuple[str, int, int]],
    places: dict[str, list[int]],
    nicknames: Sequence[int],
    has_capitals: bool,
) -> NameMatch:
    name = name_words(full_name)
    hits: dict[int, int] = {}  # position in the name → position in the request
    for position, word in enumerate(name):
        for place in places.get(word, ()):
            # words of one name stand together: "Goh Kian Ann", not "Ann ... Goh"
            if position - 1 in hits and place != hits[position - 1] + 1:
                continue
            hits[position] = place
            break
    telling = [
        position
        for position, place in hits.items()
        if (name[position] not in _TITLES or len(hits) == len(name))
        and (len(name[position]) >= _MIN_LETTERS or _is_capital(text, words[place][1]))
    ]
    if not telling:
        return _nickname(name, text, words, nicknames)
    weight = sum(
        1.0 if not has_capitals or not _is_lower(text, words[place][1]) else 0.5 for place in hits.values()
    )
    own_words = [position for position, word in enumerate(name) if word not in _TITLES] or [0]
    first, end = min(hits.values()), words[max(hits.values())][2]
    if (title := _title_before(first, text, words)) is not None:
        first -= 1
        weight += any(_HONORIFICS.get(word) == title for word in name)
    start = words[first][1]
    named = [position for position, word in enumerate(name) if word not in _HONORIFICS or position in hits]
    return NameMatch(
        weight,
        len(hits) / len(named),
        own_words[0] in hits,
        start,
        end,
        bool(_POSSESSIVE.match(text, end)),
    )


def _title_before(place: int, text: str, words: Sequence[tuple[str, int, int]]) -> str | None:
    """The form of address right before a word of the request: "Dr. Araya"."""
    if not place:
        return None
    title, start, end = words[place - 1]
    gap = text[end : words[place][1]]
    is_verb = title == "miss" and text[start].islower()
    return _HONORIFICS.get(title) if gap in (" ", ". ", ".") and not is_verb else None


def is_honorific(word: str) -> bool:
    """Whether a word is a form of address: "Dr", "Sra"."""
    return fold_accents(word) in _HONORIFICS


def _nickname(
    name: Sequence[str], text: str, words: Sequence[tuple[str, int, int]], nicknames: Sequence[int]
) -> NameMatch:
    """A match by the beginning of a word of the name: "Zach" is Zachary."""
    for number in nicknames:
        word, start, end = words[number]
        for position, full in enumerate(name):
            if len(full) > len(word) and full.startswith(word) and full not in _TITLES:
                possessive = bool(_POSSESSIVE.match(text, end))
                return NameMatch(0.5, 0.5 / len(name), position == 0, start, end, possessive)
    return NO_MATCH


def _is_capital(text: str, place: int) -> bool:
    return text[place].isupper() and place > 0


def _is_lower(text: str, place: int) -> bool:
    return text[place].islower()

"""The words of an item, and how well a word of a question matches them: "fly" is said of a flight."""

import re
from collections.abc import Iterable, Mapping

from contextune.plan.names import all_names
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.search.glosses import gloss
from contextune.search.tokenize import tokenize
from contextune.types import Item

_SYNONYMS = tuple(
    frozenset(group.split())
    for group in (
        "fly flying flight flights plane",
        "train rail railway express",
        "match game",
        "bill invoice",
        "film movie cinema",
        "parcel package delivery",
        "exam test",
        "holiday vacation",
        "trip journey travel",
        "class lesson course",
        "gig concert",
        "haircut hairdresser barber",
        "checkup check-up examination",
        "bday birthday",
        "flat apartment",
        "passcode password pin",
    )
)
"""Words of everyday questions and of the items that answer them."""
_FLIGHT = "flight"
_FLIGHT_NUMBER = re.compile(r"(?<![\w-])(?:[A-Z]{2}|[A-Z]\d|\d[A-Z])[ -]?\d{2,4}(?![\w-])")
_ROUTE = re.compile(r"(?<![^\W\d_])[^\W\d_]{3,}(?: \([A-Z]{3}\))?(?: ?[-–→>] ?| to )[^\W\d_]{3,}")
_FLYING = frozenset(
    tokenize("boarding baggage luggage airline airlines airways terminal gate departs departure pnr")
)
_TITLE_WEIGHT = 0.9
"""How much a synonym or an inflection in the title counts, compared with the word itself."""
_TEXT_WEIGHT = 0.7
"""How much a word in the text of an item counts, compared with one in its title."""
_TEXT_SYNONYM = 0.6
IN_TITLE = _TITLE_WEIGHT
"""Least weight of a word of the title."""
_PREFIX = 5
"""Words with so many first letters in common are forms of one word: "allergic", "allergies"."""
_ABBREVIATION = 4
_ENDING = 4
_MIN_INFLECTED = 3


class ItemWords:
    """The words of an item, with an English gloss of its title, and the names of its people."""

    def __init__(self, item: Item, inputs: PlanningInput) -> None:
        self._title = frozenset(folded_words(f"{item.title} {gloss(item.title)}"))
        self._text = frozenset(folded_words(f"{item.text} {_people_names(item, inputs)}"))
        self.has_number = any(character.isdigit() for character in item.text)
        if _FLIGHT_NUMBER.search(item.text) and (_ROUTE.search(item.title) or self._text & _FLYING):
            self._title |= {_FLIGHT}

    def share(self, weights: Mapping[str, float]) -> float:
        """The share of weighted words that the item has."""
        return sum(self.weight(word) * weight for word, weight in weights.items()) / sum(weights.values())

    def weight(self, word: str) -> float:
        """1 for a word of the title, less for one of the text, another form or a synonym, 0 for no match."""
        if word in self._title:
            return 1.0
        synonyms = frozenset[str]().union(*(group for group in _SYNONYMS if word in group))
        if synonyms & self._title or any(is_inflection(word, other) for other in self._title):
            return _TITLE_WEIGHT
        if word in self._text or any(_is_form(word, other) for other in self._title):
            return _TEXT_WEIGHT
        return _TEXT_SYNONYM if synonyms & self._text else 0.0


def shares_form(words: Iterable[str], text: str) -> bool:
    """Whether a text has one of the folded words, or an inflection of it."""
    others = folded_words(text)
    return any(word == other or is_inflection(word, other) for word in words for other in others)


def _people_names(item: Item, inputs: PlanningInput) -> str:
    """The names and nicknames of the contacts of an item: a mail of Luis is one of Lucho."""
    numbers = (inputs.people.index(person) for person in item.people)
    contacts = [inputs.user.contacts[number] for number in numbers if number is not None]
    return " ".join(name for contact in contacts for name in all_names(contact))


def is_inflection(word: str, other: str) -> bool:
    """Whether two folded words are inflections of one: "pack" and "packing", "grocery" and "groceries"."""
    short, long = sorted((word, other), key=len)
    if len(short) < _MIN_INFLECTED:
        return False
    stem = short.removesuffix("e")
    return long in {f"{stem}ing", f"{stem}ed", f"{stem}{stem[-1]}ing", f"{stem}{stem[-1]}ed"} or (
        short.endswith("y") and long == f"{short[:-1]}ie"
    )


def _is_form(word: str, other: str) -> bool:
    """Whether two words are forms of one: a common beginning, or the short form of the other."""
    if len(word) >= _ABBREVIATION and other.startswith(word):
        return True
    return (
        word[:_PREFIX] == other[:_PREFIX] and len(word) >= _PREFIX and abs(len(word) - len(other)) <= _ENDING
    )

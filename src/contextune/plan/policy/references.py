"""Whether a request refers to an item or a person: by their words, by their kind, or by what was said before.

Only the words of the request count that do not name the tool: in "pay the invoice", said of `pay_invoice`,
nothing refers to the mail "Invoice 4711".
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any, Literal

from contextune._internal.assets import asset
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.multi_step.anaphora import find_anaphora
from contextune.plan.names import NameMatch, match_names
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import tool_parameters
from contextune.plan.words import folded_vocabulary, folded_words, is_one_edit
from contextune.search.glosses import gloss
from contextune.search.tokenize import identifier_words, tokenize
from contextune.tools.profiles.effects import function_words
from contextune.types import Contact, Item, Tool
from contextune.types.app_schema import known_app

Reference = Literal["named", "kind"]
"""How a request refers to something: by its own words, or only as the kind of thing that the tool is for."""
_MIN_PREFIX = 5
"""Letters of a word that may stand for a longer one: "Kiefholz" for "Kiefholzstraße"."""
_MIN_WORD = 3
_MANY = 2
"""Words of a title that name it, whatever the tool is for."""
_MAX_TEXT, _MAX_TITLE, _MAX_PEOPLE = 2_000, 400, 100
"""Characters of a request and of a title, and people of an item, that are compared word by word."""
_TURNS = 4
"""Turns of the conversation that "it" may refer to."""


@dataclass(frozen=True, eq=False)
class References:
    """What a request refers to, when a tool is called for it."""

    inputs: PlanningInput
    tool: Tool

    def to_item(self, item: Item) -> Reference | None:
        """How the request refers to an item."""
        matched = self._matched(item)
        is_own_kind = self.is_of_kind(item)
        if matched and (is_own_kind or self._names_kind(item) or len(matched) >= _MANY):
            return "named"
        if any(word.isdigit() for word in matched) or (matched and self._title_words(item) <= matched):
            return "named"
        if matched & _person_words(item):
            return "named"
        if self._names_kind(item) and not self.telling:
            return "named"  # "that mail", "the last note"
        is_existing = not _words("existing").isdisjoint(identifier_words(self.tool.name))
        return "kind" if is_own_kind and is_existing else None

    def to_sender(self, item: Item) -> bool:
        """Whether the request refers to the people of an item, whose tool is for such items."""
        if not self.is_of_kind(item):
            return False
        if self._matched(item) & _person_words(item):
            return True
        return self.to_item(item) == "named" and (self._names_kind(item) or self._points_at_people)

    def to_contact(self, contact: Contact, items: Iterable[Item] = ()) -> Reference | None:
        """How the request refers to a contact; `items` are those in which the contact is."""
        if self._is_named(contact) or self._is_related(contact):
            return "named"
        if self.refers_back and self._history_names(contact):
            return "named"
        if not self._reaches_people:
            return None
        addresses = {value.casefold() for value in (contact.name, contact.email, contact.phone) if value}
        for item in items:
            has_contact = not addresses.isdisjoint(person.casefold() for person in item.people)
            if has_contact and self.to_item(item) == "named":
                return "named"
        return "kind" if self._points_at_people else None

    def is_of_kind(self, item: Item) -> bool:
        """Whether the tool, by its name and its server, is for such items."""
        nouns = _nouns(item)
        return any(_has_noun(word, nouns) for word in identifier_words(f"{self.tool.app} {self.tool.name}"))

    def nouns_of(self, item: Item) -> frozenset[str]:
        """What items of this kind are called, in the singular."""
        return _nouns(item)

    @cached_property
    def refers_back(self) -> bool:
        """Whether the request refers to what was said before."""
        if not self.inputs.request.history:
            return False
        return (
            not _words("back").isdisjoint(self.inputs.tokens) or find_anaphora(self.inputs.request.text).any
        )

    @cached_property
    def telling(self) -> frozenset[str]:
        """The words of the request that say what is meant, and not what is done."""
        when = [word for phrase in self.inputs.time_phrases for word in folded_words(phrase.text)]
        return self._telling(self.inputs.request.text).difference(when)

    @cached_property
    def said(self) -> frozenset[str]:
        """All words of the request."""
        return folded_vocabulary(self.inputs.request.text)

    @cached_property
    def mentions_self(self) -> bool:
        """Whether the request speaks of the user."""
        return not _words("self").isdisjoint(self.inputs.tokens)

    @cached_property
    def is_here(self) -> bool:
        """Whether the request speaks of where the user is."""
        return not _words("here").isdisjoint(self.inputs.tokens)

    @cached_property
    def _known(self) -> frozenset[str]:
        """The telling words, and those of the conversation if the request refers back to it."""
        if not self.refers_back:
            return self.telling
        turns = self.inputs.request.history[-_TURNS:]
        return self.telling.union(*(self._telling(turn.text) for turn in turns))

    def _telling(self, text: str) -> frozenset[str]:
        text = text[:_MAX_TEXT]
        words = (*folded_words(text), *folded_words(gloss(text)))
        return frozenset(
            word
            for word in words
            if len(word) >= _MIN_WORD and not _is_empty(word) and word not in self._tool_words
        )

    @cached_property
    def _tool_words(self) -> frozenset[str]:
        names = [self.tool.name, self.tool.title, *(p.name for p in tool_parameters(self.tool))]
        words = (word for name in names for word in identifier_words(name))
        return frozenset(form for word in words for form in (word, *folded_words(word)))

    def _matched(self, item: Item) -> frozenset[str]:
        """The known words that the title or the people of an item have."""
        own = self._title_words(item) | _person_words(item)
        return frozenset(
            near for word in self._known for near in own if word == near or _stands_for(word, near)
        )

    def _title_words(self, item: Item) -> frozenset[str]:
        title = item.title[:_MAX_TITLE]
        words = folded_vocabulary(f"{title} {gloss(title)}")
        return frozenset(
            word
            for word in words
            if len(word) >= _MIN_WORD and not _is_empty(word) and word not in self._tool_words
        )

    def _names_kind(self, item: Item) -> bool:
        """Whether the request says what kind of item it is, beside the words of the tool."""
        nouns = _nouns(item)
        words = self.inputs.tokens + tokenize(gloss(self.inputs.request.text))
        return any(_has_noun(word, nouns) for word in words if word not in self._tool_words)

    @cached_property
    def _points_at_people(self) -> bool:
        return not _words("people").isdisjoint(self.inputs.tokens)

    @cached_property
    def _reaches_people(self) -> bool:
        names = [self.tool.app, self.tool.name, *(p.name for p in tool_parameters(self.tool) if p.required)]
        nouns = _words("reaching")
        return any(_has_noun(word, nouns) for name in names for word in identifier_words(name))

    def _is_named(self, contact: Contact) -> bool:
        text = self.inputs.request.text
        match = next(
            (m for c, m in zip(self.inputs.user.contacts, self.inputs.names, strict=True) if c == contact),
            None,
        )
        if match is None or not match.words:
            # "Birtes number", where no apostrophe tells the possessive
            return any(
                len(word) >= _MIN_PREFIX and word in self.telling for word in folded_words(contact.name)
            )
        words = folded_words(text[match.start : match.end])
        is_capital = match.start > 0 and text[match.start].isupper()
        return is_capital or any(word not in self._tool_words and not _is_empty(word) for word in words)

    def _is_related(self, contact: Contact) -> bool:
        if not self._reaches_people and _words("own").isdisjoint(self.inputs.tokens):
            return False
        people = self.inputs.people
        words = [word for word in self.inputs.tokens if word not in self._tool_words]
        place = people.index(contact.name)
        return place is not None and people.count_relation_matches(words)[place] > 0

    def _history_names(self, contact: Contact) -> bool:
        turns = self.inputs.request.history[-_TURNS:]
        matches: list[NameMatch] = [match_names(turn.text, [contact])[0] for turn in turns]
        return any(match.words for match in matches)


def _stands_for(word: str, near: str) -> bool:
    """Whether a word is the beginning of another, or misspells it."""
    if min(len(word), len(near)) < _MIN_PREFIX or not (word.isalpha() and near.isalpha()):
        return False
    return near.startswith(word) or word.startswith(near) or is_one_edit(word, near)


def _is_empty(word: str) -> bool:
    return word in STOP_WORDS or word in function_words()


def _has_noun(word: str, nouns: frozenset[str]) -> bool:
    """Whether a word is one of the nouns, or has it in it: "gmail", "mailbox", "notes"."""
    return word in nouns or any(len(noun) > _MIN_WORD and noun in word for noun in nouns)


@lru_cache(maxsize=4096)
def _person_words(item: Item) -> frozenset[str]:
    """The words of the names and addresses of an item's people."""
    names = " ".join(f"{person.partition('@')[0]} {_domain(person)}" for person in item.people[:_MAX_PEOPLE])
    return frozenset(word for word in folded_words(names) if len(word) >= _MIN_WORD and not _is_empty(word))


def _domain(person: str) -> str:
    """What a domain says of its owner, without the ending."""
    return person.partition("@")[2].rpartition(".")[0]


@lru_cache(maxsize=256)
def _nouns_of(app: str, noun: str) -> frozenset[str]:
    words = (*identifier_words(app), *tokenize(noun), *_data()["kinds"].get(known_app(app), "").split())
    return frozenset(word.removesuffix("s") for word in words if not _is_empty(word))


def _nouns(item: Item) -> frozenset[str]:
    """What items of this kind are called."""
    return _nouns_of(item.app, item.schema.noun)


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads(asset("reference_words.toml").read_text(encoding="utf-8"))


@lru_cache(maxsize=32)
def _words(name: str) -> frozenset[str]:
    return frozenset(_data()[name].split())

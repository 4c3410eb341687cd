"""Answers from the address book: the number, address or birthday of a contact that a request names."""

from collections.abc import Iterable, Mapping
from typing import cast

from contextune.answers.extracted import AnswerSource, ExtractedAnswer
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.search import tokenize
from contextune.search.request_text import without_question_word
from contextune.search.tokenize import identifier_words
from contextune.types import Contact
from contextune.types.field_values import to_text

_MEANT: Mapping[str, tuple[str, ...]] = {
    "number": ("phone",),
    "numbers": ("phone",),
    "mobile": ("phone",),
    "cell": ("phone",),
    "mail": ("email",),
    "address": ("address", "email"),
}
"""The fields that a word asks for, beside the field that it names."""
_MIN_SHARED = 4
"""Letters of a name that a word may go on after: "Birtes"."""


def contact_answer(inputs: PlanningInput) -> ExtractedAnswer | None:
    """The fields of a contact that a request asks for, if it asks for nothing else."""
    said = frozenset(tokenize(without_question_word(inputs.request.text))) - STOP_WORDS
    for contact, match, related in zip(
        inputs.user.contacts, inputs.names, inputs.relation_matches, strict=True
    ):
        names = frozenset(tokenize(f"{contact.name} {contact.more.get('nickname', '')}"))
        called = frozenset(word for word in said if any(_is_name(word, name) for name in names))
        relation = frozenset(tokenize(contact.relation or "")) if related else frozenset[str]()
        if not (match.words or called or related):
            continue
        rest = said - called - relation - names
        fields = dict(_asked(contact, rest))
        if fields and rest <= frozenset(word for words in fields.values() for word in words):
            text = ", ".join(fields)
            source = AnswerSource(contact.name, "Contacts", "contact", contact.name)
            return ExtractedAnswer(f"{contact.name}: {text}", source)
    return None


def _asked(contact: Contact, said: Iterable[str]) -> Iterable[tuple[str, frozenset[str]]]:
    """The fields that are asked for as text, with the words that ask for them."""
    card = {"phone": contact.phone, "email": contact.email, **contact.more}
    for name, value in card.items():
        words = identifier_words(name)
        stems = {word.removesuffix("s") for word in words}
        asking = frozenset(word for word in said if stems & {word.removesuffix("s"), *_MEANT.get(word, ())})
        if asking and (text := _listed(value)):
            yield f"{' '.join(words)} {text}", asking


def _listed(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(to_text, cast("Iterable[object]", value))))
    return to_text(value)


def _is_name(word: str, name: str) -> bool:
    return word == name or (len(name) >= _MIN_SHARED and word == f"{name}s")

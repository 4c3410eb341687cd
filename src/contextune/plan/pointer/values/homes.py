"""Where people live or work whom a request for directions names: "mum's", "my son's dentist"."""

import re
from collections.abc import Sequence
from typing import cast

from contextune.plan.names import fold_accents
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.destinations import destination_words
from contextune.search import tokenize
from contextune.types import Contact, Source

_HOME = re.compile(
    r"(?P<owner>\S.*?)(?:['’]s?(?: (?:house|home|place|flat|apartment|address))?)",
    re.IGNORECASE,
)

_PROFESSIONAL = re.compile(r"(?:(?P<owner>[^\W\d_][\w ]*)['’]s? )?(?P<role>[^\W\d_]+(?: [^\W\d_]+)?)")
_OWN = re.compile(r"\b(?:my|our) $", re.IGNORECASE)
_WORK_FIELDS = ("title", "note", "organization")


def professional_words(inputs: PlanningInput) -> frozenset[str]:
    """The words for what somebody does for a person: "physio" in "directions to Ines's physio"; else none."""
    match = _professional(inputs)
    return frozenset(folded_words(match["role"])) if match else frozenset()


def said_workplace(inputs: PlanningInput) -> list[Candidate] | None:
    """The place of the only contact with the said occupation; None if none is said or known.

    That is the address on the card, else a stored place with the name of the organisation, else that name.
    """
    match, words = _professional(inputs), professional_words(inputs)
    if match is None:
        return None
    owner = frozenset(folded_words(match["owner"] or ""))
    cards = [(contact, frozenset(folded_words(_work(contact)))) for contact in inputs.user.contacts]
    people = [(contact, text) for contact, text in cards if words <= text]
    if len(people) > 1:
        people = [(contact, text) for contact, text in people if owner and owner <= text]
    if len(people) != 1:
        return None
    contact = people[0][0]
    organization = str(contact.more.get("organization") or "")
    name = fold_accents(organization)
    stored = (str(item.fields.get("location") or "") for item in inputs.items)
    places = [place for place in stored if name and name in fold_accents(place)]
    places = _addresses(contact) or places[:1] or [organization]
    source = Source("contact", contact.name, "organization", match.group())
    return [Candidate(place, "contact", (source,)) for place in dict.fromkeys(places) if place] or None


def _professional(inputs: PlanningInput) -> re.Match[str] | None:
    """The words for a person by what they do, with whom they do it for: no name, and no place."""
    words = destination_words(inputs)
    match = _PROFESSIONAL.fullmatch(words.text) if words else None
    if words is None or match is None or not match["role"].islower():
        return None
    is_own = _OWN.search(inputs.request.text[: words.start]) is not None
    return match if match["owner"] or is_own else None


def _work(contact: Contact) -> str:
    return " ".join(str(contact.more.get(name) or "") for name in _WORK_FIELDS)


def said_home(inputs: PlanningInput) -> list[Candidate] | None:
    """The addresses of the contact whose home is the destination; None if the request says no such place.

    Empty if the address book has no address, or several people are meant. What an item calls the same, such
    as an event at "Gloria's place", comes first.
    """
    words = destination_words(inputs)
    home = _HOME.fullmatch(words.text) if words else None
    if words is None or home is None:
        return None
    end = words.start + home.end("owner")
    people = _named(words.start, end, inputs) or _described(home["owner"], inputs)
    name = fold_accents(words.text.replace("’", "'"))
    if not people or (len(people) == 1 and not _addresses(people[0]) and _is_in_items(name, inputs)):
        return None
    if len(people) > 1:
        return None if _is_in_items(name, inputs) else []
    return [
        Candidate(address, "contact", (Source("contact", people[0].name, "addresses", words.text),))
        for address in _addresses(people[0])
    ]


def _named(start: int, end: int, inputs: PlanningInput) -> list[Contact]:
    pairs = zip(inputs.names, inputs.user.contacts, strict=True)
    return [contact for match, contact in pairs if match.words and (match.start, match.end) == (start, end)]


def _described(owner: str, inputs: PlanningInput) -> list[Contact]:
    """The contacts with a relation of which all words are said: "mother"."""
    words = tokenize(owner)
    counts = inputs.people.count_relation_matches(words)
    pairs = zip(counts, inputs.user.contacts, strict=True)
    return [contact for count, contact in pairs if words and count >= len(words)]


def _addresses(contact: Contact) -> list[str]:
    """The postal addresses on a contact's card."""
    value = contact.more.get("addresses") or contact.more.get("address") or ()
    texts = [value] if isinstance(value, str) else cast("Sequence[object]", value)
    return [text for text in texts if isinstance(text, str) and text]


def _is_in_items(name: str, inputs: PlanningInput) -> bool:
    texts = (fold_accents(text.replace("’", "'")) for text in inputs.item_texts)
    return any(name in text for text in texts)

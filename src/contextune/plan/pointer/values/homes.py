"""Where people live whom a request for directions names: "mum's", "my brother's place"."""

import re
from collections.abc import Sequence
from typing import cast

from contextune.plan.names import fold_accents
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.pointer.values.destinations import destination_words
from contextune.search import tokenize
from contextune.types import Contact, Source

_HOME = re.compile(
    r"(?P<owner>\S.*?)(?:['’]s?(?: (?:house|home|place|flat|apartment|address))?)",
    re.IGNORECASE,
)


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

"""Who sent a message, and whom a request names as its sender: "from Jan", "Jan's mail", "Reply to Jan".

A sender is who the address says. A name in a title is none: anybody can write "Jan" there.
"""

import re

from contextune.plan.names import NameMatch, fold_accents
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.items.item_nouns import item_app
from contextune.plan.pointer.people.named_people import answered_contact, said_sender
from contextune.plan.pointer.request_words import folded_words
from contextune.search.glosses import gloss
from contextune.types import Item, User

_SENT = frozenset(["sent", "sent mail", "sent items", "sent messages", "outbox", "drafts"])
_WORD = re.compile(r"[^\W_]+")
_ANSWERED = re.compile(
    r"\b(?:reply|respond|answer|(?:write|get) back)(?: back)?(?: to)? "
    r"(?:(?:my|our|the) \w+,? |(?:mr|mrs|ms|miss|dr|prof|sir)\.? )?$",
    re.IGNORECASE,
)
_FROM_COMPANY = re.compile(r"\bfrom (?:the |my |our )?(?P<who>[^\W\d_]{4,})", re.IGNORECASE)
_MAILS_FROM = re.compile(
    r"\b(?:(?:e-?)?mails?|messages?|letters?|newsletters?|anything|everything|something|news) (?:from|by) "
    r"(?:the |my |our )?(?P<who>[^\W\d_]{3,}(?: [^\W\d_]+){0,3}?)(?=\W*$|[,.;!?]| (?:about|on|regarding)\b)",
    re.IGNORECASE,
)
_DESCRIBED_SENDER = re.compile(
    r"\b(?:(?:e-?)?mails?|messages?|letters?) from (?:the|my|our) (?P<who>[^\W\d_]+)(?=\W*$|[,.;!?])",
    re.IGNORECASE,
)
_DISPLAY_NAME = re.compile(r"^From: (?P<name>.+)$", re.MULTILINE)
_OF_COMPANY = re.compile(
    r"\b(?P<who>[^\W\d_]{4,})['’]s? (?:[\w-]+ ){0,2}?"
    r"(?:mails?|e-?mails?|messages?|newsletters?|invoices?|bills?|offers?|receipts?|tickets?|statements?)\b",
    re.IGNORECASE,
)
_TO = re.compile(r"\b(?:to|with)(?: (?:my|our|the) \w+,?)? $", re.IGNORECASE)


def sender_of(item: Item) -> str:
    """Who sent a message; empty for other items."""
    sender = item.fields.get("author") or item.fields.get("sender") or item.fields.get("from")
    return str(sender or "")


def is_own(item: Item, user: User) -> bool:
    """Whether the user sent a message."""
    folder = str(item.fields.get("folder") or "").casefold()
    return folder in _SENT or sender_of(item).casefold() in user.addresses


def named_senders(inputs: PlanningInput) -> set[int]:
    """The contacts named as senders of a message: "from Jan", "Jan's mail", "Did Jan write?"."""
    senders = {n for n, match in enumerate(inputs.names) if match.words and _is_sender(match, inputs)}
    sender = said_sender(inputs)
    senders |= answered_people(inputs)
    return senders if sender is None else senders | {sender}


def answered_people(inputs: PlanningInput) -> set[int]:
    """The contacts whom the request says to answer: "Reply to Jan", "Write back to my sister"."""
    text = inputs.request.text
    people = {
        number
        for number, match in enumerate(inputs.names)
        if match.words
        and not match.possessive
        and _ANSWERED.search(text, 0, match.start)
        # another of the same surname is not meant by a whole name
        and not any(other.words > match.words and other.overlaps(match) for other in inputs.names)
    }
    answered = answered_contact(inputs)
    return people if answered is None else people | {answered}


def have_written(people: set[int], inputs: PlanningInput) -> bool:
    """Whether one of these contacts sent a message that was retrieved."""
    return any(inputs.people.index(sender_of(hit.item)) in people for hit in inputs.hits)


def not_sent_by(inputs: PlanningInput) -> set[int]:
    """The messages of others than the senders whom the request names, if there are some of theirs.

    Those of others are no answer to "Reply to Jan", even if Jan wrote none.
    """
    strangers = _only_naming(inputs) | _not_of_company(inputs)
    senders, answered = named_senders(inputs), answered_people(inputs)
    if not senders:
        return strangers
    messages = {
        n: inputs.people.index(sender_of(item)) for n, item in enumerate(inputs.items) if sender_of(item)
    }
    if not senders.intersection(messages.values()) and not answered:
        return strangers
    others = {number for number, person in messages.items() if person not in senders}
    return strangers | {number for number in others if not _is_to(inputs.items[number], answered, inputs)}


def _is_to(item: Item, people: set[int], inputs: PlanningInput) -> bool:
    """Whether the user sent a message to one of these contacts: an answer goes to them, too."""
    return is_own(item, inputs.user) and any(inputs.people.index(person) in people for person in item.people)


def _only_naming(inputs: PlanningInput) -> set[int]:
    """Messages of strangers whose title has no word of the request but the name of a recipient."""
    text = inputs.request.text
    recipients = [match for match in inputs.names if match.words and _TO.search(text, 0, match.start)]
    if not recipients:
        return set()
    names = frozenset(word for match in recipients for word in folded_words(text[match.start : match.end]))
    words = frozenset(folded_words(text))
    return {
        number
        for number, item in enumerate(inputs.items)
        if sender_of(item)
        and inputs.people.index(sender_of(item)) is None
        and (shared := words.intersection(folded_words(item.title)))
        and shared <= names
    }


def _not_of_company(inputs: PlanningInput) -> set[int]:
    """Messages of others than the company, no contact, from whose address the request says a message is."""
    text = inputs.request.text
    said = [match for pattern in (_FROM_COMPANY, _OF_COMPANY) for match in pattern.finditer(text)]
    names = [
        fold_accents(match["who"])
        for match in said
        if not any(
            name.words and name.start < match.end("who") and match.start("who") < name.end
            for name in inputs.names
        )
    ]
    messages = {number: sender for number, item in enumerate(inputs.items) if (sender := sender_of(item))}
    for name in names:
        if theirs := {number for number, sender in messages.items() if name in _domain(sender)}:
            return messages.keys() - theirs
    company = company_message(inputs)
    if company is None:
        return set()
    return {number for number, sender in messages.items() if sender != messages[company]}


def company_message(inputs: PlanningInput) -> int | None:
    """A message of the only company, no contact, from which the request asks for messages: "from the school".

    Its address or its name says the words, maybe in another language: "Colegio Alborada" is a school.
    """
    match = _MAILS_FROM.search(inputs.request.text)
    if match is None or named_senders(inputs) or _is_person_or_time(match, inputs):
        return None
    words = frozenset(folded_words(match["who"]))
    messages = {
        n: item for n, item in enumerate(inputs.items) if sender_of(item) and not is_own(item, inputs.user)
    }
    for is_said in (_is_in_address, _is_in_display_name):
        theirs = [n for n, item in messages.items() if is_said(words, item)]
        if theirs:
            is_one = len({sender_of(messages[n]).casefold() for n in theirs}) == 1
            return theirs[0] if is_one else None
    return None


def is_of_another(item: Item, inputs: PlanningInput) -> bool:
    """Whether the request describes whose message it means, and nothing says that this one is theirs."""
    match = _DESCRIBED_SENDER.search(inputs.request.text)
    if match is None or not sender_of(item) or named_senders(inputs) or _is_person_or_time(match, inputs):
        return False
    words = frozenset(folded_words(match["who"]))
    if _is_in_address(words, item) or _is_in_display_name(words, item):
        return False
    contact = inputs.people.get(sender_of(item))
    known = (contact.name, contact.relation, *contact.more.values()) if contact else ()
    own = frozenset(folded_words(" ".join(str(part or "") for part in (*known, item.title))))
    return words.isdisjoint(own)


def names_unknown_sender(inputs: PlanningInput) -> bool:
    """Whether the request asks for messages of a name of which no message is: "mails from Zebulon"."""
    match = _MAILS_FROM.search(inputs.request.text)
    if match is None or not match["who"][0].isupper() or named_senders(inputs):
        return False
    words = frozenset(folded_words(match["who"]))
    return not _is_person_or_time(match, inputs) and not any(
        words.intersection(folded_words(item.text)) for item in inputs.items if sender_of(item)
    )


def _is_person_or_time(match: re.Match[str], inputs: PlanningInput) -> bool:
    start, end = match.span("who")
    ranges = [(name.start, name.end) for name in inputs.names if name.words]
    ranges += [(phrase.first, phrase.last) for phrase in inputs.time_phrases]
    return any(first < end and start < last for first, last in ranges)


def _is_in_address(words: frozenset[str], item: Item) -> bool:
    return all(word in _domain(sender_of(item)) for word in words)


def _is_in_display_name(words: frozenset[str], item: Item) -> bool:
    content = str(item.fields.get("content") or "")
    names = " ".join(match["name"] for match in _DISPLAY_NAME.finditer(content))
    return words.issubset(folded_words(f"{names} {gloss(names)}"))


def _domain(address: str) -> str:
    """What an address says about a company: its domain without the last part."""
    return address.casefold().partition("@")[2].rpartition(".")[0]


def _is_sender(match: NameMatch, inputs: PlanningInput) -> bool:
    text = inputs.request.text
    before = _WORD.findall(text[: match.start])
    after = _WORD.findall(text[match.end :])
    if match.possessive:
        return any(item_app(word) == "Mail" for word in after[1:3])
    return bool(before) and before[-1].casefold() == "from"

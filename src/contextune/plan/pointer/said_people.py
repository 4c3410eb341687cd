"""The one contact that an order or a question is about: "Call Marta", "Did my sister write back?"."""

import re
from collections.abc import Collection

from contextune.context.signals.people import relation_synonyms
from contextune.plan.names import name_words
from contextune.plan.planning_input import PlanningInput
from contextune.search import tokenize
from contextune.types import Contact

_START = r"\W*(?:(?:please|can you|could you|just|so|and|hey|ok(?:ay)?|now),? )*"
_CALL = re.compile(
    rf"{_START}(?:call|phone|ring|dial)(?: up)? (?P<who>\S.*?)(?: up| now| please| for me| again)*[\s.!?]*$",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    rf"{_START}(?:did|has|have) (?P<who>\S.*?)(?: ever| already| yet| finally)?"
    r" (?:write|written|reply|replied|answer|answered|respond|responded|(?:get|got|gotten) back"
    r"|e?mail|e?mailed)(?: back)?(?:(?: to)? (?:me|us))?(?: yet| already| today)*[\s.!?]*$",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"{_START}what did (?P<who>\S.*?) (?:say|write|want|answer|reply|tell (?:me|us)|have to say)"
    r"(?: back| to me| to us| from me)*[\s.!?]*$",
    re.IGNORECASE,
)
_FROM = re.compile(
    r".*?\b(?:(?:e-?)?mails?|messages?|anything|something) from (?P<who>\S.*?)[\s.!?]*$", re.IGNORECASE
)
_ANSWERED = re.compile(
    rf"{_START}(?:reply|respond|answer|(?:write|get) back)(?: back)?(?: to)? (?P<who>\S.*?)"
    r"(?:,? (?:that|saying|and say|telling|with)\b.*|[:,].*|[\s.!?]*)$",
    re.IGNORECASE | re.DOTALL,
)
_TOLD = re.compile(
    rf"{_START}(?:(?:tell|inform|warn|e-?mail|mail|message|write to|let) (?P<who>\S.*?)(?: know)?,? that"
    r"|ask (?P<asked>\S.*?) (?:if|whether|to|when|where|why|how|what|who)"
    r"|thank (?P<thanked>\S.*?) for"
    r"|(?:send|e-?mail|mail|message|tell) (?P<quoted>[^\"“”«»,:]+)[,:]? (?=[\"“«]))(?:\s|$|(?=[\"“«])).*$",
    re.IGNORECASE | re.DOTALL,
)
_DETERMINER = re.compile(r"(?:my|our|the)\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_TITLES = {
    **dict.fromkeys(["dr", "dra", "doctor", "dott", "dottor"], "doctor"),
    **dict.fromkeys(["prof", "professor"], "professor"),
}
"""The role that a title in a name says."""
_MIN_SHORT = 4
"""Letters of a shortened role."""
_CLAUSE = re.compile(r"[,;(/]|\s(?:in|of|at|on|from|with|who|whose|which|for|to)\s", re.IGNORECASE)


def called_contact(inputs: PlanningInput) -> int | None:
    """The contact whom the request says to call, if it says nothing else: "Call Marta", "Ring my sister"."""
    return _contact_in(_CALL, inputs)


def called_role(inputs: PlanningInput) -> list[int]:
    """The contacts of the role that the request says to call, if there are several: "Call the doctor"."""
    match = _CALL.match(inputs.request.text)
    if match is None:
        return []
    start, end = match.span("who")
    if any(name.words and name.start < end and start < name.end for name in inputs.names):
        return []
    people = _people_of_role(match["who"], inputs)
    return people if len(people) > 1 else []


def asked_writer(inputs: PlanningInput) -> int | None:
    """The contact of whom the request asks whether they wrote: "Did Marta get back to me?"."""
    return _contact_in(_WRITTEN, inputs)


def asked_speaker(inputs: PlanningInput) -> int | None:
    """The contact of whom the request asks what they said: "What did Marta want?"."""
    return _contact_in(_SAID, inputs)


def told_contact(inputs: PlanningInput) -> int | None:
    """The contact to whom the request says a message: "Tell Marta that …", "Thank my sister for …"."""
    return _contact_in(_TOLD, inputs)


def answered_contact(inputs: PlanningInput) -> int | None:
    """The contact whom the request says to answer: "Reply to my sister that I'll come"."""
    return _contact_in(_ANSWERED, inputs)


def said_sender(inputs: PlanningInput) -> int | None:
    """The contact from whom a message is, or of whom the request asks what they wrote."""
    people = (_contact_in(pattern, inputs) for pattern in (_FROM, _WRITTEN, _SAID))
    return next((person for person in people if person is not None), None)


def said_contact(inputs: PlanningInput) -> int | None:
    """The contact of an order to call, or of a question what they wrote or said."""
    people = (find(inputs) for find in (called_contact, asked_writer, asked_speaker))
    return next((person for person in people if person is not None), None)


def _contact_in(pattern: re.Pattern[str], inputs: PlanningInput) -> int | None:
    """The only contact that the group which matched names as a whole, or whose relation it says."""
    match = pattern.match(inputs.request.text)
    if match is None:
        return None
    group = next(name for name, said in match.groupdict().items() if said)
    start, end = match.span(group)
    named = [n for n, name in enumerate(inputs.names) if name.words and name.start < end and start < name.end]
    if named:
        names = [(n, inputs.names[n]) for n in named]
        whole = [n for n, name in names if name.words >= 1 and name.start <= start and name.end >= end]
        return whole[0] if len(whole) == 1 and not _has_stranger(match[group], inputs) else None
    related = _people_of_role(match[group], inputs)
    return related[0] if len(related) == 1 else None


def _people_of_role(who: str, inputs: PlanningInput) -> list[int]:
    """The contacts of the relation, or with the title, that one word says: "my sister", "the doctor"."""
    said = _DETERMINER.sub("", who, count=1)
    if _WORD.fullmatch(said) is None:
        return []
    words, roles = relation_synonyms(said.casefold()), [_roles(contact) for contact in inputs.user.contacts]
    people = [number for number, own in enumerate(roles) if words & own]
    return people or [number for number, own in enumerate(roles) if _is_short_for(said.casefold(), own)]


def _is_short_for(word: str, roles: Collection[str]) -> bool:
    """Whether a word is the beginning of a role: "physio"."""
    return len(word) >= _MIN_SHORT and any(role.startswith(word) for role in roles)


def _has_stranger(name: str, inputs: PlanningInput) -> bool:
    """Whether somebody else of this name, who is no contact, called or wrote."""
    words = frozenset(name_words(name))
    people = (person for item in inputs.items for person in item.people)
    return any(words <= {*name_words(person)} and inputs.people.index(person) is None for person in people)


def _roles(contact: Contact) -> frozenset[str]:
    """What a contact is: by the relation, or by a title in the name."""
    titles = (_TITLES.get(word) for word in name_words(contact.name))
    return _heads(contact.relation or "") | frozenset(filter(None, titles))


def _heads(relation: str) -> frozenset[str]:
    """What a relation says somebody is: the helper, not the mother, for "mother's live-in helper"."""
    phrase = _CLAUSE.split(relation, maxsplit=1)[0]
    parts = [tokenize(part) for part in re.split(r"\sand\s|&", phrase)]
    return frozenset(words[-1] for words in parts if words)

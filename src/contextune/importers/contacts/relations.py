"""A person's relation to the user, as nickname, note, job title and company of an address book state it.

The people on the user's own cards have the inverse of the relation that is written there.
"""

import re
from collections.abc import Collection, Iterable

from contextune.importers.reader import ImportContext
from contextune.search.glosses import word_gloss
from contextune.search.tokenize import tokenize

FAMILY_NICKNAMES = frozenset(
    tokenize("""
    mum mom mother mummy mama mam ma dad father daddy papa pa sister sis brother bro wife husband partner son
    daughter grandma granny grandmother gran nan nana grandpa grandfather grandad aunt auntie uncle cousin
    niece nephew boss girlfriend boyfriend oma opa
    """)
)
"""Nicknames that state a relation to the user."""
PLACES = frozenset(tokenize("hospital pharmacy restaurant bank"))
"""Where many people work: of a person it is no relation, of a card of its own it is."""
ABBREVIATIONS = {"PA": "personal assistant"}
"""Abbreviations that are spelled like a nickname of the family."""
SERVICES = PLACES.union(
    tokenize("""
    dentist doctor gp physician pediatrician paediatrician gynecologist gynaecologist dermatologist
    cardiologist psychologist psychiatrist optician orthodontist practitioner nurse midwife therapist
    physiotherapist osteopath chiropractor vet veterinarian pharmacist plumber electrician carpenter painter
    roofer locksmith builder handyman gardener cleaner housekeeper janitor caretaker mechanic hairdresser
    barber stylist beautician lawyer solicitor attorney notary accountant bookkeeper babysitter nanny
    childminder teacher tutor professor coach trainer instructor priest pastor rabbi imam florist baker
    butcher tailor photographer realtor landlord landlady architect translator advisor adviser
    """)
)
"""People and places of whom a user has one: "my dentist"."""
ROLES = FAMILY_NICKNAMES.union(
    SERVICES,
    tokenize("""
    neighbour neighbor friend bestie roommate flatmate housemate colleague coworker manager supervisor
    assistant secretary intern mentor classmate teammate fiance fiancee spouse child parent sibling godmother
    godfather godson goddaughter stepmother stepfather stepson stepdaughter ex buddy pal mate client customer
    supplier tenant driver courier agent broker banker consultant relative dogsitter walker bandmate conductor
    law
    """),
)
"""All words with which a note may state a relation; "law" ends "mother-in-law"."""
_CLAUSE = re.compile(r"[,;.:(/|\n–—]| - ")
_OWN = re.compile(
    r"^(?:(?:is|he['’]s|she['’]s|he is|she is|they are|this is)\s+)?(?:(?:my|our|the|an?)\s+)?", re.IGNORECASE
)
_OF_ANOTHER = re.compile(r"\b(?:of|from|for)\b", re.IGNORECASE)
_AT_A_PLACE = re.compile(r"\b(?:at|in|near|by)\b|['’]s\b", re.IGNORECASE)
_IN_A_SENTENCE = re.compile(
    r"\b(?:not|no|the|an?|my|our|his|her|their|your|this|that|before|after|with|about|to|via|through)\b",
    re.IGNORECASE,
)
"""Words that show, inside a clause, that the role in it is somebody else: "likes my boss"."""
_WORD = re.compile(r"\w+")
_MAX_WORDS = 5
_MAX_LENGTH = 120
OWN_CARD = "the user's own card: only its relations are read"
INVERSE_RELATIONS = {
    **dict.fromkeys(("sister", "brother", "sibling"), "sibling"),
    **dict.fromkeys(("mother", "father", "parent"), "child"),
    **dict.fromkeys(("child", "son", "daughter"), "parent"),
    **dict.fromkeys(("spouse", "wife", "husband"), "spouse"),
    **{kind: kind for kind in ("partner", "friend", "relative", "kin", "neighbor", "colleague", "co-worker")},
}
"""The relation of a person to the user, by the relation of the user to that person."""


def stated_relation(
    nickname: str = "", note: str = "", title: str = "", organization: str = "", name: str = ""
) -> str | None:
    """The relation in words, such as "dentist (Zahnarzt)" or "plumber at Pohl Sanitär"; None if unknown.

    What the user wrote, a nickname or a note, comes first. A job title is a relation if people have one such
    person, as a dentist; an engineer or a manager may be anybody's. `name` is that of the card: somebody who
    works at a hospital is not the user's hospital.
    """
    if nickname.casefold() in FAMILY_NICKNAMES:
        abbreviation = ABBREVIATIONS.get(nickname)
        return f"{abbreviation} ({nickname})" if abbreviation else nickname.casefold()
    return _noted_role(note) or job_relation(title, organization, name)


def _noted_role(note: str) -> str | None:
    """The first clause of a note, if it is a few words that end with a role: "babysitter, 12 EUR an hour"."""
    clause = _OWN.sub("", _CLAUSE.split(note.strip(), maxsplit=1)[0].strip())
    words = tokenize(clause)
    if not words or len(words) > _MAX_WORDS or _OF_ANOTHER.search(clause) or _IN_A_SENTENCE.search(clause):
        return None
    abbreviation = ABBREVIATIONS.get(_WORD.findall(clause)[-1])
    if abbreviation:
        return f"{abbreviation} ({clause})"
    role = _role(words[-1])
    if role is None or (role in PLACES and (_AT_A_PLACE.search(clause) or _is_name(clause))):
        return None
    return clause.casefold() if role == words[-1] else f"{role} ({clause})"


def _is_name(clause: str) -> bool:
    """Whether a place has a name: "Plains Bank" is an employer, "local bank" may be the user's."""
    return " " in clause and clause.split()[-1][:1].isupper()


def job_relation(title: str, organization: str, name: str = "") -> str | None:
    """The service that a job title, or the name of a business, says: "plumber at Pohl Sanitär"."""
    words = tokenize(title)
    stated = (role for word in reversed(words) if (role := _service(word)))
    service = next((role for role in stated if role.split()[-1] not in PLACES), None)
    if service is None:
        services = (role for word in tokenize(organization) if (role := _service(word)))
        is_business = not name or tokenize(name) == tokenize(organization)
        return next((role for role in services if is_business or role.split()[-1] not in PLACES), None)
    name = title.casefold() if service in words else f"{service} ({title})"
    return (f"{name} at {organization}" if organization else name)[:_MAX_LENGTH]


def _service(word: str) -> str | None:
    role = _role(word)
    return role if role is not None and role.split()[-1] in SERVICES else None


def _role(word: str) -> str | None:
    """The English role that a word means, in English or another language: "tax advisor"."""
    if word in ROLES:
        return word
    english = word_gloss(word)
    return english if english and english.split()[-1] in ROLES else None


class OwnCards:
    """Recognises the user's own cards: those with the user's name, else the only one with their address.

    A family may share a mailbox: other cards with that address are other people.
    """

    def __init__(self, cards: Iterable[tuple[str, Collection[str]]], context: ImportContext) -> None:
        """`cards` are the names and addresses of all cards of a file."""
        self._context = context
        names = [name for name, emails in cards if self._has_own_name(name) or self._has_own_address(emails)]
        named = [name for name in names if self._has_own_name(name)]
        self._names = frozenset(named or (names if len(set(names)) == 1 or not context.name else ()))

    def contains(self, name: str, emails: Collection[str]) -> bool:
        """Whether a card is the user's own."""
        return name in self._names and (self._has_own_name(name) or self._has_own_address(emails))

    def _has_own_name(self, name: str) -> bool:
        return bool(self._context.name) and name.casefold() == self._context.name.casefold()

    def _has_own_address(self, emails: Collection[str]) -> bool:
        return any(email.casefold() in self._context.addresses for email in emails)

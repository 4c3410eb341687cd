"""The one contact that an order or a question is about: "Call Marta", "Did my sister write back?"."""

import re
from collections.abc import Collection, Sequence

from contextune.context.signals.people import relation_synonyms
from contextune.plan.names import name_words
from contextune.plan.opening_words import PLEASE
from contextune.plan.planning_input import PlanningInput
from contextune.search import tokenize
from contextune.types import Contact, Item

RINGING = r"(?:ring|call|buzz|bell|phone call|tinkle)"
"""What one gives somebody whom one calls, as a regular expression."""
_CALL = re.compile(
    rf"{PLEASE}(?:(?:call|phone|ring|dial)(?: up)?|give(?=.{{0,300}} an? (?:quick )?{RINGING}\b)) "
    rf"(?P<who>\S.{{0,300}}?)"
    rf"(?: up| now| please| for me| again| an? (?:quick )?{RINGING}){{0,8}}[\s.!?]*$",
    re.IGNORECASE,
)
_JOINT = re.compile(r"(?P<who>\S.{0,300}?)(?:,? and |, )")
_CALL_BACK = re.compile(
    rf"{PLEASE}(?:call|phone|ring) (?P<who>\S.{{0,300}}?) back(?: now| please"
    rf"| for me){{0,8}}[\s.!?]*$",
    re.IGNORECASE,
)
_MISSED = re.compile(
    r"\W*(?:(?:oh|ah|oops|damn|sorry|no|so|hm+),? ){0,8}i(?:['’]ve)? (?:just |must have )?missed "
    r"(?P<who>\S.{0,300}?)"
    r"(?:['’]s? call)?(?: again| earlier| just now)?[\s.!?]*$",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    rf"{PLEASE}(?:did|has|have) (?P<who>\S.{{0,300}}?)(?: ever| already| yet| finally)?"
    r" (?:write|written|reply|replied|answer|answered|respond|responded|(?:get|got|gotten) back"
    r"|e?mail|e?mailed)(?: back)?(?:(?: to)? (?:me|us))?(?: yet| already| today){0,8}"
    r"(?:,? (?:about|regarding|concerning) \S.{0,300}?)?[\s.!?]*$",
    re.IGNORECASE,
)
_SAID = re.compile(
    rf"{PLEASE}what did (?P<who>\S.{{0,300}}?) (?:say|write|want|answer|reply|tell (?:me|us)|have to say)"
    r"(?: back| to me| to us| from me){0,8}(?:,? (?:about|regarding|concerning) "
    r"(?P<topic>\S.{0,300}?))?[\s.!?]*$",
    re.IGNORECASE,
)
_FROM = re.compile(
    r".{0,300}?\b(?:(?:e-?)?mails?|messages?|anything|everything|something|news|word) from "
    r"(?P<who>\S.{0,300}?)[\s.!?]*$",
    re.IGNORECASE,
)
_NEWS = re.compile(
    rf"{PLEASE}(?:(?:is there|are there|do (?:i|we) have|have (?:i|we) got|did (?:i|we) get) )?"
    r"(?:any|some|an)(?:thing)?(?: (?:news|word|mails?|e-?mails?|messages?|answer|reply|replies))?(?: yet)?"
    r" (?:from|by) (?:(?:my|the|our) )?\w[\w'’ -]*[\s.!?]*$"
    rf"|{PLEASE}(?:(?:all|the|my) ){{0,8}}(?:(?:e-?)?mails|messages)"
    r" (?:from|by) (?:(?:my|the|our) )?\w[\w'’ -]*[\s.!?]*$",
    re.IGNORECASE,
)
_ANSWERED = re.compile(
    rf"{PLEASE}(?:reply|respond|answer|(?:write|get) back)(?: back)?(?: to)? (?P<who>\S.{{0,300}}?)"
    r"(?:,? (?:that|saying|and say|telling|with)\b.*|[:,].*|[\s.!?]*)$",
    re.IGNORECASE | re.DOTALL,
)
CHANNEL = r"(?:by|via|per|with|through|over|in|as) (?:an? )?(?:quick )?(?:e-?mail|mail|message|writing)"
"""How a message is to be sent, between the recipient and the message, as a regular expression."""
_TOLD = re.compile(
    rf"{PLEASE}(?:(?:tell|inform|warn|e-?mail|mail|message|write to|let) (?P<who>\S.{{0,300}}?)"
    rf"(?: know)?(?:,? {CHANNEL})?,? that"
    r"|ask (?P<asked>\S.{0,300}?) (?:if|whether|to|for|when|where|why|how|what|who)"
    r"|thank (?P<thanked>\S.{0,300}?) for"
    r"|(?:send|e-?mail|mail|message|tell) (?P<quoted>[^\"“”«»,:]{1,300})[,:]? (?=[\"“«]))(?:\s|$|"
    r"(?=[\"“«])).*$",
    re.IGNORECASE | re.DOTALL,
)
_RECEIVES = re.compile(
    rf"{PLEASE}(?:(?:forward|send|mail|e-?mail|pass)(?: on)? (?P<what>\S.{{0,300}}) (?:on )?to"
    r"|share (?P<shared>\S.{0,300}) with) (?P<who>\S.{0,300}?)(?: now| please| too| as well){0,8}[\s.!?]*$",
    re.IGNORECASE,
)
ADDRESSED = re.compile(
    rf"{PLEASE}(?P<verb>tell|inform|warn|e-?mail|mail|message|text|write(?: to)?|ask|thank|let"
    r"|remind(?! (?:me|us|myself)\b)) "
    r"(?P<who>(?:my|our|the) [^\W\d_]+|[^\W\d_])",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"['’]s?\b")
_BY_MAIL = re.compile(rf"(?: know)?,? {CHANNEL}\b(?<!message)", re.IGNORECASE)
_MAILING = frozenset(["email", "e-mail", "mail", "write", "write to"])
_DETERMINER = re.compile(r"(?:my|our|the)\s+", re.IGNORECASE)
_MAX_MODIFIERS = 2
_OWN = re.compile(r"(?:my|our)\s+", re.IGNORECASE)
_OF = re.compile(r" (?:from|at|of) (?:the )?(?P<place>(?P<work>work|office)$|\S.{0,300})", re.IGNORECASE)
_CHILDREN = frozenset(["kid", "kids", "child", "children", "childrens", "baby", "babys"])
_ROLES = tuple(
    frozenset(group.split())
    for group in (
        *("husband spouse partner", "wife spouse partner"),
        "sister sibling",
        "brother sibling",
        "son child",
        "daughter child",
        "mother parent",
        "father parent",
        "doctor practitioner",
        "pediatrician paediatrician",
        "gynecologist gynaecologist",
        "vet veterinarian",
        "coach trainer",
        "professor prof",
        "neighbour neighbor",
        "flatmate roommate housemate",
        "babysitter sitter nanny childminder",
        "hairdresser barber stylist",
        "lawyer solicitor attorney",
        "advisor adviser",
    )
)
"""Words for one role beside those by which items are ranked; address books have "spouse" and "sibling"."""
_TITLES = {
    **dict.fromkeys(["dr", "dra", "doctor", "doctora", "dott", "dottor"], "doctor"),
    **dict.fromkeys(["prof", "profa", "profesor", "profesora", "professor"], "professor"),
}
"""The role that a title in a name says."""
_MIN_SHORT = 4
"""Letters of a shortened role."""
_CLAUSE = re.compile(r"[,;(/]|\s(?:in|of|at|on|from|with|who|whose|which|for|to)\s", re.IGNORECASE)


def called_contact(inputs: PlanningInput) -> int | None:
    """The contact whom the request says to call, if it says nothing else: "Call Marta", "Ring my sister".

    To call somebody back whose calls were answered is to call them.
    """
    person = contact_in(_CALL_BACK, inputs)
    if person is not None:
        has_calls = any(hit.item.app == "PhoneCall" for hit in inputs.hits)
        return person if has_calls and called_back_contact(inputs) is None else None
    return contact_in(_CALL, inputs)


def called_back_contact(inputs: PlanningInput) -> int | None:
    """The contact whom the request says to call back, if a call of theirs was missed."""
    return _missed(contact_in(_CALL_BACK, inputs), inputs)


def missed_contact(inputs: PlanningInput) -> int | None:
    """The contact whose call the request says was missed, if one was: "Oh, I missed Marta"."""
    return _missed(contact_in(_MISSED, inputs), inputs)


def _missed(person: int | None, inputs: PlanningInput) -> int | None:
    is_missed = person is not None and any(is_missed_call(hit.item, person, inputs) for hit in inputs.hits)
    return person if is_missed else None


def is_missed_call(item: Item, person: int, inputs: PlanningInput) -> bool:
    """Whether an item is a call of a contact that was not answered."""
    return item.fields.get("direction") == "missed" and any(
        inputs.people.index(caller) == person for caller in item.people
    )


def called_group(inputs: PlanningInput) -> list[int]:
    """The contacts whom the request says to call together: "Call Marta and my sister"."""
    match = _CALL.match(inputs.request.text)
    if match is None:
        return []
    people: list[int] = []
    for part in _JOINT.finditer(f"{match['who']} and "):
        start = match.start("who") + part.start("who")
        person = _contact_at(start, start + len(part["who"]), inputs)
        if person is None:
            return []
        people.append(person)
    return people if len({*people}) > 1 else []


def called_role(inputs: PlanningInput) -> list[int]:
    """The contacts of the role that the request says to call, if there are several: "Call the doctor"."""
    match = _CALL.match(inputs.request.text)
    if match is None:
        return []
    start, end = match.span("who")
    if any(name.words and name.start < end and start < name.end for name in inputs.names):
        return []
    people = people_of_role(match["who"], inputs)
    return people if len(people) > 1 else []


def asked_writer(inputs: PlanningInput) -> int | None:
    """The contact of whom the request asks whether they wrote: "Did Marta get back to me?"."""
    return contact_in(_WRITTEN, inputs)


def expected_writer(inputs: PlanningInput) -> int | None:
    """The contact from whom the request asks for news: "Any news from Marta?"."""
    return contact_in(_FROM, inputs) if _NEWS.match(inputs.request.text) else None


def is_question_of_writer(text: str) -> bool:
    """Whether a request asks if somebody wrote, contact or not: "Any news from the insurance?"."""
    return _WRITTEN.match(text) is not None or _NEWS.match(text) is not None


def asked_speaker(inputs: PlanningInput) -> int | None:
    """The contact of whom the request asks what they said: "What did Marta want?"."""
    return contact_in(_SAID, inputs)


def speaker_name(text: str) -> str:
    """The words for the person of whom the request asks what they said; empty if it does not."""
    match = _SAID.match(text)
    return match["who"] if match else ""


def said_topic(text: str) -> str:
    """What the request asks if somebody said something about; empty if it does not say it."""
    match = _SAID.match(text)
    return (match["topic"] or "") if match else ""


def told_contact(inputs: PlanningInput) -> int | None:
    """The contact to whom the request says a message: "Tell Marta that …", "Thank my sister for …"."""
    return contact_in(_TOLD, inputs)


def addressed_contact(inputs: PlanningInput) -> tuple[int, bool] | None:
    """The contact whom a message is for, right after the verb, and whether the verb says to mail it."""
    match = ADDRESSED.match(inputs.request.text)
    if match is None:
        return None
    start, end = match.span("who")
    ends = [name.end for name in inputs.names if name.words and name.start <= start < name.end]
    end = max(ends, default=end)
    if _POSSESSIVE.match(inputs.request.text, end):  # "Tell Ana's mother"
        return None
    person = _contact_at(start, end, inputs)
    is_mail = match["verb"].casefold() in _MAILING or _BY_MAIL.match(inputs.request.text, end) is not None
    return None if person is None else (person, is_mail)


def addressed_people(inputs: PlanningInput) -> frozenset[int]:
    """The contacts whom a message may be for, named right after the verb: all of that name."""
    match = ADDRESSED.match(inputs.request.text)
    if match is None:
        return frozenset()
    return frozenset(
        number
        for number, name in enumerate(inputs.names)
        if name.words and name.start == match.start("who") and not name.possessive
    )


def answered_contact(inputs: PlanningInput) -> int | None:
    """The contact whom the request says to answer: "Reply to my sister that I'll come"."""
    return contact_in(_ANSWERED, inputs)


def receiving_contact(inputs: PlanningInput) -> int | None:
    """The contact to whom an item is to be sent: "Forward Jan's quote to my wife"."""
    match = _RECEIVES.match(inputs.request.text)
    if match is None:
        return None
    start = match.start("what") if match["what"] else match.start("shared")
    # "Send Ana the way to my sister" is for Ana
    if any(name.words and name.start == start and not name.possessive for name in inputs.names):
        return None
    return _contact_at(*match.span("who"), inputs)


def said_sender(inputs: PlanningInput) -> int | None:
    """The contact from whom a message is, or of whom the request asks what they wrote."""
    people = (contact_in(pattern, inputs) for pattern in (_FROM, _WRITTEN, _SAID))
    return next((person for person in people if person is not None), None)


def said_contact(inputs: PlanningInput) -> int | None:
    """The contact of an order to call, or of a question what they wrote or said; also by a job title."""
    finds = (
        called_contact,
        called_back_contact,
        missed_contact,
        asked_writer,
        asked_speaker,
        titled_contact,
    )
    people = (find(inputs) for find in finds)
    return next((person for person in people if person is not None), None)


def titled_contact(inputs: PlanningInput) -> int | None:
    """The only contact with the job title of "call my manager", who may be somebody else's manager."""
    match = _CALL.match(inputs.request.text)
    return _related(match["who"], inputs, by_title=True) if match else None


def contact_in(pattern: re.Pattern[str], inputs: PlanningInput) -> int | None:
    """The only contact that the group which matched names as a whole, or whose relation it says."""
    match = pattern.match(inputs.request.text)
    if match is None:
        return None
    group = next(name for name, said in match.groupdict().items() if said)
    return _contact_at(*match.span(group), inputs)


def _contact_at(start: int, end: int, inputs: PlanningInput) -> int | None:
    """The only contact that a range of the request names as a whole, or whose relation it says."""
    text = inputs.request.text
    if (own := _OWN.match(text, start)) and any(n.words and n.start == own.end() for n in inputs.names):
        start = own.end()  # "my Dad", whom the address book calls so
    said = text[start:end]
    if (member := _only_member(said, inputs)) is not None:
        return member
    named = [n for n, name in enumerate(inputs.names) if name.words and name.start < end and start < name.end]
    if named:
        names = [(n, inputs.names[n]) for n in named]
        whole = [n for n, name in names if name.words >= 1 and name.start <= start and name.end >= end]
        whole = _best_named(whole, inputs) or _of_organization(start, end, inputs)
        return whole[0] if len(whole) == 1 and not _has_stranger(said, inputs) else None
    return _related(said, inputs)


def _only_member(said: str, inputs: PlanningInput) -> int | None:
    """The only contact of the company whose whole name is said: "Phone Latu Builders"."""
    name = name_words(said)
    people = [
        number
        for number, contact in enumerate(inputs.user.contacts)
        if name and name_words(str(contact.more.get("organization") or "")) == name
    ]
    return people[0] if len(people) == 1 else None


def _best_named(people: Sequence[int], inputs: PlanningInput) -> list[int]:
    """Of people named by the same words, those of whom most is said: "Anna from Nordlicht"."""
    most = max((inputs.names[n].words for n in people), default=0)
    return [n for n in people if inputs.names[n].words == most]


def _of_organization(start: int, end: int, inputs: PlanningInput) -> list[int]:
    """Those of the name whose organization is said: "Ana from Nordlicht Bikes", "Ana from work"."""
    match = _OF.search(inputs.request.text[start:end])
    if match is None:
        return []
    place = name_words(match["place"])
    organizations = {
        number: name_words(str(inputs.user.contacts[number].more.get("organization") or ""))
        for number, name in enumerate(inputs.names)
        if name.words and name.start == start
    }
    return [n for n, own in organizations.items() if own and (match["work"] or own == place)]


def _related(said: str, inputs: PlanningInput, *, by_title: bool = False) -> int | None:
    """The only contact with a relation, or a job title: "my sister", "the bike mechanic", "Ben's teacher"."""
    related = people_of_role(said, inputs, by_title=by_title)
    return related[0] if len(related) == 1 else None


def people_of_role(said: str, inputs: PlanningInput, *, by_title: bool = False) -> list[int]:
    """The contacts of a relation, or with a title in their name; or with a job title."""
    *others, head = tokenize(_DETERMINER.sub("", said, count=1)) or [""]
    if head == "doctor" and others and _CHILDREN.issuperset(others):
        head, others, by_title = "paediatrician", [], True
    if not head or len(others) > _MAX_MODIFIERS:
        return []
    words = relation_synonyms(head).union(*(group for group in _ROLES if head in group))
    roles = [
        _heads(str(contact.more.get("title") or "")) if by_title else _roles(contact)
        for contact in inputs.user.contacts
    ]
    described = [n for n, contact in enumerate(inputs.user.contacts) if _is_described(others, contact)]
    people = [n for n in described if head in roles[n]] or [n for n in described if words & roles[n]]
    return people or [n for n in described if not others and _is_short_for(head, roles[n])]


def _is_described(words: Sequence[str], contact: Contact) -> bool:
    """Whether all words begin words of a contact's name or relation: "bike" is of Brady Bikes."""
    more = (contact.more.get("title"), contact.more.get("organization"))
    own = tokenize(" ".join(str(part or "") for part in (contact.name, contact.relation, *more)))
    return all(any(other.startswith(word) for other in own) for word in words)


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

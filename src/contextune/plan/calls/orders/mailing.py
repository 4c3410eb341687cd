"""Orders to write to somebody: a new mail, or an answer to the one they wrote."""

import re

from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.named_people import addressed_contact
from contextune.plan.pointer.people.senders import answered_people, have_written, sender_of

REPLY = re.compile(
    rf"{OPENING}(?:reply|write back|respond"
    r"|answer (?!(?:the|my|that) (?:phone|call|door|bell)\b|(?:it|this|me)\b))\b",
    re.IGNORECASE,
)
"""An order to answer."""
_SAYING = re.compile(r":\s|,\s|\s(?:that|saying|with)\s", re.IGNORECASE)


def mailed_contact(inputs: PlanningInput) -> int | None:
    """The contact to whom a new mail is: the verb says to mail it, or they have written none to answer."""
    addressed = addressed_contact(inputs)
    if addressed is None:
        return None
    person, is_mail = addressed
    is_new = is_mail or not have_written({person}, inputs)
    return person if is_new and inputs.user.contacts[person].email else None


def answers_no_mail(inputs: PlanningInput) -> bool:
    """Whether the request says to answer somebody who wrote nothing: that is a new mail."""
    people = answered_people(inputs)
    return bool(people) and not have_written(people, inputs)


def answers_only_mail(inputs: PlanningInput) -> bool:
    """Whether the request says what to answer to one contact, of whom there is one mail."""
    people = answered_people(inputs)
    match = REPLY.match(inputs.request.text)
    if len(people) != 1 or match is None or not _SAYING.search(inputs.request.text, match.end()):
        return False
    senders = [inputs.people.index(sender_of(hit.item)) for hit in inputs.hits if sender_of(hit.item)]
    return sum(sender in people for sender in senders) == 1

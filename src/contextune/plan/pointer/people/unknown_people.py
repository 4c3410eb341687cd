"""People whom an order names and no contact is: "Call the police", "Email Zebulon that …"."""

import re

from contextune.context.signals.people import relation_synonyms
from contextune.context.stop_words import STOP_WORDS
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.job_titles import is_job_title
from contextune.plan.pointer.people.named_people import RINGING
from contextune.plan.pointer.request_words import folded_words
from contextune.plan.pointer.values.dialled_numbers import said_numbers
from contextune.search import tokenize
from contextune.types import Item

_START = r"\W*(?:(?:[Pp]lease|[Cc]an you|[Cc]ould you|[Jj]ust|[Ss]o|[Aa]nd|[Hh]ey|[Oo]k(?:ay)?|[Nn]ow),? )*"
_NAME = r"(?!I\b)[^\W\d_a-z][\w'’-]*(?: (?!I\b)[^\W\d_a-z][\w'’-]*){0,2}"
_CALLED = re.compile(
    rf"{_START}(?:(?:[Cc]all|[Pp]hone|[Rr]ing|[Dd]ial)(?: up)?|[Gg]ive(?=.* an? (?:quick )?{RINGING}\b)) "
    rf"(?P<who>(?:[Mm]y|[Tt]he|[Oo]ur) [^\W\d_]+(?: [^\W\d_]+)?|{_NAME}|[^\W\d_]+)"
    rf"(?: up| back| now| please| for me| again| an? (?:quick )?{RINGING})*[\s.!?]*$"
)
_WRITTEN_TO = re.compile(
    rf"{_START}(?:(?:[Ee]-?mail|[Mm]ail|[Tt]ext|[Mm]essage|[Tt]ell|[Aa]sk|[Ii]nform|[Ww]arn|[Tt]hank)"
    r"|[Ww]rite(?: an? (?:e-?mail|mail|message))? to"
    r"|[Ss]end an? (?:e-?mail|mail|message|text) to) "
    rf"(?P<who>{_NAME}(?=\s|[:,]|\W*$)|(?:[Mm]y|[Tt]he|[Oo]ur) [^\W\d_]+(?= (?:that|whether|if)\b|:))"
)
_GENERIC = frozenset(
    folded_words("""
    number caller call calls person people guy woman man girl boy lady one ones others everyone somebody
    someone him her them it me us back off out in up for a an on round around again last same next
    """)
)
"""Words that stand for somebody without saying who."""


def called_stranger(inputs: PlanningInput) -> str | None:
    """The role or the name of somebody to call of whom nothing is stored: "the police"."""
    match = _CALLED.match(inputs.request.text)
    if match is None:
        return None
    who = match["who"]
    is_plain = who.islower() and not re.match(r"(?:my|the|our) ", who)
    if is_plain and len(relation_synonyms(who)) < 2:  # "call mum", but not "call off"
        return None
    return stranger_in(match, inputs)


def addressed_stranger(inputs: PlanningInput) -> str | None:
    """The name or the role of somebody to write to of whom nothing is stored: "Tell Zebulon that …"."""
    match = _WRITTEN_TO.match(inputs.request.text)
    return None if match is None else stranger_in(match, inputs)


def stranger_in(match: re.Match[str], inputs: PlanningInput) -> str | None:
    """The role or the name in the group "who" of a match, if nothing is stored of such a person."""
    start, end = match.span("who")
    if any(name.words and name.start < end and start < name.end for name in inputs.names):
        return None
    said = re.sub(r"^(?:my|the|our) ", "", match["who"], flags=re.IGNORECASE)
    words = frozenset(folded_words(said)) - STOP_WORDS
    if not words or words & _GENERIC or any(inputs.people.count_relation_matches(tokenize(said))):
        return None
    if is_job_title(said, inputs):
        return None
    roles = tokenize(" ".join(contact.relation or "" for contact in inputs.user.contacts))
    if any(role.startswith(tuple(words)) for role in roles):  # "physio"
        return None
    stored = (_leads_to(hit.item, words) for hit in inputs.hits)
    names = (words.intersection(folded_words(contact.name)) for contact in inputs.user.contacts)
    places = words.intersection(folded_words(" ".join(inputs.user.places)))
    return None if any(stored) or any(names) or places else said


def _leads_to(item: Item, words: frozenset[str]) -> bool:
    """Whether an item says one of the words, and whom or what number to call."""
    return bool(words.intersection(folded_words(item.text))) and bool(item.people or said_numbers(item.text))

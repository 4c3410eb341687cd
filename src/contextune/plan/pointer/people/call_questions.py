"""Questions about past calls: "Any missed calls?", "Did my sister ring?", "When did I last talk to Jan?"."""

import re

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.people.named_people import contact_in
from contextune.plan.pointer.people.unknown_people import stranger_in

_START = r"\W*(?:(?:please|can you|could you|just|so|and|hey|ok(?:ay)?|tell me|do you know|check),? ){0,8}"
_CALLED = r"(?:called|rang|rung|phoned|tried to (?:call|ring|phone|reach))"
_CALL = r"(?:call|ring|phone|try to (?:call|ring|phone|reach))"
_TIME = (
    r"(?:,? (?:today|yesterday|tonight|lately|recently|earlier|just now|last|already|yet|again|back|please"
    r"|this \w+|last \w+)){0,8}"
    r"(?:,? (?:while|when|before|after|since|at|on|in|during|around) [^.;!?]{1,300})?[\s.!?]*$"
)
_TO_ME = r"(?: me| us| here| my (?:phone|number|mobile))?"
_ANYBODY = r"(?:any|some)(?:one|body)(?: else)?"
_ALL = (
    re.compile(
        rf"{_START}who(?:['’]?s| has| have|['’]ve|['’]d| had)?(?: just| also| all)? {_CALLED}{_TO_ME}{_TIME}",
        re.IGNORECASE,
    ),
    re.compile(rf"{_START}(?:did|has|have) {_ANYBODY} (?:{_CALL}|{_CALLED}){_TO_ME}{_TIME}", re.IGNORECASE),
    re.compile(
        rf"{_START}(?:(?:are|were) there |(?:do|did) (?:i|we) (?:have |get )?|have (?:i|we)(?: got| had)? "
        r"|show(?: me)? |list |what(?:['’]s| are| were) |which )?(?:any |my |the |all |new ){0,8}"
        rf"(?:missed (?:phone )?calls?|(?:miss|missed) (?:a|any|some) (?:phone )?calls?)"
        rf"(?: (?:do|did|have) (?:i|we)(?: have| get| got| had)?)?{_TIME}",
        re.IGNORECASE,
    ),
)
_OF_PERSON = (
    re.compile(
        rf"{_START}(?:did|has|have) (?P<who>\S.{{0,300}}?) (?:{_CALL}"
        rf"|{_CALLED}){_TO_ME}{_TIME}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_START}when did (?:i|we) last (?:(?:speak|talk) (?:to|with)|call|ring|phone)"
        rf" (?P<who>\S.{{0,300}}?){_TIME}",
        re.IGNORECASE,
    ),
    re.compile(rf"{_START}when did (?P<who>\S.{{0,300}}?) (?:last )?{_CALL}{_TO_ME}{_TIME}", re.IGNORECASE),
    re.compile(
        rf"{_START}(?:did (?:i|we) (?:miss|get|have)|have (?:i|we) (?:missed|had)|(?:was|were|is|are) there) "
        rf"(?:a |an |any |some |the )?(?:missed )?(?:phone )?calls? from (?P<who>\S.{{0,300}}?){_TIME}",
        re.IGNORECASE,
    ),
)


def asks_for_calls(inputs: PlanningInput) -> bool:
    """Whether a request asks who called, or whether or when one contact did."""
    return any(pattern.match(inputs.request.text) for pattern in _ALL) or asked_caller(inputs) is not None


def asks_for_calls_of_role(text: str) -> bool:
    """Whether a request asks if somebody called who may be no contact: "Did the school ring?"."""
    matches = (pattern.match(text) for pattern in _OF_PERSON)
    return any(match["who"].casefold() not in ("i", "we", "you") for match in matches if match)


def asked_caller(inputs: PlanningInput) -> int | None:
    """The contact of whom the request asks whether, or when, they called."""
    people = (contact_in(pattern, inputs) for pattern in _OF_PERSON)
    return next((person for person in people if person is not None), None)


def names_unknown_caller(inputs: PlanningInput) -> bool:
    """Whether the request asks for calls of somebody of whom nothing is stored: "Did Zebulon ring?"."""
    matches = (pattern.match(inputs.request.text) for pattern in _OF_PERSON)
    return any(
        match["who"][0].isupper() and stranger_in(match, inputs) is not None for match in matches if match
    )

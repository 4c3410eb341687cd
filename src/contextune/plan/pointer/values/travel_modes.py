"""How a request says to travel, in the values that an argument takes: "on foot" is `walking`."""

import re
from collections.abc import Iterator, Sequence

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.values.candidate import Candidate
from contextune.plan.schema import Parameter
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Source

MODE_END = (
    r"(?:on foot|walking|driving|cycling|biking|(?:by|via|using|on|taking|with)(?: the| my| a)? (?:foot|car|"
    r"bike|bicycle|bus|coach|train|tram|metro|subway|underground|tube|ferry|public trans(?:port|it)|transit))"
)
"""What says the means of travel after a place, as a regular expression."""
_MEANS = {
    "walking": ("walk", "walking", "foot", "pedestrian", "on_foot", "by_foot"),
    "driving": ("drive", "driving", "car", "auto"),
    "cycling": ("cycle", "cycling", "bike", "biking", "bicycle", "bicycling"),
    "transit": (
        *("transit", "public transport", "public transit", "bus", "coach", "train", "tram", "metro"),
        *("subway", "underground", "tube", "ferry"),
    ),
}
_ANY_TRANSIT = frozenset(["transit", "public transport", "public transit"])
_SAID = re.compile(
    r"\b(?:on|by|via|using|taking|take|with)(?: the| my| a)? (?P<means>foot|car|bike|bicycle|bus|coach|train"
    r"|tram|metro|subway|underground|tube|ferry|public trans(?:port|it)|transit)\b"
    r"(?! (?:stop|station|terminal|museum|park|shop|rental)\b)"
    r"|\b(?P<verb>walk|drive|cycle|bike)(?: me| us)?(?: from here| over| back)? (?:to|home)\b"
    r"|\b(?P<doing>walking|driving|cycling|biking) (?:directions|route|time)\b"
    r"|\b(?P<last>walking|driving|cycling|biking)[\s.!?]*$",
    re.IGNORECASE,
)
_MODES = frozenset(["mode", "transport", "transportation", "travel", "means"])


def said_mode(inputs: PlanningInput, parameter: Parameter) -> list[Candidate]:
    """The value for the means of travel that the request says; none if the argument takes no such value."""
    if _MODES.isdisjoint(parameter.words) or parameter.kind not in ("text", "choice"):
        return []
    said = {match[match.lastgroup or 0].casefold(): match[0] for match in _SAID.finditer(inputs.request.text)}
    values = list(parameter.choices or listed_values(parameter))
    found = {value: words for means, words in said.items() if (value := _value(means, values)) is not None}
    if len(found) != 1:
        return []
    ((value, words),) = found.items()
    return [Candidate(value, "choice", (Source("said", words=words.strip()),))]


def listed_values(parameter: Parameter) -> Iterator[str]:
    """Values listed in the description: "walking, driving, transit or cycling"."""
    text = parameter.description.casefold()
    if "," in text or " or " in text:
        pieces = text.replace(" or ", ",").split(",")
        yield from (piece.strip() for piece in pieces if piece.strip().isalpha())


def _value(means: str, values: Sequence[object]) -> object:
    """The value for a means of travel: that very one, else one for its kind; None if there is none."""
    names = {value: " ".join(identifier_words(str(value)) or tokenize(str(value))) for value in values}
    kind = next((words for words in _MEANS.values() if means in words), ())
    wanted = _ANY_TRANSIT if means in _MEANS["transit"] else frozenset(kind)
    same = [value for value, name in names.items() if name == means]
    return next(iter(same or [value for value, name in names.items() if name in wanted]), None)

"""Find fields with times by the words of their names and by their values.

A field whose role is not clear is the start of something: unlike the time of creation, it hides the item from
no request.
"""

from collections.abc import Mapping
from functools import lru_cache

from contextune.types.field_names import snake_case
from contextune.types.field_values import is_iso_time, read_time

_WORDS_BY_ROLE = {
    "due": "due deadline expires expiry expiration",
    "end": "end ends until arrival arrives arrive finish finishes finished return returns checkout stop",
    "start": "start starts begin begins departure departs depart when scheduled checkin",
    "made": "created made sent received posted updated modified edited added saved taken captured recorded "
    "logged seen viewed opened played visited ordered purchased paid published issued timestamp ts mtime",
}
_ROLES = {word: role for role, words in _WORDS_BY_ROLE.items() for word in words.split()}
_TIME_WORDS = frozenset(["at", "on", "date", "day", "time", "datetime", "epoch"])
"""Last words of names of times that say nothing of the role."""
_NEVER = frozenset(["birth", "birthday", "birthdate", "born", "dob", "anniversary", "wedding"])
"""Words of names of times at which the item neither was made nor takes place."""


@lru_cache(maxsize=4096)
def role_of(name: str) -> str | None:
    """The role of a field whose name tells that it holds a time; None for any other field."""
    words = snake_case(name).split("_")
    if not _NEVER.isdisjoint(words):
        return None
    for role in _WORDS_BY_ROLE:
        if any(_ROLES.get(word) == role for word in words):
            return role
    return "start" if len(words) > 1 and words[-1] in _TIME_WORDS else None


def infer_times(fields: Mapping[str, object], times: Mapping[str, str]) -> dict[str, str]:
    """The fields of roles that are not in `times`, by role.

    A name that tells of a time may hold any format; under any other name only ISO 8601 is a time, since
    numbers may be something else, and only if the item has no other time.
    """
    inferred: dict[str, str] = {}
    for name, value in fields.items():
        role = role_of(name)
        if role and role not in times and role not in inferred and read_time(value) is not None:
            inferred[role] = name
    if not times and not inferred:
        for name, value in fields.items():
            if is_iso_time(value) and _NEVER.isdisjoint(snake_case(name).split("_")):
                return {"start": name}
    return inferred

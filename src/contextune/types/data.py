"""A user, their contacts and their usage events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from contextune.errors import InvalidDataError
from contextune.types.time_place import PlaceLocation


@dataclass(frozen=True, slots=True)
class UsageEvent:
    """The user opened, played or called the item with this id, at this time and place."""

    item: str
    time: datetime
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Contact:
    """A person in the user's address book. `more` keeps all other fields of the entry."""

    name: str
    email: str | None = None
    phone: str | None = None
    relation: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True)
class User:
    """The owner of a set of items: profile, named places, contacts and time zone.

    A place has coordinates, or an address as text. Distances are computed for those with coordinates only.
    """

    id: str
    profile: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    places: Mapping[str, PlaceLocation] = field(default_factory=dict[str, PlaceLocation], hash=False)
    contacts: tuple[Contact, ...] = ()
    zone: ZoneInfo | None = None

    def __post_init__(self) -> None:
        if not self.id:
            raise InvalidDataError("a user needs a non-empty id")

    @property
    def addresses(self) -> frozenset[str]:
        """The user's mail addresses in lower case: `email` in the profile, a string or a list."""
        value = self.profile.get("email") or ()
        addresses: tuple[object, ...] = (value,) if isinstance(value, str) else tuple(value)
        return frozenset(str(address).casefold() for address in addresses)

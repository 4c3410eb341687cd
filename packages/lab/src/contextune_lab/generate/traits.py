"""Seed traits of a persona: country, age, work, household and time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from contextune_lab.generate.quotas import seeded_random

Value = TypeVar("Value")

_COUNTRIES = (
    "Argentina", "Australia", "Austria", "Bangladesh", "Belgium", "Bolivia", "Brazil", "Canada", "Chile",
    "Colombia", "Croatia", "Czechia", "Denmark", "Egypt", "Estonia", "Ethiopia", "Finland", "France",
    "Georgia", "Germany", "Ghana", "Greece", "Hungary", "Iceland", "India", "Indonesia", "Ireland",
    "Italy", "Jamaica", "Japan", "Jordan", "Kenya", "Malaysia", "Mexico", "Morocco", "Nepal",
    "the Netherlands", "New Zealand", "Nigeria", "Norway", "Peru", "the Philippines", "Poland",
    "Portugal", "Romania", "Senegal", "Singapore", "South Africa", "South Korea", "Spain", "Sri Lanka",
    "Sweden", "Switzerland", "Taiwan", "Tanzania", "Thailand", "Turkey", "the United Kingdom",
    "the United States", "Uruguay", "Vietnam",
)  # fmt: skip
_FIELDS = (
    "farming", "fishing", "forestry", "mining", "food and baking", "textiles", "metal work", "wood work",
    "building", "plumbing and heating", "electrical work", "vehicle repair", "road transport", "railways",
    "shipping and harbours", "aviation", "post and parcels", "retail", "hotels", "restaurants", "travel",
    "publishing", "music", "theatre and film", "visual arts", "software", "telecommunications", "banking",
    "insurance", "property", "law", "accounting", "architecture", "engineering", "laboratory science",
    "veterinary care", "public offices", "police and rescue", "primary schools", "universities",
    "hospitals", "care of the elderly", "social work", "museums and libraries", "sports", "hairdressing",
    "gardening", "translation", "studies", "an apprenticeship", "looking after family",
    "retirement after a long career",
)  # fmt: skip
_HOUSEHOLDS = (
    "alone", "with a partner", "with a partner and small children", "as a single parent",
    "with teenagers", "with parents", "in a shared flat", "with a partner, children and a grandparent",
    "with a sibling", "alone, with children who have moved out", "part of the week away for work",
)  # fmt: skip
_YOUNGEST, _OLDEST = 17, 84
_FIRST_DAY = datetime(2023, 1, 2)
_DAYS = 1_000


@dataclass(frozen=True, slots=True)
class Traits:
    """Given traits of a persona; a model invents the rest."""

    country: str
    age: int
    field: str
    household: str
    now: datetime
    """The time of the snapshot: items lie before it, queries after."""


def draw_traits(number: int, seed: int = 0) -> Traits:
    """The traits of a persona number; every list is used up before it repeats."""
    age = _draw(seed, "age", number, range(_YOUNGEST, _OLDEST + 1))
    fields = [field for field in _FIELDS if _suits(field, age)]
    return Traits(
        country=_draw(seed, "country", number, _COUNTRIES),
        age=age,
        field=_draw(seed, "field", number, fields),
        household=_draw(seed, "household", number, _HOUSEHOLDS),
        now=_FIRST_DAY
        + timedelta(
            days=_draw(seed, "day", number, range(_DAYS)),
            hours=seeded_random(seed, "hour", number).randint(8, 20),
        ),
    )


def _suits(field: str, age: int) -> bool:
    if field.startswith("retirement"):
        return age >= 60
    if field in ("studies", "an apprenticeship"):
        return age <= 30
    return 19 <= age <= 72


def _draw(seed: int, name: str, number: int, values: Sequence[Value]) -> Value:
    round_, position = divmod(number, len(values))
    return values[seeded_random(seed, name, round_).sample(range(len(values)), len(values))[position]]

"""Numbers of a request with their units, and the unit that an argument wants: "5 miles" is 8.05 km.

Durations are those of `contextune.time_phrases`; months and years have no fixed length, so they are none.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from contextune.plan.schema import Parameter
from contextune.plan.values import DIGITS, NUMBER_WORDS, find_durations, locate_numbers, read_number
from contextune.search.tokenize import identifier_words

Dimension = Literal["", "time", "length", "mass", "volume", "temperature", "data", "speed", "share", "money"]
"""What is measured; empty for a number without a unit."""

_UNITS: Mapping[Dimension, Mapping[str, float]] = {
    "time": {
        "milliseconds millisecond millis ms": 0.001,
        "seconds second secs sec s": 1,
        "minutes minute mins min": 60,
        "hours hour hrs hr h": 3600,
        "days day": 86400,
        "weeks week": 604800,
    },
    "length": {
        "millimetres millimetre millimeters millimeter mm": 0.001,
        "centimetres centimetre centimeters centimeter cm": 0.01,
        "metres metre meters meter m": 1,
        "kilometres kilometre kilometers kilometer kms km": 1000,
        "inches inch": 0.0254,
        "feet foot ft": 0.3048,
        "yards yard yd": 0.9144,
        "miles mile mi": 1609.344,
    },
    "mass": {
        "milligrams milligram mg": 0.001,
        "grams gram g": 1,
        "kilograms kilogram kilos kilo kg": 1000,
        "tonnes tonne": 1e6,
        "ounces ounce oz": 28.349523125,
        "pounds pound lbs lb": 453.59237,
    },
    "volume": {
        "millilitres millilitre milliliters milliliter ml": 0.001,
        "centilitres centilitre centiliters centiliter cl": 0.01,
        "litres litre liters liter l": 1,
        "gallons gallon gal": 3.785411784,
    },
    "data": {
        "bytes byte": 1,
        "kilobytes kilobyte kb": 1024,
        "megabytes megabyte mb mib": 1024**2,
        "gigabytes gigabyte gb gib": 1024**3,
        "terabytes terabyte tb tib": 1024**4,
    },
    "speed": {"kmh kph km/h": 1 / 3.6, "mph": 0.44704, "m/s": 1},
    "share": {"percentage percent pct %": 0.01},
    "temperature": {
        "degrees degree deg °": 1,
        "celsius centigrade °c c": 1,
        "fahrenheit °f f": 1,
        "kelvin k": 1,
    },
}
"""The units of each dimension by their spellings, in multiples of one of them."""
_FACTORS: Mapping[str, tuple[Dimension, float]] = {
    word: (dimension, factor)
    for dimension, units in _UNITS.items()
    for words, factor in units.items()
    for word in words.split()
}
_CURRENCIES = {
    **dict.fromkeys(("€", "euro", "euros", "eur"), "EUR"),
    **dict.fromkeys(("$", "dollar", "dollars", "usd", "bucks"), "USD"),
    **dict.fromkeys(("£", "gbp", "quid"), "GBP"),
    **dict.fromkeys(("chf", "francs"), "CHF"),
    **dict.fromkeys(("¥", "yen", "jpy"), "JPY"),
}
_CENTS = frozenset(["cents", "cent", "pence"])
_SHARES = frozenset(["share", "fraction", "ratio", "proportion"])
_SCALES: Mapping[str, tuple[float, float]] = {
    "C": (1.0, 0.0),
    "F": (5 / 9, -160 / 9),
    "K": (1.0, -273.15),
}
"""Temperatures as Celsius: factor and offset."""
_SPELT = {"celsius": "C", "centigrade": "C", "c": "C", "fahrenheit": "F", "f": "F", "kelvin": "K", "k": "K"}
_SHORT = 2
"""Letters of abbreviated units, which are units in the names of arguments, but hardly in prose."""


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_QUANTITY = re.compile(
    rf"(?P<sign>[€$£¥] ?)?(?P<number>{DIGITS}|\b{NUMBER_WORDS})"
    rf"(?:[ -]?(?P<unit>(?:degrees? |° ?)(?:celsius|centigrade|fahrenheit|[cfk])|"
    rf"{_alternatives({*_FACTORS, *_CURRENCIES} - {'c', 'f', 'k'})}|[cfk])(?![\w/]))?",
    re.IGNORECASE,
)


_CURRENCY = re.compile(rf"(?<![^\W\d_])(?:{_alternatives(_CURRENCIES)})(?![^\W\d_])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of a request; `amount` is in the unit that is said, `base` in that of its dimension."""

    amount: float
    base: float
    dimension: Dimension
    unit: str
    """The code of a currency, the letter of a scale of temperature; empty for others."""
    first: int
    last: int
    """The range of its characters, with the unit."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What an argument measures, by its name, its description and its limits."""

    dimension: Dimension
    factor: float = 1.0
    unit: str = ""


@lru_cache(maxsize=256)
def find_quantities(text: str) -> tuple[Quantity, ...]:
    """The numbers of a text in order, each with its unit if it has one."""
    found = [
        Quantity(length.total_seconds(), length.total_seconds(), "time", "", first, last)
        for length, first, last in find_durations(text)
    ]
    taken = [(each.first, each.last) for each in found]
    for match in _QUANTITY.finditer(text):
        unit = match["unit"] or (match["sign"] or "").strip()
        if not unit or _overlaps(match.span(), taken):
            continue
        quantity = _quantity(read_number(match["number"]), unit, *match.span())
        found.append(quantity)
        taken.append(match.span())
    for value, first, last in locate_numbers(text):
        if not _overlaps((first, last), taken):
            found.append(Quantity(value, value, "", "", first, last))
    return tuple(sorted(found, key=lambda each: each.first))


def find_currencies(text: str) -> list[tuple[str, int, int]]:
    """The codes of the currencies that a text names, each with its start and end."""
    return [(_CURRENCIES[match.group().casefold()], *match.span()) for match in _CURRENCY.finditer(text)]


def _quantity(amount: float, words: str, first: int, last: int) -> Quantity:
    low = words.casefold()
    if low in _CURRENCIES:
        return Quantity(amount, amount, "money", _CURRENCIES[low], first, last)
    name = low.replace("°", "degrees ").split()
    if _FACTORS.get(low, ("temperature", 1))[0] == "temperature":
        scale = _SPELT.get(name[-1], "")
        factor, offset = _SCALES[scale or "C"]
        return Quantity(amount, amount * factor + offset, "temperature", scale, first, last)
    dimension, factor = _FACTORS[low]
    return Quantity(amount, amount * factor, dimension, "", first, last)


def _overlaps(place: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    return any(first < place[1] and place[0] < last for first, last in taken)


def measure_of(parameter: Parameter) -> Measure | None:
    """What a number measures; None if neither name nor description nor limits say it."""
    if parameter.kind == "duration":
        return Measure("time")
    described = identifier_words(parameter.description)
    for words, least in ((parameter.words[::-1], 0), (described, _SHORT)):
        for place, word in enumerate(words):
            behind_in = words is described and place > 0 and words[place - 1] == "in"
            if word in _FACTORS and (len(word) > least or behind_in):
                return _unit_measure(word, [*parameter.words, *described])
            if word in _CURRENCIES:
                return Measure("money", 1.0, _CURRENCIES[word])
            if word in _CENTS:
                return Measure("money", 0.01)
    if parameter.schema.get("maximum") == 1 and parameter.kind == "number":
        return Measure("share", 1.0)
    return Measure("share", 1.0) if _SHARES & {*parameter.words, *described} else None


def _unit_measure(word: str, words: Sequence[str]) -> Measure:
    dimension, factor = _FACTORS[word]
    if dimension == "temperature":
        return Measure(dimension, 1.0, next((_SPELT[each] for each in (word, *words) if each in _SPELT), ""))
    return Measure(dimension, factor)


def in_unit_of(quantity: Quantity, parameter: Parameter) -> float | None:
    """The number of a quantity in the unit of an argument; None if the argument measures something else."""
    measure = measure_of(parameter)
    if measure is None or not quantity.dimension:
        return _as_said(quantity, parameter, measure)
    if measure.dimension != quantity.dimension:
        return None
    if measure.dimension == "money":
        same = not measure.unit or measure.unit == quantity.unit
        return _rounded(quantity.base / measure.factor) if same else None
    if measure.dimension == "temperature" and measure.unit and quantity.unit:
        factor, offset = _SCALES[measure.unit]
        return _rounded((quantity.base - offset) / factor)
    if measure.dimension == "temperature":
        return quantity.amount
    return _rounded(quantity.base / measure.factor)


def _as_said(quantity: Quantity, parameter: Parameter, measure: Measure | None) -> float | None:
    if measure is not None and measure.dimension == "share":  # "brightness 30" of a share from 0 to 1
        return _rounded(quantity.amount * 0.01 / measure.factor if quantity.amount > 1 else quantity.amount)
    if measure is None and quantity.dimension == "share" and parameter.schema.get("maximum") == 1:
        return _rounded(quantity.base)
    return quantity.amount


def _rounded(value: float) -> float:
    return round(value, 6)

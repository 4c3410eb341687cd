"""What a request states of the arguments of a call, so that no model has to weigh it against anything else.

"for 25 minutes" is a length of time, "voucher SPRING26" and "12 replicas" stand beside the name of their
argument, an option of a schema or a mail address is said as it is, "without gift wrap" denies a yes or no.
What is said beats what is stored: an argument that is stated takes one of the stated values. Among several
the ranker chooses, and words that state one argument do not fill another.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from contextune.plan.arguments.leaves import EACH, Leaf
from contextune.plan.arguments.options import ValueOption
from contextune.plan.arguments.people import NAMED
from contextune.plan.arguments.quantities import Quantity, find_quantities, measure_of
from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import is_valid
from contextune.plan.words import folded_words
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Contact, Tool

Place = tuple[int, int]
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r"[\"“”«»][^\"“”«»]{2,80}[\"“”«»]")
_AND = re.compile(r"\s*(?:,|,? and|&)\s*")
"""Between two numbers of one list."""
_DENIED = re.compile(
    r"\b(?:without|no|not|never|skip|don['’]?t|doesn['’]?t|non)\b[^,.;:!?]{0,16}\Z", re.IGNORECASE
)
_DENIALS = frozenset(["no", "not", "non", "without", "skip", "disable", "exclude", "ignore"])
_OPPOSITES = ("un", "non", "dis", "de")
"""Beginnings of words that mean the opposite: mute and unmute."""
_MEANING = re.compile(
    r"\b(true|false)\b\W{0,3}(?:to|for|if|means|when|=)?\W{0,3}([a-z]{3,20})", re.IGNORECASE
)
"""What the description of a yes or no says of its values: "true to mute, false to unmute"."""
_EMPTY_WORDS = frozenset(
    tokenize("""
    a an and any as at be by do enable enabled false flag for from how if in is it its many name number of
    on only or set should that the this to true use value which whether with
    """)
)
"""Words that say nothing of what an argument takes."""
_LOWEST = frozenset(["low", "lower", "lowest", "least", "min", "minimum", "above", "over"])
_HIGHEST = frozenset(["high", "higher", "highest", "most", "max", "maximum", "upper", "below", "under"])
_IDS = frozenset(tokenize("id uid uuid key code number no ref reference iban sku version serial"))
"""Words of the names of arguments that take an identifier."""
_PEOPLE = frozenset(
    tokenize("guest attendee participant recipient member invitee people person contact notify")
)
_MONEY = frozenset(tokenize("amount price cost sum total fee budget salary tip payment"))
_STARTS = frozenset(tokenize("start from begin beginning since first low min origin source departure"))
_STOPS = frozenset(tokenize("end to until stop finish last high max destination target return arrival"))
_ENDS = {"from": _STARTS, "to": _STOPS}
"""Names of arguments that take the ends of a way, of a time and of a range."""
_LEADS = (
    (frozenset(["from", "since", "starting"]), _STARTS),
    (frozenset(["to", "into", "in", "until", "till"]), _STOPS),
)
"""Words that lead to a start and to an end."""
_NAMES = frozenset(tokenize("name title label subject"))
_TITLES = frozenset(tokenize("title label subject"))
_REACH, _NEAR, _DESCRIBED = 4, 1.0, 0.6
"""Words between a number and its argument, and what a word of the name and the description is worth."""
_COUNTED, _LEAST = 0.5, 0.25
"""What the word right behind a number is worth in addition, and least worth without a unit."""
_UNIT, _EXACT = 3.0, 5.0
"""What a unit or an option, and a format are worth."""
_SAID_FIRST = 3.0
"""Weight of a time that is said, in its likeliest reading."""


@dataclass(frozen=True, slots=True)
class StatedValue:
    """An option of an argument that the request states: where, and how plainly."""

    leaf: int
    option: int
    place: Place
    worth: float


@dataclass(frozen=True)
class StatedValues:
    """The options that the request states for some arguments, and the words that each takes."""

    by_leaf: Mapping[int, Sequence[StatedValue]] = field(default_factory=dict[int, Sequence[StatedValue]])
    taken: frozenset[Place] = frozenset()


@dataclass(frozen=True, eq=False)
class _Statement:
    """Finds what one request states of the arguments of one tool."""

    inputs: PlanningInput
    tool: Tool
    leaves: Sequence[Leaf]
    options: Sequence[Sequence[ValueOption]]

    @cached_property
    def text(self) -> str:
        """The request; what it quotes states nothing but itself."""
        return _QUOTED.sub(lambda match: " " * len(match.group()), self.inputs.request.text)

    @cached_property
    def words(self) -> list[tuple[str, int, int]]:
        """The words of the request with their places."""
        return [
            (_folded(match.group()), *match.span()) for match in _WORD.finditer(self.text) if match.group()
        ]

    @cached_property
    def tool_words(self) -> frozenset[str]:
        """The words of the tool itself, which are no evidence for one of its arguments."""
        return frozenset(
            map(_folded, (*identifier_words(self.tool.name), *_WORD.findall(self.tool.description)))
        )

    @cached_property
    def time_places(self) -> list[Place]:
        """Where the request says times that are no lengths of time."""
        return [(each.first, each.last) for each in self.inputs.time_phrases if each.kind != "duration"]

    @cached_property
    def _lengths(self) -> list[Place]:
        """Where the request says lengths of time, if an argument takes one: "in 52 minutes" is no moment."""
        measures = [measure_of(leaf.parameter) for leaf in self.leaves]
        if not any(each is not None and each.dimension == "time" for each in measures):
            return []
        return [
            (each.first, each.last)
            for each in find_quantities(self.inputs.request.text)
            if each.dimension == "time"
        ]

    def values(self) -> Iterator[StatedValue]:
        """All that is stated, plain or not."""
        for number, leaf in enumerate(self.leaves):
            match leaf.parameter.kind:
                case "number" | "integer" | "duration":
                    yield from self._numbers(number, leaf)
                case "choice":
                    yield from self._choices(number)
                case "boolean":
                    yield from self._booleans(number, leaf)
                case "text" | "free":
                    yield from self._texts(number, leaf)
                case "day" | "moment":
                    yield from self._times(number, leaf)
                case _:
                    pass

    def _numbers(self, number: int, leaf: Leaf) -> Iterator[StatedValue]:
        measure = measure_of(leaf.parameter)
        for place, option in enumerate(self.options[number]):
            quantity = option.candidate.quantity if option.candidate else None
            if quantity is None:
                continue
            where = (quantity.first, quantity.last)
            near = self.nearness(leaf, where)
            is_unit = bool(quantity.dimension) and measure is not None
            if quantity.dimension == "money":
                is_unit = is_unit or not _MONEY.isdisjoint(
                    word for part in leaf.path for word in identifier_words(part)
                )
            if is_unit or near >= _LEAST or (leaf.table and self.is_plain(quantity)):
                yield StatedValue(number, place, where, near + _UNIT * is_unit)

    def is_plain(self, quantity: Quantity) -> bool:
        """Whether a number has no unit and is no part of a time."""
        where = (quantity.first, quantity.last)
        return not quantity.dimension and not any(_overlap(where, each) for each in self.time_places)

    def nearness(self, leaf: Leaf, where: Place, behind: int = 2) -> float:
        """How near the request says a word of an argument before a place, or just behind it."""
        named = {_folded(word) for part in leaf.path for word in identifier_words(part)} - _EMPTY_WORDS
        described = {_folded(word) for word in _WORD.findall(leaf.parameter.description)}
        described -= _EMPTY_WORDS | self.tool_words
        for limits in (_LOWEST, _HIGHEST):
            if limits & named:
                named |= limits
        said = [each for each in self.words if each[0] not in _EMPTY_WORDS]
        before = [word for word, _, last in said if last <= where[0]][::-1]
        after = [word for word, first, _ in said if first >= where[1]]
        best = float(self._is_led(leaf, where))
        for words in (before[:_REACH], after[:behind]):
            for distance, word in enumerate(words, 1):
                for own, worth in ((named, _NEAR), (described, _DESCRIBED)):
                    if any(_same_word(word, each) for each in own):
                        best = max(best, worth / distance)
        # "30 epochs on 4 GPUs": what is counted stands right behind its number
        counted = next((word for word, first, _ in self.words if first == where[1] + 1), "")
        return best + _COUNTED if any(_same_word(counted, each) for each in named) else best

    def _choices(self, number: int) -> Iterator[StatedValue]:
        found: list[StatedValue] = []
        for place, option in enumerate(self.options[number]):
            if option.group == "choice" and isinstance(option.value, str):
                found += [StatedValue(number, place, where, _UNIT) for where in self._mentions(option.value)]
        for each in found:
            size = each.place[1] - each.place[0]
            wider = (other.place for other in found if other.place[1] - other.place[0] > size)
            if not any(_overlap(each.place, other) for other in wider):
                yield each

    def _mentions(self, value: str) -> Iterator[Place]:
        """Where the request says an option; one of a letter or two as it is written."""
        if len(value) <= 2:
            for match in re.finditer(rf"(?<![\w.-]){re.escape(value)}(?![\w-])", self.text):
                yield match.span()
            return
        wanted = [_folded(word) for word in identifier_words(value)]
        said = [word for word, _, _ in self.words]
        for start in range(len(said) - len(wanted) + 1):
            if wanted and all(map(_same_word, wanted, said[start:])):
                yield self.words[start][1], self.words[start + len(wanted) - 1][2]

    def _booleans(self, number: int, leaf: Leaf) -> Iterator[StatedValue]:
        if (said := self._truth(leaf)) is None:
            return
        value, where = said
        for place, option in enumerate(self.options[number]):
            if option.value is value:
                yield StatedValue(number, place, where, _UNIT)

    def _truth(self, leaf: Leaf) -> tuple[bool, Place] | None:
        """What the request says of a yes or no, by the words of its description and of its name."""
        said = {word: (first, last) for word, first, last in self.words}
        for truth, verb in _MEANING.findall(leaf.parameter.description):
            if (where := said.get(_folded(verb))) is not None:
                return (truth.lower() == "true") is not self._is_denied(where), where
        names = [_folded(word) for word in leaf.parameter.words]
        content = [word for word in names if word not in _EMPTY_WORDS | _DENIALS]
        where = self._all_said(content)
        if where is None or (self.tool_words.issuperset(content) and not self._is_opposite(content)):
            described = [_folded(word) for word in _WORD.findall(leaf.parameter.description)]
            content = [word for word in described if word not in _EMPTY_WORDS | self.tool_words]
            where = self._all_said(content) if len(content) > 1 else None
        if where is None:
            return None
        is_denied = self._is_denied(where) or self._is_opposite(content)
        return is_denied is not _DENIALS.isdisjoint(names), where

    def _all_said(self, wanted: Sequence[str]) -> Place | None:
        """Where the request says the first of some words, if it says them all."""
        places: list[Place] = []
        for word in wanted:
            place = next(
                (
                    (first, last)
                    for said, first, last in self.words
                    if _same_word(word, _plain_form(word, said))
                ),
                None,
            )
            if place is None:
                return None
            places.append(place)
        return min(places, default=None)

    def _is_opposite(self, content: Sequence[str]) -> bool:
        return any(_plain_form(word, said) != said for word in content for said, _, _ in self.words)

    def _is_denied(self, where: Place) -> bool:
        return _DENIED.search(self.text[max(0, where[0] - 30) : where[0]]) is not None

    def _texts(self, number: int, leaf: Leaf) -> Iterator[StatedValue]:
        schema = leaf.parameter.schema
        if schema.get("format") == "time":
            yield from self._times(number, leaf)
            return
        takes_people = leaf.is_list and not _PEOPLE.isdisjoint(
            _folded(word) for part in leaf.path for word in identifier_words(part)
        )
        is_exact = "format" in schema or ("pattern" in schema and self._is_telling(leaf))
        is_id = not _IDS.isdisjoint((*leaf.parameter.words, *identifier_words(leaf.parameter.description)))
        for place, option in enumerate(self.options[number]):
            candidate = option.candidate
            if candidate is None:
                continue
            if candidate.role == "currency":
                # the money itself is another value of the same words
                where = (-(10**7) - candidate.place[0], -(10**7) - candidate.place[0] + 1)
                yield StatedValue(number, place, where, _EXACT + self._is_led(leaf, candidate.place))
            elif candidate.role in _ENDS:
                if self._is_end(leaf, candidate.role):
                    yield StatedValue(number, place, candidate.place, _UNIT)
            elif candidate.role == "named":
                if not _NAMES.isdisjoint(leaf.parameter.words[-1:]):
                    yield StatedValue(number, place, candidate.place, _UNIT)
            elif candidate.group == "said" and candidate.place[0] >= 0 and candidate.role != "quoted":
                near = self.nearness(leaf, candidate.place, behind=0)
                is_code = is_id and not self.is_number(candidate.place)
                worth = near + (_EXACT if is_exact else 1.0 if is_code else 0.0)
                if worth >= _NEAR / 2 and leaf.parameter.kind == "text":
                    yield StatedValue(number, place, candidate.place, worth)
            elif (
                candidate.contact is not None
                and candidate.weight >= NAMED
                and (takes_people or schema.get("format") == "email")
            ):
                where = self._named_at(candidate.contact) or _nowhere(number, place)
                yield StatedValue(number, place, where, _UNIT)

    def _is_led(self, leaf: Leaf, where: Place) -> int:
        """Whether the word before a place is what leads to the start or the end that an argument takes."""
        before = next((word for word, _, last in reversed(self.words) if last <= where[0]), "")
        return int(
            any(before in leads and not ends.isdisjoint(leaf.parameter.words) for leads, ends in _LEADS)
        )

    def is_number(self, where: Place) -> bool:
        """Whether a place is within a number or its unit."""
        quantities = find_quantities(self.inputs.request.text)
        return any(_overlap(where, (each.first, each.last)) for each in quantities)

    def _is_end(self, leaf: Leaf, end: str) -> bool:
        """Whether an argument takes one end of a way, and another argument the other."""
        names = [{*each.parameter.words} for each in self.leaves if each.parameter.kind == "text"]
        has_both = all(any(words & each for each in names) for words in _ENDS.values())
        return has_both and not _ENDS[end].isdisjoint(leaf.parameter.words)

    def _named_at(self, contact: Contact) -> Place | None:
        """Where the request names a contact."""
        index = self.inputs.people.index(contact.name)
        match = self.inputs.names[index] if index is not None else None
        return (match.start, match.end) if match is not None and match.start >= 0 else None

    def _is_telling(self, leaf: Leaf) -> bool:
        """Whether a pattern admits hardly any other word of the request."""
        return sum(is_valid(word, leaf.parameter) for word in self.text.split()[:60]) <= 2

    def _times(self, number: int, leaf: Leaf) -> Iterator[StatedValue]:
        """The only time that is said, for the only argument that takes one."""
        kinds = [_time_kind(each) for each in self.leaves]
        words = {*leaf.parameter.words}
        is_pair = kinds.count(_time_kind(leaf)) == 2 and bool(words & (_STARTS | _STOPS))
        if (kinds.count(_time_kind(leaf)) > 1 and not is_pair) or len(self.time_places) != 1:
            return
        is_span = is_pair and any(each.kind == "span" for each in self.inputs.time_phrases)
        if is_pair and not is_span:
            return
        role = "end" if is_span and words & _STOPS else "said"
        if any(_overlap(self.time_places[0], each) for each in self._lengths):
            return
        if _time_kind(leaf) == "moment" and "day" in kinds:
            return
        for place, option in enumerate(self.options[number]):
            candidate = option.candidate
            if (
                candidate is None
                or candidate.role != role
                or candidate.weight < _SAID_FIRST - (role == "end")
            ):
                continue
            if (
                candidate.group == "time"
                and candidate.source.kind == "time"
                and (_time_kind(leaf) == "day" or not candidate.is_day)
            ):
                yield StatedValue(number, place, _nowhere(number, place), _UNIT)


def stated_values(
    inputs: PlanningInput, tool: Tool, leaves: Sequence[Leaf], options: Sequence[Sequence[ValueOption]]
) -> StatedValues:
    """What the request states of the arguments of a call: the plainest first, words state one argument."""
    statement = _Statement(inputs, tool, leaves, options)
    found = sorted(statement.values(), key=lambda each: -each.worth)
    chosen: dict[int, list[StatedValue]] = {}
    owner: dict[Place, int] = {}
    for each in found:
        # a word of a schema takes no place: "8 C" is a number and a unit
        takes_place = leaves[each.leaf].parameter.kind not in ("choice", "boolean")
        rivals = [number for place, number in owner.items() if _overlap(place, each.place)]
        if takes_place and any(number != each.leaf for number in rivals):
            continue
        kept = chosen.setdefault(each.leaf, [])
        is_list = leaves[each.leaf].is_list
        if kept and not is_list and each.worth < kept[0].worth:
            continue
        kept.append(each)
        if takes_place and (is_list or len(kept) == 1):
            owner[each.place] = each.leaf
    _list_numbers(statement, chosen, owner)
    _fill_last(statement, chosen, owner)
    return StatedValues(chosen, frozenset(owner))


def _list_numbers(
    statement: _Statement, chosen: dict[int, list[StatedValue]], owner: dict[Place, int]
) -> None:
    """Join what is enumerated: "pages 2, 5 and 7" are three."""
    for number, values in chosen.items():
        leaf = statement.leaves[number]
        if not leaf.is_list or leaf.table or leaf.parameter.kind not in ("number", "integer"):
            continue
        last = max(values, key=lambda each: each.worth)
        values[:] = [last]
        for place, option in enumerate(statement.options[number]):
            quantity = option.candidate.quantity if option.candidate else None
            if quantity is None or quantity.first < last.place[1]:
                continue
            where = (quantity.first, quantity.last)
            if (
                _AND.fullmatch(statement.text[last.place[1] : where[0]])
                and owner.get(where, number) == number
            ):
                last = StatedValue(number, place, where, last.worth)
                values.append(last)
                owner[where] = number


def _fill_last(statement: _Statement, chosen: dict[int, list[StatedValue]], owner: dict[Place, int]) -> None:
    """Give a required number the only number that is left, and the only required text the only identifier."""
    taken = [*owner, *(each.place for values in chosen.values() for each in values)]
    texts = [leaf for leaf in statement.leaves if leaf.required and leaf.parameter.kind == "text"]
    for number, leaf in enumerate(statement.leaves):
        if number in chosen or not leaf.required or leaf.is_list:
            continue
        takes_code = len(texts) == 1 and not _is_title(leaf)
        rest: list[StatedValue] = []
        for place, option in enumerate(statement.options[number]):
            candidate = option.candidate
            if candidate is None or any(_overlap(candidate.place, each) for each in taken):
                continue
            is_number = candidate.quantity is not None and statement.is_plain(candidate.quantity)
            is_code = candidate.group == candidate.role == "said" and not statement.is_number(candidate.place)
            if is_number or (is_code and takes_code):
                rest.append(StatedValue(number, place, candidate.place, 0.0))
        if len(rest) == 1:
            chosen[number] = rest
            owner[rest[0].place] = number
            taken.append(rest[0].place)


def _is_title(leaf: Leaf) -> bool:
    """Whether an argument takes a title, which may be anything."""
    described = identifier_words(leaf.parameter.description)
    return not _NAMES.isdisjoint(leaf.parameter.words[-1:]) or not _TITLES.isdisjoint(described)


def _time_kind(leaf: Leaf) -> str:
    kind = leaf.parameter.kind
    return (
        "time" if leaf.parameter.schema.get("format") == "time" else kind if kind in ("day", "moment") else ""
    )


def _nowhere(leaf: int, option: int) -> Place:
    """A place that no other value has: a time may state a day and an hour."""
    first = -2 * (1000 * leaf + option) - 2
    return first, first + 1


def _folded(word: str) -> str:
    return next(iter(folded_words(word)), word.lower())


def _same_word(word: str, other: str) -> bool:
    """Whether two words have one stem: "preheat" and "preheating"."""
    short, long = sorted((word, other), key=len)
    common = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return word == other or (len(short) >= 4 and common >= max(4, len(short) - 1) and len(long) - common <= 3)


def _plain_form(word: str, said: str) -> str:
    """A word that is said without what makes it the opposite of another: "unmute" is of "mute"."""
    for opposite in _OPPOSITES:
        if said.startswith(opposite) and not word.startswith(opposite):
            rest = said.removeprefix(opposite)
            if _same_word(word, rest):
                return rest
    return said


def _overlap(place: Place, other: Place) -> bool:
    return place == other or (place[0] < other[1] and other[0] < place[1])


def columns_of(leaves: Sequence[Leaf]) -> dict[tuple[str, ...], list[int]]:
    """The arguments that are columns of each list of objects."""
    tables: dict[tuple[str, ...], list[int]] = {}
    for number, leaf in enumerate(leaves):
        if EACH in leaf.path:
            tables.setdefault(leaf.table, []).append(number)
    return tables


def align(base: Sequence[Place], places: Sequence[Place]) -> list[int | None]:
    """For each place of `base`, which of `places` belongs to it: the nearest, and each to one."""
    aligned: list[int | None] = [None] * len(base)
    free = set(range(len(places)))
    pairs: Iterable[tuple[int, int, int]] = sorted(
        (_distance(one, other), row, column)
        for row, one in enumerate(base)
        for column, other in enumerate(places)
    )
    for _, row, column in pairs:
        if aligned[row] is None and column in free:
            aligned[row] = column
            free.discard(column)
    return aligned


def _distance(place: Place, other: Place) -> int:
    return max(place[0] - other[1], other[0] - place[1], 0)

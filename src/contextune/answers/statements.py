"""The statements of an item: its time and place, its people, its short fields, and its sentences."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, cast

from contextune._internal.plural import pluralize
from contextune.plan.times.phrases import find_times
from contextune.types import Contact, Item, User, local_time
from contextune.types.field_values import is_day, people_in, read_time, to_text

_SENTENCE_END = re.compile(r"(?<=\w{3}[.!?])\s+(?=\W*[A-Z0-9])|(?<=\d[.!?])\s+(?=[A-Z])|(?<=[。！？])")
# a full stop after two letters, as in "Dr. Rui", does not end a sentence
_WRAPPED = 55
"""A line that is at least this long continues on the next, unless it ends a sentence."""
_LIST_MARK = re.compile(r"\s*(?:[-*•–]|\d{1,2}[.)])\s")
_MAX_SENTENCE, _MAX_SENTENCES = 300, 400
_MAX_FIELD = 60
_MAX_PASSAGE = 220
"""Characters up to which further sentences are shown behind one."""
_HEADER = re.compile(r"(?:from|to|cc|attached|subject)\s*:", re.IGNORECASE)
_FORWARDED = re.compile(r"-{3,}+[^-\n]++-{3,}+\s*+")
_FORWARDED_HEADER = re.compile(r"(?:from|date|sent|subject|to|cc)\s*:", re.IGNORECASE)
_LONG = frozenset(["content", "notes", "text", "body", "note", "description"])
"""Fields of running text, however short."""
_STATES = ("category", "status", "folder", "list", "location", "place")
"""Fields that say little by themselves, or are said elsewhere."""
_MAX_NAMES = 6
_WITHIN_DAYS = frozenset(["today", "tonight", "tomorrow", "yesterday"])


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that an item says."""

    item: Item = field(repr=False)
    text: str
    passage: str
    """As it is shown: a sentence with those behind it, if they are short."""
    is_sentence: bool = True
    """Whether it is from running text; otherwise it is made of fields."""


@dataclass(frozen=True, eq=False)
class StatementReader:
    """Reads items for one user at one moment."""

    user: User
    now: datetime
    """On the clock of the user."""

    def statements(self, item: Item) -> list[Statement]:
        """All statements of an item: its time, place, people and short fields, then its sentences.

        What was only made, such as a mail, has no time and people beside its text: they are its source.
        """
        sentences = [self.dated(sentence, item) for sentence in running_sentences(item)]
        is_made = {"start", "due"}.isdisjoint(item.times)
        moment, people = self.moment(item), self.people(item)
        if not is_made:
            facts = {moment: moment, people: ", ".join(filter(None, (moment, people)))}
        else:
            # a call, a song or a search says by its title what it was, and to whom
            facts = {} if sentences else {people: people, self.line(item): self.line(item)}
        facts |= {field: field for field in self._short_fields(item)}
        facts = {fact: shown for fact, shown in facts.items() if fact}
        if not facts and not sentences:
            facts = {item.label: item.label}
        return [
            *(Statement(item, fact, shown, is_sentence=False) for fact, shown in facts.items()),
            *(
                Statement(item, sentence, _passage(sentences, place))
                for place, sentence in enumerate(sentences)
            ),
        ]

    def moment(self, item: Item) -> str:
        """Time and place: "Fri 27 Nov, 14:00–15:00, the yard"; of what was only made, when that was."""
        values = {role: item.fields.get(name) for role, name in item.schema.times.items()}
        times = item.times
        if "start" in times:
            text = self._when(times["start"], values["start"])
            if "end" in times:
                text += self._until(times["start"], times["end"], values["end"])
        elif "due" in times:
            due, *later = self._due(item)
            text = f"due {due}" + (f", then {later[0]}" if later else "")
        elif "made" in times:
            text = ", ".join(filter(None, (self._when(times["made"], values["made"]), _duration(item))))
        else:
            text = ""
        where = dict.fromkeys(filter(None, (to_text(item.fields.get("location")), _place_name(item))))
        return ", ".join(filter(None, (text, *where)))

    def people(self, item: Item) -> str:
        """The people by their labels, with the names of contacts instead of addresses."""
        schema = item.schema
        parts: list[str] = []
        for name in schema.people:
            if name == schema.title:
                continue
            called = list(dict.fromkeys(map(self.name, filter(None, people_in(item.fields.get(name))))))
            if called:
                more = f" and {len(called) - _MAX_NAMES} more" if len(called) > _MAX_NAMES else ""
                parts.append(f"{schema.text.get(name) or name} {', '.join(called[:_MAX_NAMES])}{more}")
        return ", ".join(parts)

    def name(self, person: str) -> str:
        """What a person is called: the name of the contact with this address or number; "me" for the user."""
        return self._names.get(_person_key(person), person)

    def line(self, item: Item) -> str:
        """The item in one line, for lists."""
        title = self.name(item.label)
        fields = self._short_fields(item) if not list(running_sentences(item)) else []
        return ", ".join(filter(None, (title, *fields[:1], self.moment(item))))

    def day(self, day: date) -> str:
        """A day: "Fri 27 Nov", with the year if it is another one."""
        year = "" if day.year == self.now.year else f" {day.year}"
        return f"{day:%a} {day.day} {day:%b}{year}"

    def dated(self, sentence: str, item: Item) -> str:
        """The sentence with the date behind words like "tomorrow", where only one day can be meant."""
        if item.made is None:
            return sentence
        written = local_time(item.made, self.user.zone)
        for mention in reversed(find_times(sentence, written).days):
            word = mention.words.casefold().strip()
            is_certain = word in _WITHIN_DAYS or len(mention.dates) == 1
            if is_certain and not any(char.isdigit() for char in word):
                end = mention.end
                sentence = f"{sentence[:end]} ({self.day(mention.dates[0])}){sentence[end:]}"
        return sentence

    def _when(self, time: datetime, value: object) -> str:
        shown = local_time(time, self.user.zone)
        return self.day(shown) if is_day(value) else f"{self.day(shown)}, {shown:%H:%M}"

    def _until(self, start: datetime, end: datetime, value: object) -> str:
        first, last = (local_time(time, self.user.zone) for time in (start, end))
        if is_day(value):
            return f" – {self.day(last)}" if last.date() > first.date() else ""
        if last <= first:
            return ""
        return f"–{last:%H:%M}" if first.date() == last.date() else f" – {self._when(end, value)}"

    def _due(self, item: Item) -> list[str]:
        """When a task is due; of a recurring one, from today on."""
        values: list[Any] = [item.fields.get(item.schema.times["due"]), *item.fields.get("occurrences", ())]
        times = [(local_time(time, self.user.zone), value) for value in values if (time := read_time(value))]
        ahead = [pair for pair in times if pair[0].date() >= self.now.date()]
        return [self._when(time, value) for time, value in ahead or times[-1:]]

    def _short_fields(self, item: Item) -> list[str]:
        schema = item.schema
        texts: list[str] = []
        for name, label in schema.text.items():
            if name in (schema.title, schema.title_end, *_STATES, *schema.people):
                continue
            value = to_text(item.fields.get(name))
            if value and name not in _LONG and not _is_running(value):
                texts.append(f"{label}: {value}" if label else value)
        return texts

    @cached_property
    def _names(self) -> Mapping[str, str]:
        names = {_person_key(key): contact.name for contact in self.user.contacts for key in _keys(contact)}
        return names | {_person_key(address): "me" for address in self.user.addresses}


def _duration(item: Item) -> str:
    """How long a call was."""
    seconds: object = item.fields.get("duration_s")
    if not isinstance(seconds, int) or seconds <= 0:
        return ""
    minutes, rest = divmod(seconds, 60)
    parts = ((minutes // 60, "hour"), (minutes % 60, "minute"), (rest, "second"))
    return " ".join(pluralize(count, unit) for count, unit in parts if count)


def _passage(sentences: Sequence[str], first: int) -> str:
    """The sentence at this place, with those behind it as long as they are short together."""
    text = sentences[first]
    for sentence in sentences[first + 1 :]:
        if len(text) + 1 + len(sentence) > _MAX_PASSAGE:
            break
        text = f"{text} {sentence}"
    return text


def running_sentences(item: Item) -> Iterator[str]:
    """The sentences of the long fields, and of a title that is the text of a message."""
    schema = item.schema
    fields = dict.fromkeys([*schema.text, *(name for name in item.fields if name in _LONG)])
    names = [name for name in fields if name not in schema.people and name not in ("location", "folder")]
    count = 0
    for name in names:
        value = to_text(item.fields.get(name))
        if not (name in _LONG or _is_running(value)):
            continue
        for sentence in split_sentences(value):
            yield sentence
            count += 1
            if count == _MAX_SENTENCES:
                return


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, with wrapped lines joined; lines of lists are sentences of their own."""
    for paragraph in _paragraphs(text):
        for sentence in _SENTENCE_END.split(paragraph):
            clean = " ".join(sentence.split())
            while len(clean) > _MAX_SENTENCE:
                cut = clean.rfind(" ", 0, _MAX_SENTENCE)
                cut = cut if cut > 0 else _MAX_SENTENCE
                yield clean[:cut]
                clean = clean[cut:].lstrip()
            if any(char.isalnum() for char in clean) and not _HEADER.match(clean):
                yield clean


def _paragraphs(text: str) -> Iterator[str]:
    lines: list[str] = []
    for line in _without_forwarded_headers(text.splitlines()):
        continues = lines and len(lines[-1]) >= _WRAPPED and line.strip() and not _LIST_MARK.match(line)
        if lines and not continues:
            yield " ".join(lines)
            lines = []
        if line.strip():
            lines.append(line.strip())
    if lines:
        yield " ".join(lines)


def _without_forwarded_headers(lines: Iterable[str]) -> Iterator[str]:
    """The lines without those between "---- Forwarded message ----" and its text."""
    is_header = False
    for line in lines:
        is_header = bool(_FORWARDED.fullmatch(line)) or (is_header and bool(_FORWARDED_HEADER.match(line)))
        if not is_header:
            yield line


def _is_running(value: str) -> bool:
    return len(value) > _MAX_FIELD or "\n" in value or len(_SENTENCE_END.split(value)) > 1


def _place_name(item: Item) -> str:
    place: object = item.place
    return place.replace("_", " ") if isinstance(place, str) else ""


def _keys(contact: Contact) -> Sequence[str]:
    more = contact.more
    listed = (cast("Iterable[object]", more.get(name) or ()) for name in ("emails", "phones"))
    others = [str(value) for values in listed for value in ([values] if isinstance(values, str) else values)]
    return [key for key in (contact.name, contact.email, contact.phone, *others) if key]


def _person_key(person: str) -> str:
    low = person.casefold().strip()
    digits = "".join(char for char in low if char.isdigit())
    return digits[-9:] if len(digits) >= 7 and "@" not in low else low

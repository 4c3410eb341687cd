"""Say a call in plain English: "call Bruno Kosuta", "read the note “Kiln slots”"."""

import unicodedata
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any, cast

from contextune.plan.multi_step.steps import Pointer
from contextune.plan.policy.cost import is_verb, singular
from contextune.plan.schema import Parameter, tool_parameters
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Plan, Tool

_PERSONS = frozenset(
    tokenize("assignee attendee caller contact guest member participant people person recipient to user who")
)
_PREPOSITIONS: Mapping[str, str] = {
    **dict.fromkeys(["recipient", "to", "destination", "assignee"], "to"),
    **dict.fromkeys(["participant", "attendee", "guest", "contacts", "member"], "with"),
    **dict.fromkeys(["contact", "caller", "person", "business"], "of"),
    **dict.fromkeys(["artist", "author"], "by"),
    **dict.fromkeys(["location", "place", "venue", "city", "where"], "in"),
    "sender": "from",
    "near": "near",
    "language": "into",
}
"""Before values that are names, by the last word of the argument's name."""
_BEFORE_TEXTS: Mapping[str, str] = {
    **dict.fromkeys(["body", "message", "content", "text"], "saying"),
    **dict.fromkeys(["query", "topic", "keyword", "q"], "for"),
    "subject": "about",
}
"""Before texts that the assistant composes."""
_NAMES = frozenset(tokenize("id name subject title"))
_PRONOUNS = frozenset(tokenize("it me my us"))
_AFTER_VERBS = frozenset(tokenize("to up off on out back from into for"))
_NEW = frozenset(tokenize("create make new schedule send set start"))
_MOVING = frozenset(tokenize("change move postpone reschedule shift"))
_OTHER_VERBS = frozenset(tokenize("do go return run"))
"""Verbs that say nothing about the cost of a call."""
_MAX_VALUE = 60
"""Characters of a value in a sentence."""


def describe_plan(plan: Plan, tool: Tool) -> str:
    """The whole call as an imperative without capital and full stop."""
    texts = {p.name: value_text(plan.args[p.name], p) for p in tool_parameters(tool) if p.name in plan.args}
    return describe_values(tool, texts)


def describe_values(tool: Tool, texts: Mapping[str, str]) -> str:
    """A call with some of its values, already formatted."""
    words = _spoken_words(tool)
    given = [parameter for parameter in tool_parameters(tool) if parameter.name in texts]
    takes_person = len(words) > 1 and singular(words[-1]) in _PERSONS and any(map(is_person, given))
    parts = [_imperative(tool, words[:-1], article=False) if takes_person else describe_tool(tool)]
    given.sort(key=lambda parameter: _position(parameter, words, takes_person=takes_person))
    for number, parameter in enumerate(given):
        text = texts[parameter.name]
        if parameter.kind in ("moment", "day") and _MOVING.intersection(words[:1]):
            text = f"to {text.removeprefix('on ')}"
        is_object = not number and (takes_person or not is_person(parameter))
        parts.append(f"{_link(tool, parameter, is_object=is_object)}{text}")
    return "".join(parts)


def describe_tool(tool: Tool) -> str:
    """What a tool does, without values: "send an email"."""
    return _imperative(tool, _spoken_words(tool), article=True)


def _spoken_words(tool: Tool) -> list[str]:
    """The words of a tool's name with the verb first: `mail_open` opens mail, as its description says."""
    words = identifier_words(tool.name)
    begins = next(iter(tokenize(tool.description)), "")
    if len(words) == 2 and not words[1].endswith("s"):
        is_said = is_verb(words[1]) and _third_person(words[1], begins)
        if is_said or (is_verb(words[1]) and not is_verb(words[0])):
            return words[::-1]
    return words


def _third_person(verb: str, word: str) -> bool:
    """Whether a word is a verb, or its form with an s."""
    return word in (verb, f"{verb}s", f"{verb}es", f"{verb.removesuffix('y')}ies")


def _imperative(tool: Tool, words: Sequence[str], *, article: bool) -> str:
    if not words or not (is_verb(words[0]) or words[0] in _OTHER_VERBS):
        return f"use {one_line(tool.title or tool.name)}"
    end = 2 if len(words) > 1 and words[1] in _AFTER_VERBS else 1
    verb, noun = list(words[:end]), list(words[end:])
    if noun and article and not noun[-1].endswith("s") and noun[0] not in _PRONOUNS:
        indefinite = "an" if noun[0][0] in "aeiou" else "a"
        noun.insert(0, indefinite if verb[0] in _NEW else "the")
    return " ".join(verb + noun)


def _position(parameter: Parameter, words: Sequence[str], *, takes_person: bool) -> int:
    """The order of values in a sentence: the object, people, places and times, then long texts."""
    if is_person(parameter):
        return 0 if takes_person else 2
    own = [word for word in parameter.words if word not in _NAMES]
    if parameter.kind != "free" and own and own[-1] in words:
        return 0  # the playlist of `add_to_playlist`
    if parameter.kind == "free" and _word(parameter, _BEFORE_TEXTS):
        return 4
    return 1 if parameter.words and parameter.words[-1] in _NAMES else 3


def _link(tool: Tool, parameter: Parameter, *, is_object: bool) -> str:
    """What stands before a value, with the space or comma that divides it from the text before."""
    if parameter.kind in ("moment", "day"):
        return " "
    if is_person(parameter) and is_object:
        return " "
    preposition = _word(parameter, _PREPOSITIONS)
    if preposition == "to" and identifier_words(tool.name)[:1] == ["share"]:
        preposition = "with"
    if preposition:
        return f" {preposition} "
    if parameter.kind == "free" and (preposition := _word(parameter, _BEFORE_TEXTS)):
        return f", {preposition} " if preposition == "saying" else f" {preposition} "
    is_named = is_object and parameter.kind in ("text", "free", "list")
    return " " if is_named else f", {thing_of(tool, parameter)} "


def _word(parameter: Parameter, table: Mapping[str, str]) -> str:
    last = parameter.words[-1] if parameter.words else ""
    return table.get(last) or table.get(singular(last), "")


def is_person(parameter: Parameter) -> bool:
    """Whether the argument is a person, or several."""
    return bool(parameter.words) and singular(parameter.words[-1]) in _PERSONS


def thing_of(tool: Tool, parameter: Parameter) -> str:
    """What an argument names: "song" for `song_name`, "note" for the title in `read_note`."""
    words = [word for word in parameter.words if word not in _NAMES]
    if not words and len(names := identifier_words(tool.name)) > 1:
        words = [singular(names[-1])]
    return " ".join(words) or parameter.label


def value_text(value: Any, parameter: Parameter | None = None) -> str:
    """A value in a sentence: people and places plain, other texts quoted, times in words."""
    match value:
        case Pointer():
            return f"the result of step {value.step + 1}"
        case bool():
            return "yes" if value else "no"
        case str():
            moment = parse_moment(value)
            if moment is not None:
                return moment_text(moment)
            plain = parameter is not None and bool(_word(parameter, _PREPOSITIONS))
            return one_line(value) if plain else f"“{one_line(value)}”"
        case list() | tuple():
            parts = [one_line(str(part)) for part in cast("Sequence[Any]", value)]
            return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1] if parts else "")))
        case _:
            return one_line(str(value))


def label_text(value: Any) -> str:
    """A value as the label of an option: without quotation marks."""
    text = value_text(value)
    return text[1:-1] if text.startswith("“") and text.endswith("”") else text


def parse_moment(value: object) -> datetime | date | None:
    """The time or day that an ISO 8601 text stands for, else None."""
    if not isinstance(value, str) or len(value) < len("2024-05-16") or value[4:5] != "-":
        return None
    try:
        return datetime.fromisoformat(value) if "T" in value else date.fromisoformat(value)
    except ValueError:
        return None


def moment_text(moment: datetime | date) -> str:
    """A time or a day in words: "on Friday 17 May at 15:00"."""
    day = day_text(moment)
    return f"{day} at {moment:%H:%M}" if isinstance(moment, datetime) else day


def day_text(moment: datetime | date) -> str:
    """The day of a time in words: "on Friday 17 May"."""
    return f"on {moment:%A} {moment.day} {moment:%B}"


def join_or(parts: Sequence[str], word: str = "or") -> str:
    """Join alternatives: "a, b or c"."""
    return f" {word} ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def one_line(text: str) -> str:
    """A text on one line, shortened, without control characters: values come from items of strangers."""
    visible = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text[: 4 * _MAX_VALUE])
    line = " ".join(visible.split())
    return line if len(line) <= _MAX_VALUE else line[: _MAX_VALUE - 1].rstrip() + "…"


def sentence(text: str) -> str:
    """The text with a capital."""
    return text[:1].upper() + text[1:]

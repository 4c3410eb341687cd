"""Compose free text in the user's words, and word clarifying questions.

The request comes first: what it dictates is the text. An item is copied only where the request refers to it
without saying it: a search "for more of that", a note to translate. Nothing of an item goes into a message.
"""

import re
from collections.abc import Collection, Iterator

from contextune.plan.names import NO_MATCH, fold_accents
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.clauses import clause_ranges
from contextune.plan.pointer.people.named_people import said_sender
from contextune.plan.pointer.people.senders import named_senders
from contextune.plan.pointer.text import dictation
from contextune.plan.pointer.text.direct_speech import Gender
from contextune.plan.pointer.text.new_titles import plain_title, refers_to
from contextune.plan.pointer.text.speech import find_message, recipient_gender
from contextune.plan.pointer.values.argument_words import SENDERS
from contextune.plan.schema import Parameter, is_valid, tool_parameters
from contextune.search.tokenize import identifier_words, tokenize
from contextune.types import Argument, Item, Source, Tool

_QUERY_NAMES = frozenset(["query", "topic", "keywords", "q", "search", "question", "term", "terms"])
_TITLE_NAMES = frozenset(["title", "name", "summary", "label"])
_MESSAGE_NAMES = frozenset(["body", "message", "reply", "comment", "answer", "text", "content"])
_SUBJECT = re.compile(
    r"\bsubject(?: line)?:?\s+(?:is\s+|of\s+)?(.+?)(?=[,.;]|\s+(?:and|that|saying)\b|$)", re.IGNORECASE
)
_TEXT_VERBS = frozenset(["translate", "summarize", "summarise", "read", "speak"])
_SEARCH_VERBS = frozenset(["search", "find", "look", "lookup", "query", "list", "history"])
_SENDING_VERBS = frozenset(
    ["send", "reply", "email", "message", "write", "post", "answer", "respond", "text"]
)
_ADDING_VERBS = frozenset(["append", "add", "insert"])
_MAX_TITLE_WORDS = 12
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"[^\W_]+")
_ONLY_COMMAND = re.compile(
    r"\W*(?:please\s+)?(?:reply|respond|answer|write|send|e-?mail|mail|text|message)"
    r"(?:\s+(?:back|to|an?|the|him|her|them|e-?mail|mail|message|it|that|this))*\W*",
    re.IGNORECASE,
)
_MY = re.compile(r"\bmy ([^\W\d_]+)(?!['’]s)\b", re.IGNORECASE)


def compose_text(
    inputs: PlanningInput,
    tool: Tool,
    parameter: Parameter,
    item: Item | None,
    values: Collection[str] = (),
) -> Argument | None:
    """Compose a text for an argument of a call about `item`; None if no text fits its schema.

    `values` are those of the other arguments: what the request says for them is not part of the text.
    """
    for value, source in _drafts(inputs, tool, parameter, item, values):
        text = _SPACES.sub(" ", value).strip()
        max_length = parameter.schema.get("maxLength")
        if isinstance(max_length, int) and len(text) > max_length:
            text = text[:max_length].strip()
        if text and is_valid(text, parameter):
            return Argument(text, (source,), 1.0)
    return None


def dictated_text(
    inputs: PlanningInput, tool: Tool, parameter: Parameter, values: Collection[str] = ()
) -> str | None:
    """The text that the request says for this argument; None if it does not say it."""
    # a text ends with its order: "Tell Ana I'm late and turn the lights off"
    texts = (inputs.request.text[:end] for _, end in clause_ranges(inputs))
    said = (_dictated_in(text, inputs, tool, parameter, values) for text in texts)
    return next((text for text in said if text), None)


def _dictated_in(
    text: str, inputs: PlanningInput, tool: Tool, parameter: Parameter, values: Collection[str]
) -> str | None:
    """The text that the beginning of the request says for this argument."""
    taken = _ranges(inputs, values)
    name, verbs = frozenset(parameter.words), frozenset(identifier_words(tool.name))
    if "subject" in name:
        match = _SUBJECT.search(text)
        return match[1].strip(" '\"“”") if match else None
    if verbs & _TEXT_VERBS:
        return dictation.text_to_translate(text, taken)
    if verbs & _SENDING_VERBS and name & _MESSAGE_NAMES:
        people = [(match.start, match.end) for match in inputs.names if match.words]
        people += [match.span() for match in _MY.finditer(text) if _is_relation(match[1], inputs)]
        return find_message(text, [*taken, *people], _gender(inputs), sorted(set(people)))
    if name & _QUERY_NAMES or verbs & _SEARCH_VERBS:
        others = [other for other in tool_parameters(tool) if other is not parameter]
        words = dictation.search_words(text, frozenset(w for other in others for w in other.words), taken)
        if words is None and any(SENDERS & {*other.words} for other in others):
            return _unknown_sender(text, inputs, taken, values)
        # "open my search history" names the tool, not a topic; "any news from Jan" a sender
        names = verbs | _sender_words(inputs) if any(SENDERS & {*other.words} for other in others) else verbs
        return words if words and not frozenset(tokenize(words)) <= names else None
    if verbs & _ADDING_VERBS and name & _MESSAGE_NAMES:
        return dictation.line_to_add(text, taken)
    if name & _TITLE_NAMES:
        special = None
        if "reminder" in verbs or "task" in verbs:
            special = dictation.task_to_remember(inputs)
        elif "event" in verbs or "event" in name:
            special = dictation.event_to_plan(inputs, taken)
        return dictation.new_name(text, taken, colon="new" in name) or special
    if name & _MESSAGE_NAMES:
        return dictation.note_content(text, taken) or find_message(text, taken, _gender(inputs))
    return None


def _unknown_sender(
    text: str, inputs: PlanningInput, taken: list[tuple[int, int]], values: Collection[str]
) -> str | None:
    """The words for a sender who is no value of another argument: "school" in "mails from the school"."""
    times = [(phrase.first, phrase.last) for phrase in inputs.time_phrases]
    is_known = bool(values) or bool(named_senders(inputs))
    return None if is_known else dictation.sender_topic(text, [*taken, *times])


def _sender_words(inputs: PlanningInput) -> frozenset[str]:
    """The words by which the request names the sender of a message."""
    sender = said_sender(inputs)
    match = inputs.names[sender] if sender is not None else NO_MATCH
    return frozenset(tokenize(inputs.request.text[match.start : match.end])) if match.words else frozenset()


def _drafts(
    inputs: PlanningInput, tool: Tool, parameter: Parameter, item: Item | None, values: Collection[str]
) -> Iterator[tuple[str, Source]]:
    request = inputs.request.text
    name, verbs = frozenset(parameter.words), frozenset(identifier_words(tool.name))
    if text := dictated_text(inputs, tool, parameter, values):
        yield text, Source("frame", words=request)
    if "subject" in name:
        return  # never an item's: it would go out with the message
    content = dictation.note_content(request) if name & _TITLE_NAMES else None
    if content:  # the title of a note that is dictated
        yield _first_words(content), Source("frame", words=request)
    is_message = bool(verbs & _SENDING_VERBS and name & _MESSAGE_NAMES and not verbs & _TEXT_VERBS)
    if item is not None and not is_message:
        longest = _longest_field(item)
        if verbs & _TEXT_VERBS and longest:
            yield str(item.fields[longest]), Source("frame", item.id, longest)
        is_search = bool(name & _QUERY_NAMES or verbs & _SEARCH_VERBS)
        if item.title and (is_search or (name & _TITLE_NAMES and refers_to(item, inputs))):
            yield item.title, Source("frame", item.id, item.schema.title)
    if is_message and _is_only_command(inputs):
        return
    if name & _MESSAGE_NAMES and not is_message and (title := dictation.said_name(request)):
        yield title, Source("frame", words=request)  # a new note that is only named
    if name & _TITLE_NAMES:
        yield plain_title(inputs) or _first_words(request), Source("frame", words=request)
    yield request, Source("frame", words=request)


def _first_words(text: str) -> str:
    return " ".join(text.split()[:_MAX_TITLE_WORDS]).rstrip(".!?")


def _is_only_command(inputs: PlanningInput) -> bool:
    """Whether the request only asks for a message, without a word of it: "Reply to Lars."."""
    text = inputs.request.text
    for match in sorted(inputs.names, key=lambda match: -match.start):
        if match.words:
            text = text[: match.start] + text[match.end :]
    return _ONLY_COMMAND.fullmatch(re.sub(r"['’]s\b", "", text)) is not None


def _gender(inputs: PlanningInput) -> Gender:
    """The pronoun of the only contact that the request names or describes."""
    people = [n for n, match in enumerate(inputs.names) if match.words]
    people = people or [n for n, count in enumerate(inputs.relation_matches) if count]
    return recipient_gender(inputs.user.contacts[people[0]].relation) if len(people) == 1 else ""


def _is_relation(word: str, inputs: PlanningInput) -> bool:
    """Whether a word describes a contact: "sister"."""
    return any(inputs.people.count_relation_matches([word.casefold()]))


def _ranges(inputs: PlanningInput, values: Collection[str]) -> list[tuple[int, int]]:
    """Ranges of characters in which the request says the values of other arguments."""
    words = [(fold_accents(m.group()), m.start(), m.end()) for m in _WORD.finditer(inputs.request.text)]
    ranges: list[tuple[int, int]] = []
    for value in values:
        parts = [fold_accents(word) for word in _WORD.findall(value)]
        for start in range(len(words) - len(parts) + 1):
            if parts and [word for word, _, _ in words[start : start + len(parts)]] == parts:
                ranges.append((words[start][1], words[start + len(parts) - 1][2]))
                break
    return ranges


def _longest_field(item: Item) -> str | None:
    texts = {
        name: value
        for name in item.schema.text
        if isinstance(value := item.fields.get(name), str) and name not in item.schema.people
    }
    return max(texts, key=lambda name: len(texts[name]), default=None)


def clarifying_question(parameter: Parameter) -> str:
    """The question to ask the user for a missing argument."""
    description = parameter.description.strip().rstrip(".")
    match parameter.kind:
        case "moment":
            question = "When"
        case "day":
            question = "On which day"
        case "list":
            question = f"Which {parameter.label}"
        case "choice":
            question = f"Which {parameter.label}: {', '.join(map(str, parameter.choices))}"
        case "number" | "integer":
            question = f"What {parameter.label}"
        case "duration":
            question = "For how long"
        case _:
            question = f"Which {parameter.label}"
    return f"{question} ({description})?" if description else f"{question}?"

"""Compose free text from templates of the request and the item, and word clarifying questions."""

import re
from collections.abc import Iterator

from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import Parameter, is_valid
from contextune.search.tokenize import identifier_words
from contextune.types import Argument, Item, Source, Tool

_QUERY_NAMES = frozenset(["query", "topic", "keywords", "q", "search", "question", "term", "terms"])
_TITLE_NAMES = frozenset(["title", "name", "subject", "summary", "label"])
_TEXT_VERBS = frozenset(["translate", "summarize", "summarise", "read", "speak"])
_SEARCH_VERBS = frozenset(["search", "find", "look", "lookup", "query", "list", "history"])
_MAX_TITLE_WORDS = 12
_SPACES = re.compile(r"\s+")


def compose_text(
    inputs: PlanningInput, tool: Tool, parameter: Parameter, item: Item | None
) -> Argument | None:
    """Compose a text for an argument of a call about `item`; None if no text fits its schema."""
    for value, source in _drafts(inputs, tool, parameter, item):
        text = _SPACES.sub(" ", value).strip()
        max_length = parameter.schema.get("maxLength")
        if isinstance(max_length, int) and len(text) > max_length:
            text = text[:max_length].strip()
        if text and is_valid(text, parameter):
            return Argument(text, (source,), 1.0)
    return None


def _drafts(
    inputs: PlanningInput, tool: Tool, parameter: Parameter, item: Item | None
) -> Iterator[tuple[str, Source]]:
    request = inputs.request.text
    name_words, verbs = frozenset(parameter.words), frozenset(identifier_words(tool.name))
    if item is not None:
        longest = _longest_field(item)
        title = item.schema.title
        if verbs & _TEXT_VERBS and longest:
            yield str(item.fields[longest]), Source("frame", item.id, longest)
        if item.title and (name_words & (_QUERY_NAMES | _TITLE_NAMES) or verbs & _SEARCH_VERBS):
            yield item.title, Source("frame", item.id, title)
        if item.title:
            yield f"{request} ({item.title})", Source("frame", item.id, title, request)
    if name_words & _TITLE_NAMES:
        yield " ".join(request.split()[:_MAX_TITLE_WORDS]).rstrip(".!?"), Source("frame", words=request)
    yield request, Source("frame", words=request)


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

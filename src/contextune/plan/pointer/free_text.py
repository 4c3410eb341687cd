"""Free text: what the assistant words itself, put together by short patterns from what is said and found."""

import re
from collections.abc import Iterator

from contextune.plan.planning_input import PlanningInput
from contextune.plan.schema import Parameter, fits
from contextune.search.tokenize import identifier_words
from contextune.types import Argument, Item, Source, Tool

_SEARCHED = frozenset(["query", "topic", "keywords", "q", "search", "question", "term", "terms"])
_CALLED = frozenset(["title", "name", "subject", "summary", "label"])
_COPIED = frozenset(["translate", "summarize", "summarise", "read", "speak"])
_LOOKS = frozenset(["search", "find", "look", "lookup", "query", "list", "history"])
_WORDS = 12
_SPACES = re.compile(r"\s+")


def compose(situation: PlanningInput, tool: Tool, parameter: Parameter, item: Item | None) -> Argument | None:
    """A text for the argument, `item` being what the call is about; None where none fits its schema."""
    for value, source in _drafts(situation, tool, parameter, item):
        text = _SPACES.sub(" ", value).strip()
        longest = parameter.schema.get("maxLength")
        if isinstance(longest, int) and len(text) > longest:
            text = text[:longest].strip()
        if text and fits(text, parameter):
            return Argument(text, (source,), 1.0)
    return None


def _drafts(
    situation: PlanningInput, tool: Tool, parameter: Parameter, item: Item | None
) -> Iterator[tuple[str, Source]]:
    said = situation.request.text
    name, does = frozenset(parameter.words), frozenset(identifier_words(tool.name))
    if item is not None:
        longest = _longest(item)
        title = item.schema.title
        if does & _COPIED and longest:
            yield str(item.fields[longest]), Source("frame", item.id, longest)
        if item.title and (name & (_SEARCHED | _CALLED) or does & _LOOKS):
            yield item.title, Source("frame", item.id, title)
        if item.title:
            yield f"{said} ({item.title})", Source("frame", item.id, title, said)
    if name & _CALLED:
        yield " ".join(said.split()[:_WORDS]).rstrip(".!?"), Source("frame", words=said)
    yield said, Source("frame", words=said)


def _longest(item: Item) -> str | None:
    texts = {
        name: value
        for name in item.schema.text
        if isinstance(value := item.fields.get(name), str) and name not in item.schema.people
    }
    return max(texts, key=lambda name: len(texts[name]), default=None)


def question(parameter: Parameter) -> str:
    """What to ask the user for an argument that nothing says."""
    about = parameter.description.strip().rstrip(".")
    match parameter.kind:
        case "moment":
            asked = "When"
        case "day":
            asked = "On which day"
        case "list":
            asked = f"Which {parameter.said}"
        case "choice":
            asked = f"Which {parameter.said}: {', '.join(map(str, parameter.choices))}"
        case "number" | "integer":
            asked = f"What {parameter.said}"
        case "duration":
            asked = "For how long"
        case _:
            asked = f"Which {parameter.said}"
    return f"{asked} ({about})?" if about else f"{asked}?"

"""What can be answered: messages that others sent."""

from collections.abc import Sequence

from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.candidates import Candidate
from contextune.search.tokenize import identifier_words
from contextune.types import Item, Tool

_REPLYING = frozenset(["reply", "answer", "respond"])
_SENT = frozenset(["sent", "sent mail", "sent items", "sent messages", "outbox", "drafts"])


def answerable(candidates: Sequence[Candidate], tool: Tool, inputs: PlanningInput) -> list[Candidate]:
    """For a tool that replies, the candidates without those of the user's own messages, if any are left."""
    if not _REPLYING.intersection(identifier_words(tool.name)[:1]):
        return list(candidates)
    addresses = inputs.user.addresses
    mine = {number for number, item in enumerate(inputs.items) if _is_own(item, addresses)}
    others = [candidate for candidate in candidates if candidate.item not in mine]
    return others if any(candidate.item is not None for candidate in others) else list(candidates)


def _is_own(item: Item, addresses: frozenset[str]) -> bool:
    sender = item.fields.get("author") or item.fields.get("sender") or item.fields.get("from")
    folder = str(item.fields.get("folder") or "").casefold()
    return folder in _SENT or str(sender or "").casefold() in addresses

"""The earlier calls with a number, which its item keeps beside the last one."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from contextune.importers.reader import ImportContext
from contextune.types import Item

_MAX_CALLS = 50
_FIELDS = ("date", "direction", "duration_s")


def with_history(latest: Item, others: Iterable[Item], context: ImportContext) -> Item:
    """The last call with a number, and all others in its field `history`, the latest first."""
    calls: dict[tuple[object, object], Mapping[str, Any]] = {}
    for item in (latest, *others):
        for call in ({name: item.fields.get(name) for name in _FIELDS}, *item.fields.get("history", ())):
            if isinstance(call.get("date"), str):
                calls.setdefault((call["date"], call.get("direction")), call)
    calls.pop((latest.fields.get("date"), latest.fields.get("direction")), None)

    def local(call: Mapping[str, Any]) -> datetime:
        return context.to_local(datetime.fromisoformat(call["date"]))

    history = sorted(calls.values(), key=local, reverse=True)[:_MAX_CALLS]
    return replace(latest, fields={**latest.fields, "history": history}) if history else latest

"""Stores that were written for training: long conversations with questions, and users of other languages."""

import gzip
import json
from datetime import datetime
from typing import Any

from contextune._internal.assets import lab_asset
from contextune.datasets import Gold, Query
from contextune.types import Item, User
from contextune_lab.public_data.context_sets import NO_PLACE, ContextSet, ContextUser

_FILE = "training/stores.jsonl.gz"


def authored_stores() -> ContextSet:
    """All users, each with items and requests; a user is left out as a whole."""
    with gzip.open(lab_asset(_FILE, "the authored stores"), "rt", encoding="utf-8") as file:
        return ContextSet("authored", [_user(json.loads(line)) for line in file])


def _user(row: dict[str, Any]) -> ContextUser:
    name: str = row["user"]
    queries = tuple(_query(number, request, name) for number, request in enumerate(row["requests"]))
    items = tuple(Item(item["id"], item["app"], item["fields"]) for item in row["items"])
    return ContextUser(User(name), items, {item.id: () for item in items}, queries)


def _query(number: int, request: dict[str, Any], user: str) -> Query:
    gold = Gold(kind=request["kind"], relevant=dict.fromkeys(request["relevant"], 1))
    time = datetime.fromisoformat(request["time"])
    return Query(str(number), request["text"], time, NO_PLACE, gold, {"template": user})

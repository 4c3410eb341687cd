"""Embed the items of all users, and catalogues of tools, part by part."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextune.context.enriched.habits import HabitHistory
from contextune.context.enriched.text import Relations, content_text
from contextune.embed import Embedder, embed_enriched_items, embed_items
from contextune.errors import InvalidDataError
from contextune.fleet.opening import MakeEmbedder, WorkerSettings
from contextune.fleet.parts import Handler, Part
from contextune.store import ServiceStore
from contextune.tools.catalog import Catalog
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import ToolIndex
from contextune.types import UsageEvent

PART_ITEMS = 256
"""Items or tools of a part: about a second of work."""


def user_parts(store: ServiceStore) -> Iterator[Part]:
    """Pages of each user's items, and one part for the habits of users with uses.

    Keys name the revision: pages of a user whose items have changed since are new parts.
    """
    for user in store.users():
        sizes, revision = store.sizes(user), store.revision(user)
        for start in range(0, sizes.items, PART_ITEMS):
            yield Part(f"items/{user}/{revision.items}/{start}", {"user": user, "start": start})
        if sizes.uses:
            yield Part(f"habits/{user}/{revision.newest}", {"user": user})


@dataclass(frozen=True)
class EmbedUsers:
    """Embeds a page of a user's items, or the phrases of a user's habits, into the store."""

    settings: WorkerSettings

    def open(self) -> Handler:
        """Open the store and load the embedder."""
        store, embedder = self.settings.open_store(), self.settings.embedder()

        def handle(payload: Any) -> bytes:
            if "start" in payload:
                count = embed_page(store, embedder, payload["user"], payload["start"])
            else:
                count = embed_habits(store, embedder, payload["user"])
            return json.dumps({"texts": count}).encode()

        return handle


def embed_page(store: ServiceStore, embedder: Embedder, user: str, start: int) -> int:
    """Embed the items on one page that have no vector yet; return the number of items."""
    owner, page = store.user(user), store.items_page(user, start=start, limit=PART_ITEMS)
    relations = Relations(owner)
    texts = {item.id: content_text(item, owner, relations) for item in page.entries}
    embed_enriched_items(texts, embedder=embedder, store=store, user=user)
    return len(texts)


def embed_habits(store: ServiceStore, embedder: Embedder, user: str) -> int:
    """Embed the phrases on when, where and how often a user uses items; return their number."""
    owner = store.user(user)
    uses_by_item: dict[str, list[UsageEvent]] = {}
    for use in store.uses(user):
        uses_by_item.setdefault(use.item, []).append(use)
    phrases = dict.fromkeys(
        phrase
        for item in store.items(user, sorted(uses_by_item))
        for version in HabitHistory.build(item, owner, uses_by_item[item.id]).phrases
        for phrase in version
    )
    embed_items(list(phrases), embedder=embedder, store=store, user=user)
    return len(phrases)


def catalog_parts(paths: Iterable[Path]) -> Iterator[Part]:
    """Ranges of the tools of each catalogue."""
    for path in paths:
        if not path.is_file():
            raise InvalidDataError(f"no such catalogue: {path} (create it with 'contextune tools add …')")
        with CatalogFile(path) as file:
            ids = [tool.id for tool in file.catalog()]
        for start in range(0, len(ids), PART_ITEMS):
            key = f"tools/{path.resolve()}/{','.join(ids[start : start + PART_ITEMS])}"
            yield Part(key, {"catalog": str(path.resolve()), "start": start})


@dataclass(frozen=True)
class EmbedCatalogs:
    """Embeds a range of the tools of a catalogue into its file."""

    make_embedder: MakeEmbedder | None = None

    def open(self) -> Handler:
        """Load the embedder; catalogues are opened when they first occur."""
        embedder = WorkerSettings("", self.make_embedder).embedder()
        files: dict[str, tuple[CatalogFile, Catalog]] = {}

        def handle(payload: Any) -> bytes:
            path, start = payload["catalog"], payload["start"]
            if path not in files:
                file = CatalogFile(path)
                files[path] = file, file.catalog()
            file, catalog = files[path]
            tools = list(catalog)[start : start + PART_ITEMS]
            ToolIndex.build(Catalog(tools), embedder, vector_cache=file)
            return json.dumps({"texts": len(tools)}).encode()

        return handle

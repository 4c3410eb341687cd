# ruff: noqa: T201
"""Home Assistant: entities as items, services as tools, areas as places, history as habits.

`instance.json` is a recorded instance, as the APIs of Home Assistant return it: states, services, areas, the
registry of entities and the logbook. Nothing is called: the shortlist is what goes to a language model.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from contextune import Item, SQLiteStore, Tuner, User
from contextune.context.packing import estimate_tokens
from contextune.types import Request, Tool, UsageEvent

HERE = Path(__file__).parent
USER = "home"
ITEMS, TOOLS = 10, 5
USUAL = "what I usually do now"


@dataclass(frozen=True)
class Home:
    """A recorded instance."""

    data: Mapping[str, Any]

    @property
    def now(self) -> datetime:
        """When it was recorded."""
        return datetime.fromisoformat(self.data["now"])

    @property
    def items(self) -> list[Item]:
        """An item for each entity, with its name, area and state."""
        areas = {area["area_id"]: area["name"] for area in self.data["areas"]}
        area_of = {entry["entity_id"]: areas.get(entry["area_id"]) for entry in self.data["entity_registry"]}
        return [
            Item(
                state["entity_id"],
                "Home",
                {
                    "name": state["attributes"]["friendly_name"],
                    "type": state["entity_id"].partition(".")[0].replace("_", " "),
                    **({"area": area} if (area := area_of.get(state["entity_id"])) else {}),
                    "state": state["state"],
                },
            )
            for state in self.data["states"]
        ]

    @property
    def tools(self) -> list[Tool]:
        """A tool for each service; all take an entity."""
        return [
            Tool(
                name,
                service["description"],
                app=domain,
                parameters={
                    "type": "object",
                    "properties": {
                        "entity_id": {"type": "string"},
                        **{field: {"type": "string"} for field in service["fields"]},
                    },
                    "required": ["entity_id"],
                },
            )
            for domain, services in self.data["services"].items()
            for name, service in services.items()
        ]

    def fill(self, store: SQLiteStore) -> None:
        """Put the entities, the areas and what was done every day into a store."""
        places = {area["name"]: area["name"] for area in self.data["areas"]}
        store.put_user(User(USER, places=places))
        store.put_items(USER, self.items)
        uses = [UsageEvent(e["entity_id"], datetime.fromisoformat(e["when"])) for e in self.data["logbook"]]
        store.put_uses(USER, uses)


def read_home() -> Home:
    """The recorded instance beside this file."""
    return Home(json.loads((HERE / "instance.json").read_text(encoding="utf-8")))


def read_labels() -> list[tuple[str, str]]:
    """Requests, each with the service that serves it as `domain/service`."""
    lines = (HERE / "requests.tsv").read_text(encoding="utf-8").splitlines()
    return [(text, service.replace(".", "/")) for text, service in (line.split("\t") for line in lines)]


def item_tokens(items: list[Item]) -> int:
    """The tokens that items take in a prompt, one in a line."""
    return estimate_tokens("\n".join(f"{item.id}: {item.text}" for item in items))


def tool_tokens(tools: list[Tool]) -> int:
    """The tokens that tools take in a prompt."""
    return estimate_tokens(
        json.dumps([{"name": t.id, "description": t.description, **t.parameters} for t in tools])
    )


def measure(tuner: Tuner, home: Home, labels: list[tuple[str, str]]) -> dict[str, float]:
    """Where the right service is, and how long the prompt is, over labelled requests."""
    first = among = 0
    items = tools = 0
    for text, service in labels:
        request = Request(text, USER, home.now)
        hits = tuner.context(request, ITEMS)
        found = [hit.tool for hit in tuner.tools(request, TOOLS, context=hits).hits]
        ids = [tool.id for tool in found]
        first += ids[0] == service
        among += service in ids
        items += item_tokens([hit.item for hit in hits])
        tools += tool_tokens(found)
    count = len(labels)
    return {
        "requests": count,
        "first": first / count,
        "among": among / count,
        "items": items / count,
        "tools": tools / count,
    }


def main() -> None:
    """Print what one request needs, then the figures."""
    home = read_home()
    items, tools = home.items, home.tools
    with tempfile.TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "home.db") as store:
        home.fill(store)
        tuner = Tuner(store, tools=tools)
        text = "dim the living room lamp to 20 percent"
        request = Request(text, USER, home.now)
        print(text)
        print("  entities:", ", ".join(hit.item.id for hit in tuner.context(request, 3)))
        print("  services:", ", ".join(hit.tool.id for hit in tuner.tools(request, 3).hits))
        print(USUAL)
        for hour in (7, 20):
            usual = Request(USUAL, USER, home.now.replace(hour=hour))
            print(f"  entity at {hour}:00:", tuner.context(usual, 1)[0].item.id)
        figures = measure(tuner, home, read_labels())
    print(f"{len(items)} entities, {len(tools)} services, {figures['requests']:.0f} requests")
    print(f"tokens: entities {item_tokens(items):,} → {figures['items']:.0f}", end="")
    print(f", services {tool_tokens(tools):,} → {figures['tools']:.0f}")
    print(f"right service: first {figures['first']:.0%}, among {TOOLS} {figures['among']:.0%}")


if __name__ == "__main__":
    main()

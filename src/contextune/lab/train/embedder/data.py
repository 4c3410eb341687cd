"""What the embedder learns from, as one JSON file that can travel to a machine with a GPU.

Every persona is given a fold; an embedder that is judged on a fold, or feeds a model that
is, has not seen the personas of that fold. Pairs and tools belong to no persona.

Requests to public catalogues of tools are learnt from where a folder with them is named; of
these, only parts made for training, and none that names a server kept for the test.

    python -m contextune.lab.train.embedder.data DATA.json [--public FOLDER]
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from contextune.context.enriched_text import enriched_text, moment_text
from contextune.context.signals.utterance import KINDS
from contextune.datasets import (
    Pair,
    PairItem,
    Persona,
    Query,
    bundled_pairs,
    bundled_personas,
    training_pairs,
    training_personas,
    uses,
)
from contextune.lab.public_data.folds import training_catalogs
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types.app_schema import APPS

FOLDS = 5
PARTS = ("items", "bare", "around", "queries", "augmented", "kinds", "apps")
"""What is kept of a fold: items; what is said, what is around it, both, both with CoT; what heads say."""


def folds(personas: Sequence[Persona], count: int = FOLDS) -> dict[str, int]:
    """The fold of each persona, by its place in the sorted list: each author's are spread over all."""
    return {name: number % count for number, name in enumerate(sorted(persona.id for persona in personas))}


def all_personas() -> list[Persona]:
    """Those that are measured on, then those that are only learnt from."""
    return [*bundled_personas(), *training_personas()]


def all_folds() -> dict[str, int]:
    """The fold of every persona; each of the two sets is spread over all folds."""
    return {**folds(bundled_personas()), **folds(training_personas())}


def training_set(public: Path | None = None) -> dict[str, Any]:
    """All of it, from the bundled data and the public catalogues in a folder."""
    judged = {persona.id for persona in bundled_personas()}
    fold = all_folds()
    return {
        "apps": list(APPS),
        "kinds": list(KINDS),
        "tools": [{"name": tool.name, "text": tool_text(tool)} for tool in bundled_toolbox()],
        "personas": [
            {"id": p.id, "fold": fold[p.id], "judged": p.id in judged, **_persona(p)} for p in all_personas()
        ],
        "pairs": [_pair(pair) for pair in (*bundled_pairs(), *training_pairs())],
        "catalogs": training_catalogs(public, FOLDS) if public else [],
    }


def portraits(persona: Persona) -> list[str]:
    """Every item in words, with what the persona's habits, places and contacts say of it."""
    used = uses(persona)
    return [
        enriched_text(item, persona.user, [use for use in used if use.item == item.id])
        for item in persona.items
    ]


def around(query: Query) -> str:
    """When and where it is said, in words."""
    return moment_text(query.time.replace(tzinfo=None), query.place)


def digest(personas: Sequence[Persona]) -> str:
    """A checksum of every text of the personas that is embedded."""
    found = sha256()
    for persona in personas:
        asked = [f"{query.text} {query.gold.cot} {around(query)}" for query in persona.queries]
        texts = [*portraits(persona), *asked]
        found.update("\n".join([persona.id, *texts]).encode())
    return found.hexdigest()


def _persona(persona: Persona) -> dict[str, Any]:
    position = {item.id: number for number, item in enumerate(persona.items)}
    return {
        "items": portraits(persona),
        "queries": [
            {
                "id": query.id,
                "text": query.text,
                "situation": around(query),
                "cot": query.gold.cot,
                "kind": query.gold.kind,
                "api": query.gold.api,
                "relevant": {
                    str(position[name]): grade for name, grade in (query.gold.relevant or {}).items()
                },
                "apps": sorted({persona.items[position[name]].app for name in query.gold.relevant or {}}),
                "visible": persona.visible(query),
            }
            for query in persona.queries
        ],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "query": pair.query,
        "cot": pair.cot,
        "kind": pair.kind,
        "api": pair.api,
        "tool_query": pair.tool_query,
        "items": [_item_text(item) for item in pair.items],
        "distractor": _item_text(pair.distractor),
        "apps": sorted({item.app for item in pair.items}),
    }


def _item_text(item: PairItem) -> str:
    """The text with the application's noun in front, as the text of a stored item has it."""
    return (
        item.text.replace(item.app, APPS[item.app].noun, 1) if item.text.startswith(item.app) else item.text
    )


def main(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    public: Annotated[Path | None, typer.Option(help="Folder of toolbench, toollens and metatool.")] = None,
) -> None:
    """Write the training set."""
    out.write_text(json.dumps(training_set(public), ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

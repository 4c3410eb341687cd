"""Training set of the embedder, as one JSON file for a machine with a GPU.

Every persona has a fold. An embedder that is evaluated on a fold, or feeds a model that is, has not seen the
personas of that fold. Pairs and tools belong to no fold. With `--public`, training requests to public tool
catalogues are added, except those that name a server reserved for testing.

    python -m contextune_lab.train.embedder.data DATA.json [--public FOLDER]
"""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from contextune.context.enriched.habits import habit_phrases
from contextune.context.enriched.text import Relations, content_text, moment_text
from contextune.context.enriched.vectors import add_habits
from contextune.context.signals.utterance import REQUEST_KINDS
from contextune.datasets import (
    Pair,
    PairItem,
    Persona,
    Query,
    bundled_pairs,
    bundled_personas,
    training_pairs,
    training_personas,
    training_requests,
    usage_events,
)
from contextune.embed import Embedder, Matrix
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types.app_schema import APPS
from contextune_lab.bench.large_model import large_model_cot
from contextune_lab.public_data.folds import training_catalogs

FOLDS = 5
ITEM_PARTS = ("items", "contents")
"""Arrays of a fold with a row per item: with and without habits."""
REQUEST_PARTS = ("bare", "around", "augmented", "kinds", "apps")
"""Arrays with a row per request: its text, its situation, both with CoT; outputs of the two heads."""
MORE_PARTS = ("more_bare", "more_around", "more_kinds", "more_apps")
"""The same for the training requests."""


def assign_folds(personas: Sequence[Persona], count: int = FOLDS) -> dict[str, int]:
    """Fold by persona id, round robin over the sorted ids: each author is spread over all folds."""
    return {name: number % count for number, name in enumerate(sorted(persona.id for persona in personas))}


def all_personas() -> list[Persona]:
    """Measured personas, then those for training only."""
    return [*bundled_personas(), *training_personas()]


def all_folds() -> dict[str, int]:
    """Fold of every persona; both sets are spread over all folds."""
    return {**assign_folds(bundled_personas()), **assign_folds(training_personas())}


def training_set(public: Path | None = None) -> dict[str, Any]:
    """The training set, from bundled data and optional public catalogues."""
    measured = {persona.id for persona in bundled_personas()}
    fold, more, thoughts = all_folds(), training_requests(), large_model_cot()
    return {
        "apps": list(APPS),
        "kinds": list(REQUEST_KINDS),
        "tools": [{"name": tool.name, "text": tool_text(tool)} for tool in bundled_toolbox()],
        "personas": [
            {
                "id": p.id,
                "fold": fold[p.id],
                "judged": p.id in measured,
                **_persona(p, more.get(p.id, []), thoughts),
            }
            for p in all_personas()
        ],
        "pairs": [_pair(pair) for pair in (*bundled_pairs(), *training_pairs())],
        "catalogs": training_catalogs(public, FOLDS) if public else [],
    }


def content_texts(persona: Persona) -> list[str]:
    """The text of every item with its time, place and relations; without glosses, as in the folds."""
    relations = Relations(persona.user)
    return [content_text(item, persona.user, relations, glossed=False) for item in persona.items]


def habits(persona: Persona) -> list[list[str]]:
    """The phrases on the use of every item."""
    events = usage_events(persona)
    return [
        habit_phrases(item, persona.user, [use for use in events if use.item == item.id])
        for item in persona.items
    ]


def item_texts(persona: Persona) -> list[str]:
    """All that is known of every item as one text, for methods without a vector."""
    return [
        " — ".join([text, *phrases])
        for text, phrases in zip(content_texts(persona), habits(persona), strict=True)
    ]


def embed_persona(persona: Persona, embedder: Embedder) -> tuple[Matrix, Matrix]:
    """Vectors of the items with and without habits."""
    contents, phrases = embedder.embed(content_texts(persona)), habits(persona)
    distinct = list(dict.fromkeys(phrase for of_item in phrases for phrase in of_item))
    vectors = dict(zip(distinct, embedder.embed(distinct), strict=True))
    return add_habits(contents, [tuple(of_item) for of_item in phrases], vectors), contents


def situation_text(query: Query) -> str:
    """Time and place of the query, in words."""
    return moment_text(query.time.replace(tzinfo=None), query.place)


def personas_digest(personas: Sequence[Persona]) -> str:
    """Checksum of all embedded texts of the personas."""
    checksum, more = sha256(), training_requests()
    for persona in personas:
        queries = [
            f"{query.text} {query.gold.cot} {situation_text(query)}"
            for query in (*persona.queries, *more.get(persona.id, []))
        ]
        texts = [*item_texts(persona), *queries]
        checksum.update("\n".join([persona.id, *texts]).encode())
    return checksum.hexdigest()


def _persona(persona: Persona, more: Sequence[Query], thoughts: Mapping[str, str]) -> dict[str, Any]:
    return {
        "items": content_texts(persona),
        "habits": habits(persona),
        "queries": [_query(persona, query, thoughts.get(persona.name(query))) for query in persona.queries],
        "more": [_query(persona, query) for query in more],
    }


def _query(persona: Persona, query: Query, large_model_cot: str | None = None) -> dict[str, Any]:
    position = {item.id: number for number, item in enumerate(persona.items)}
    relevant = query.gold.relevant or {}
    return {
        "id": query.id,
        "text": query.text,
        "situation": situation_text(query),
        "cot": query.gold.cot,
        "large_model_cot": large_model_cot,
        "kind": query.gold.kind,
        "api": query.gold.api,
        "relevant": {str(position[name]): grade for name, grade in relevant.items()},
        "apps": sorted({persona.items[position[name]].app for name in relevant}),
        "visible": persona.visible(query),
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
    """The text with the application's noun in front, like stored items."""
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

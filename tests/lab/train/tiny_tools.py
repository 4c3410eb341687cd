"""Small public catalogues in the uniform format, and distinct random vectors."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from contextune._internal.assets import lab_asset
from contextune.context.signals.utterance import REQUEST_KINDS
from contextune.datasets import bundled_persona_file, read_persona, training_requests
from contextune.embed import Embedder, Matrix
from contextune.rank import RankerSettings
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text
from contextune.types.app_schema import APPS
from contextune_lab.public_data.folds import assign_folds
from contextune_lab.public_data.toolset import Toolset
from contextune_lab.train.embedder.data import FOLDS, embed_persona, personas_digest, situation_text
from contextune_lab.train.embedder.fold_vectors import FoldVectors

QUICK = RankerSettings(rounds=3, seeds=1, smallest_leaf=5)
Row = dict[str, Any]
_WIDTH = 64
"""Wide enough that random directions are dissimilar."""


def api(server: str, name: str, key: str = "", **more: object) -> Row:
    """A tool row; its description contains its id, so that it can be identified."""
    key_ = key or f"{server}.{name}".replace(" ", "-")
    return {"id": key_, "tool": server, "name": name, "description": f"does {key_}", **more}


def ask(text: str, split: str, *relevant: str) -> Row:
    """A request row."""
    return {"id": text.replace(" ", "-"), "query": text, "split": split, "relevant": list(relevant)}


def lines(rows: Iterable[Row]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write(folder: Path, tools: Iterable[Row], queries: Iterable[Row]) -> Path:
    """Write a toolset's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tools.jsonl").write_text(lines(tools), encoding="utf-8")
    (folder / "queries.jsonl").write_text(lines(queries), encoding="utf-8")
    return folder


def world(folder: Path) -> Path:
    """Write all four folders: ToolBench's filter has eight servers for training and two for testing."""
    trained, tested = [f"seen{n}" for n in range(8)], [f"kept{n}" for n in range(2)]
    few = [api(server, name) for server in (*trained, *tested) for name in ("read", "send", "list")]
    more = [api(f"more{n}", name) for n in range(4) for name in ("read", "send")]
    queries = [
        *(ask(f"{n} for {s}", "train", f"{s}.read", f"{s}.send") for s in trained for n in range(5)),
        *(ask(f"both {a} and {b}", "train", f"{a}.list", f"{b}.list") for a, b in pairwise(trained)),
        *(ask(f"test of {s}", "id_test", f"{s}.list") for s in trained),
        *(ask(f"test of {s}", "ood", f"{s}.read", f"{s}.list") for s in tested),
    ]
    whole = [
        *(ask(f"whole {n} for more{n % 4}", "train", f"more{n % 4}.read") for n in range(8)),
        ask("extra, of the filter's tools and others", "extra", "more0.send", "seen0.read"),
        ask("a tested server among others", "train", "more1.send", "kept0.send"),
        ask("a tested server alone", "extra", "kept1.list"),
        ask("a test of the whole", "test", "more2.read"),
        ask("0 for seen0", "train", "seen0.read", "seen0.send"),
        ask("test of seen0", "train", "seen0.list"),
    ]
    write(folder / "toolbench" / "filter", few, queries)
    write(folder / "toolbench", [*more, *few], whole)
    lens = [api(f"lens{n // 2}", f"tool {n}") for n in range(12)]
    lens_queries = [
        ask(f"lens {n}", "test" if n % 10 == 9 else "train", *{lens[n % 12]["id"], lens[n % 7]["id"]})
        for n in range(60)
    ]
    write(folder / "toollens", lens, lens_queries)
    meta = [api(f"plugin{n}", f"plugin{n}") for n in range(9)]
    splits = ("train", "train", "train", "train", "dev", "test")
    meta_queries = [ask(f"meta {n}", splits[n % 6], meta[n % 9]["id"]) for n in range(72)]
    write(folder / "metatool", meta, meta_queries)
    return folder


def vector(*key: object) -> Matrix:
    """A random unit vector, fixed by its key."""
    row = np.random.default_rng(crc32(repr(key).encode())).normal(size=_WIDTH)
    return (row / np.linalg.norm(row)).astype(np.float32)


def public_rows(toolsets: Sequence[Toolset]) -> dict[str, Matrix]:
    """Vectors as in the embedders' training run: every fold has its own."""
    rows: dict[str, Matrix] = {}
    for toolset in toolsets:
        queries = assign_folds(toolset, FOLDS)
        for fold in range(FOLDS):
            tools = [vector(fold, tool_text(tool)) for tool in toolset.tools]
            vectors = [vector(fold, query["text"]) for query in queries if query["kept"] == fold]
            rows[f"{fold}/{toolset.name} tools"] = np.reshape(tools, (-1, _WIDTH))
            rows[f"{fold}/{toolset.name} queries"] = np.reshape(vectors, (-1, _WIDTH))
    return rows


def few_folds(file: Path, embedder: Embedder, count: int = FOLDS) -> FoldVectors:
    """Fold vectors of some bundled personas, one per fold, and one for training only, by one embedder."""
    names = ("a01", "a02", "b01", "c05", "d10")[:count]
    personas = [read_persona(bundled_persona_file(name)) for name in names]
    more = [read_persona(lab_asset("training/j01.json"))]
    queries = [query for persona in (*personas, *more) for query in persona.queries]
    kinds, apps = np.ones((len(queries), len(REQUEST_KINDS))), np.ones((len(queries), len(APPS)))
    tools = [tool_text(tool) for tool in bundled_toolbox()]
    embedded = [embed_persona(persona, embedder) for persona in (*personas, *more)]
    requests = training_requests()
    extra = [query for persona in (*personas, *more) for query in requests[persona.id]]
    rows: dict[str, Any] = {
        "digest": np.array(personas_digest([*personas, *more])),
        "items": np.concatenate([vectors for vectors, _ in embedded]),
        "contents": np.concatenate([contents for _, contents in embedded]),
        "bare": embedder.embed([query.text for query in queries]),
        "around": embedder.embed([situation_text(query) for query in queries]),
        "augmented": embedder.embed([f"{query.text} {query.gold.cot}" for query in queries]),
        "kinds": kinds / len(REQUEST_KINDS),
        "apps": apps / len(APPS),
        "more_bare": embedder.embed([query.text for query in extra]),
        "more_around": embedder.embed([situation_text(query) for query in extra]),
        "more_kinds": np.full((len(extra), len(REQUEST_KINDS)), 1 / len(REQUEST_KINDS)),
        "more_apps": np.full((len(extra), len(APPS)), 1 / len(APPS)),
        "tools": np.tile(embedder.embed(tools), (FOLDS, 1)),
    }
    np.savez(file, **rows)
    return FoldVectors(personas, more, file)

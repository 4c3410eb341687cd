"""What a query generator learns from and is judged on, as one JSON file that can travel to a GPU machine.

Learnt from: ToolBench's training requests after the paper's filter; "more", its training requests that the
filter left out and that are about the same servers; ToolLens's training requests; MetaTool's about every
other tool; and the bundled pairs, whose authors wrote where to look and what a tool would have to do. Judged
on: the filter's test requests in and out of domain, ToolLens's, MetaTool's about the tools that are not
learnt from, and "wide": whatever of ToolBench names none of the servers that are learnt from.

    python -m contextune.lab.train.llm.querygen_data DATA.json FOLDER
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer

from contextune.context.chain_of_thought import thought_messages
from contextune.datasets import bundled_pairs, training_pairs
from contextune.lab.public_data.toolset import LabelledRequest, Toolset, distinct, read_toolset
from contextune.llm.chat import Message
from contextune.search.tokenize import alnum_key
from contextune.tools.querygen.parse import MOST, WORDS
from contextune.tools.querygen.prompts import describe_messages
from contextune.tools.tool_text import tool_text
from contextune.types import Request, Tool

DEV = 120
"""Training requests that are kept to choose settings by."""
WIDE_DEV = 200
"""And of those about other servers."""
_FEW = 3
"""Tools a request may need at most, as in the paper."""


def querygen_data(folder: Path) -> dict[str, Any]:
    """All of it."""
    bench = read_toolset(folder / "toolbench" / "filter", "toolbench")
    lens, meta = read_toolset(folder / "toollens"), read_toolset(folder / "metatool")
    dev = {query.id for query in sorted(bench.split("train"), key=lambda query: _mixed(query.text))[:DEV]}
    parts = {query.id: "dev" if query.id in dev else query.split for query in bench.queries}
    strange, others = wide(folder, bench, lens)
    kept = {query.id for query in sorted(others, key=lambda query: _mixed(query.text))[:WIDE_DEV]}
    return {
        "sets": {
            "toolbench": _set(bench, bench.queries, parts),
            "more": _set(*more(folder, bench)),
            "toollens": _set(lens, sorted(lens.queries, key=lambda query: _mixed(query.text))),
            "wide": _set(strange, others, dict.fromkeys(kept, "ood_dev")),
            "metatool": _set(meta, halves(meta)),
        },
        "lessons": [
            {"asked": [[one.role, one.content] for one in messages], "answer": answer}
            for messages, answer in lessons()
        ],
    }


def more(folder: Path, bench: Toolset) -> tuple[Toolset, list[LabelledRequest]]:
    """ToolBench's training requests that the filter left out, about servers that are learnt from anyway."""
    whole = read_toolset(folder / "toolbench")
    known = {place for query in bench.queries if query.split == "train" for place in query.relevant}
    servers = {alnum_key(_server(bench.tools[place])) for place in known}
    said = {query.text for query in bench.queries}
    chosen = [
        query
        for query in whole.split("train")
        if query.text not in said
        and 0 < len(query.relevant) <= MOST
        and all(alnum_key(_server(whole.tools[place])) in servers for place in query.relevant)
    ]
    return _among(bench, "more", whole, sorted(chosen, key=lambda query: _mixed(query.text)), "train")


def halves(meta: Toolset) -> list[LabelledRequest]:
    """MetaTool's requests about half of its tools to learn from, about the other half to be judged on."""
    order = sorted(range(len(meta.tools)), key=lambda place: _mixed(meta.tools[place].name))
    learnt = frozenset(order[::2])
    mixed = sorted(meta.queries, key=lambda query: _mixed(query.text))
    return [
        *(query for query in mixed if query.split == "train" and query.relevant <= learnt),
        *(
            replace(query, split="ood")
            for query in mixed
            if query.split == "test" and not query.relevant & learnt
        ),
    ]


def wide(folder: Path, bench: Toolset, lens: Toolset) -> tuple[Toolset, list[LabelledRequest]]:
    """ToolBench's requests that the filter left out and that name no server that is learnt from."""
    whole = read_toolset(folder / "toolbench")
    known = {place for query in bench.queries if query.split != "ood" for place in query.relevant}
    learnt = {alnum_key(_server(tool)) for tool in (*(bench.tools[place] for place in known), *lens.tools)}
    said = {query.text for query in bench.queries}
    chosen: list[LabelledRequest] = []
    for query in whole.queries:
        servers = {alnum_key(_server(whole.tools[place])) for place in query.relevant}
        if query.text in said or not 0 < len(query.relevant) <= _FEW or servers & learnt:
            continue
        said.add(query.text)
        chosen.append(query)
    return _among(bench, "wide", whole, chosen, "ood")


def _among(
    bench: Toolset, name: str, whole: Toolset, chosen: Sequence[LabelledRequest], split: str
) -> tuple[Toolset, list[LabelledRequest]]:
    """Requests of the whole, searched for among the filter's tools and their own."""
    tools, ids = list(bench.tools), {key: number for number, key in enumerate(bench.ids)}
    queries: list[LabelledRequest] = []
    for query in chosen:
        for place in sorted(query.relevant):
            if whole.ids[place] not in ids:
                ids[whole.ids[place]] = len(tools)
                tools.append(whole.tools[place])
        relevant = frozenset(ids[whole.ids[place]] for place in query.relevant)
        queries.append(LabelledRequest(query.id, query.text, relevant, split))
    return Toolset(name, tuple(distinct(tools)), tuple(queries), tuple(ids)), queries


def line(text: str) -> str:
    """As much of a tool's text as a query may have words."""
    return " ".join(text.split()[:WORDS])


def lessons() -> list[tuple[list[Message], str]]:
    """What authors wrote for requests of no persona: where to look, and what a tool would have to do."""
    luck = Random(0)  # noqa: S311  # no secrets here
    found: list[tuple[list[Message], str]] = []
    for pair in (*bundled_pairs(), *training_pairs()):
        time = datetime(2025, 3, luck.randrange(1, 29), luck.randrange(6, 24), tzinfo=UTC)
        place = luck.choice((None, None, "home", "work", "gym"))
        if pair.cot:
            found.append((thought_messages(Request(pair.query, "anybody", time, place)), pair.cot))
        if pair.tool_query:
            found.append((describe_messages(pair.query), line(pair.tool_query)))
    return found


def _set(
    toolset: Toolset, queries: Sequence[LabelledRequest], parts: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "tools": [tool_text(tool) for tool in toolset.tools],
        "queries": [
            {
                "id": query.id,
                "text": query.text,
                "split": (parts or {}).get(query.id, query.split),
                "relevant": sorted(query.relevant),
            }
            for query in queries
        ],
    }


def _server(tool: Tool) -> str:
    return tool.app or tool.name


def _mixed(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def main(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    folder: Annotated[Path, typer.Argument(help="The folder that holds toolbench, toollens and metatool.")],
) -> None:
    """Write the data of query generation."""
    out.write_text(json.dumps(querygen_data(folder)), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

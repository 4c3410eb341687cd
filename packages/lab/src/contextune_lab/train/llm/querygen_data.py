"""Training and evaluation data of query generation, as one JSON file for a machine with a GPU.

Training: ToolBench's training requests after the paper's filter; "more", those that the filter dropped and
that are about the same servers; ToolLens's training requests; MetaTool's about every other tool; and the
bundled pairs. Evaluation: the filter's test requests in and out of domain, ToolLens's, MetaTool's about
held-out tools, and "wide": ToolBench requests about servers that are not trained on.

No training request of any set needs a server or API of the out-of-domain tests (`HeldOutTools`): a target of
SFT is the text of its tools, so one request would teach the model the name of a tested server.

    python -m contextune_lab.train.llm.querygen_data DATA.json FOLDER
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
from contextune.llm.chat import Message
from contextune.search.tokenize import alnum_key
from contextune.tools.querygen.parse import MAX_QUERIES, MAX_WORDS
from contextune.tools.querygen.prompts import describe_messages
from contextune.tools.tool_text import tool_text
from contextune.types import Request, Tool
from contextune_lab.public_data.folds import HeldOutTools
from contextune_lab.public_data.toolset import LabelledRequest, Toolset, distinct_names, read_toolset

DEV = 120
"""Training requests held out to choose settings."""
WIDE_DEV = 200
"""Held-out requests about unseen servers."""
_MAX_TOOLS = 3
"""Maximum number of tools per request, as in the paper."""


def querygen_data(folder: Path) -> dict[str, Any]:
    """The complete data."""
    toolbench = read_toolset(folder / "toolbench" / "filter", "toolbench")
    toollens, metatool = read_toolset(folder / "toollens"), read_toolset(folder / "metatool")
    held_out = HeldOutTools.from_toolbench(toolbench)
    dev = {
        query.id
        for query in sorted(toolbench.split("train"), key=lambda query: _hash_order(query.text))[:DEV]
    }
    splits = {query.id: "dev" if query.id in dev else query.split for query in toolbench.queries}
    more_toolset, more_requests = extra_training(folder, toolbench)
    unseen_toolset, unseen_requests = unseen_servers(folder, toolbench, toollens)
    dev_of_unseen = {
        query.id for query in sorted(unseen_requests, key=lambda query: _hash_order(query.text))[:WIDE_DEV]
    }
    return {
        "sets": {
            "toolbench": _set(toolbench, _allowed(toolbench, toolbench.queries, held_out), splits),
            "more": _set(more_toolset, _allowed(more_toolset, more_requests, held_out)),
            "toollens": _set(
                toollens,
                sorted(
                    _allowed(toollens, toollens.queries, held_out), key=lambda query: _hash_order(query.text)
                ),
            ),
            "wide": _set(unseen_toolset, unseen_requests, dict.fromkeys(dev_of_unseen, "ood_dev")),
            "metatool": _set(metatool, _allowed(metatool, split_metatool(metatool), held_out)),
        },
        "lessons": [
            {"asked": [[message.role, message.content] for message in messages], "answer": answer}
            for messages, answer in authored_lessons()
        ],
    }


def extra_training(folder: Path, toolbench: Toolset) -> tuple[Toolset, list[LabelledRequest]]:
    """ToolBench's training requests that the filter dropped, about servers that are trained on anyway."""
    all_toolbench = read_toolset(folder / "toolbench")
    trained_places = {
        place for query in toolbench.queries if query.split == "train" for place in query.relevant
    }
    servers = {alnum_key(_server(toolbench.tools[place])) for place in trained_places}
    texts_in_filter = {query.text for query in toolbench.queries}
    selected = [
        query
        for query in all_toolbench.split("train")
        if query.text not in texts_in_filter
        and 0 < len(query.relevant) <= MAX_QUERIES
        and all(alnum_key(_server(all_toolbench.tools[place])) in servers for place in query.relevant)
    ]
    return _with_filter_tools(
        toolbench, "more", all_toolbench, sorted(selected, key=lambda query: _hash_order(query.text)), "train"
    )


def split_metatool(metatool: Toolset) -> list[LabelledRequest]:
    """Split MetaTool by tool: half of the tools for training, the other half for evaluation."""
    order = sorted(range(len(metatool.tools)), key=lambda place: _hash_order(metatool.tools[place].name))
    trained = frozenset(order[::2])
    shuffled = sorted(metatool.queries, key=lambda query: _hash_order(query.text))
    return [
        *(query for query in shuffled if query.split == "train" and query.relevant <= trained),
        *(
            replace(query, split="ood")
            for query in shuffled
            if query.split == "test" and not query.relevant & trained
        ),
    ]


def unseen_servers(
    folder: Path, toolbench: Toolset, toollens: Toolset
) -> tuple[Toolset, list[LabelledRequest]]:
    """ToolBench requests that the filter dropped and that use no trained server."""
    all_toolbench = read_toolset(folder / "toolbench")
    trained_places = {
        place for query in toolbench.queries if query.split != "ood" for place in query.relevant
    }
    trained = {
        alnum_key(_server(tool))
        for tool in (*(toolbench.tools[place] for place in trained_places), *toollens.tools)
    }
    texts_in_filter = {query.text for query in toolbench.queries}
    selected: list[LabelledRequest] = []
    for query in all_toolbench.queries:
        servers = {alnum_key(_server(all_toolbench.tools[place])) for place in query.relevant}
        if query.text in texts_in_filter or not 0 < len(query.relevant) <= _MAX_TOOLS or servers & trained:
            continue
        texts_in_filter.add(query.text)
        selected.append(query)
    return _with_filter_tools(toolbench, "wide", all_toolbench, selected, "ood")


def _with_filter_tools(
    toolbench: Toolset, name: str, all_toolbench: Toolset, selected: Sequence[LabelledRequest], split: str
) -> tuple[Toolset, list[LabelledRequest]]:
    """Requests of all of ToolBench, with the filter's tools and their own as catalogue."""
    tools, ids = list(toolbench.tools), {key: number for number, key in enumerate(toolbench.ids)}
    queries: list[LabelledRequest] = []
    for query in selected:
        for place in sorted(query.relevant):
            if all_toolbench.ids[place] not in ids:
                ids[all_toolbench.ids[place]] = len(tools)
                tools.append(all_toolbench.tools[place])
        relevant = frozenset(ids[all_toolbench.ids[place]] for place in query.relevant)
        queries.append(LabelledRequest(query.id, query.text, relevant, split))
    return Toolset(name, tuple(distinct_names(tools)), tuple(queries), tuple(ids)), queries


def first_words(text: str) -> str:
    """The first words of a tool's text, as many as a query may have."""
    return " ".join(text.split()[:MAX_WORDS])


def authored_lessons() -> list[tuple[list[Message], str]]:
    """Lessons from the pairs: where to look, and what a tool would have to do."""
    rng = Random(0)  # noqa: S311  # no secrets here
    lessons: list[tuple[list[Message], str]] = []
    for pair in (*bundled_pairs(), *training_pairs()):
        time = datetime(2025, 3, rng.randrange(1, 29), rng.randrange(6, 24), tzinfo=UTC)
        place = rng.choice((None, None, "home", "work", "gym"))
        if pair.cot:
            lessons.append((thought_messages(Request(pair.query, "anybody", time, place)), pair.cot))
        if pair.tool_query:
            lessons.append((describe_messages(pair.query), first_words(pair.tool_query)))
    return lessons


def _allowed(
    toolset: Toolset, queries: Sequence[LabelledRequest], held_out: HeldOutTools
) -> list[LabelledRequest]:
    """The requests without training requests that need a held-out server or API; tests stay."""
    return [
        query
        for query in queries
        if query.split != "train" or held_out.allows(toolset.tools[place] for place in query.relevant)
    ]


def _set(
    toolset: Toolset, queries: Sequence[LabelledRequest], splits: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "tools": [tool_text(tool) for tool in toolset.tools],
        "queries": [
            {
                "id": query.id,
                "text": query.text,
                "split": (splits or {}).get(query.id, query.split),
                "relevant": sorted(query.relevant),
            }
            for query in queries
        ],
    }


def _server(tool: Tool) -> str:
    return tool.app or tool.name


def _hash_order(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def main(
    out: Annotated[Path, typer.Argument(help="File to write.")],
    folder: Annotated[Path, typer.Argument(help="Folder with toolbench, toollens and metatool.")],
) -> None:
    """Write the data of query generation."""
    out.write_text(json.dumps(querygen_data(folder)), encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)

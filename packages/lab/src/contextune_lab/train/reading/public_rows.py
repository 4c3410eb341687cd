"""Build rows of public sets, pairs and authored stores.

    python -m contextune_lab.train.reading.public_rows DATA OUT

`DATA` has the folders `bfcl`, `slurp`, `metatool`, `toollens`, `toolbench`, `ikat` and `workbench`; of the
last five, only the training part is read. SLURP's utterances are those of its development part.
"""

# arrays and tensors of untyped libraries
# pyright: basic, reportArgumentType=false, reportDeprecated=false

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np

from contextune.datasets import bundled_pairs, training_pairs
from contextune.embed import CachedEmbedder, Embedder, default_embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.outcomes import Judge
from contextune.plan.planning_input import PlanningInput
from contextune.reading.texts import NO_TOOL, Names, item_text, request_text
from contextune.search import tokenize
from contextune.tools import bundled_toolbox
from contextune.types import Request, Tool, User, local_time
from contextune_lab.commands.slurp import read_slurp
from contextune_lab.public_data.context_sets import ContextSet, read_ikat, read_workbench
from contextune_lab.public_data.toolset import Toolset, read_toolset
from contextune_lab.train.rankers.context.authored_stores import authored_stores
from contextune_lab.train.reading.rows import CallTrainingRow, ListRow, TrainingRows
from contextune_lab.train.reading.rows_calls import CallLabels
from contextune_lab.train.reading.rows_tools import EmbeddedTools, ToolRows
from contextune_lab.worlds.world import WorldCall

_USER = User("me")
_LONGEST = 700
_WITHDRAWN = 0.12
"""Share of the requests beside tools of which none serves."""
_NEAREST, _UNRELATED, _POSITIVES, _SLURP_POSITIVES = 14, 8, 3, 5
_SAMPLED_TOOLS = 2500
_PAIR_NEGATIVES, _ITEM_NEGATIVES, _ITEM_NEAREST = 5, 3, 10
_BFCL_FREE = frozenset(["query", "question", "text"])
TOOLSETS: Mapping[str, int] = {"metatool": 2500, "toollens": 2500, "toolbench": 2000}
"""Most requests of the training part of each set."""


class PublicRows:
    """Collects rows of public sets; each request gets a random moment."""

    def __init__(self, seed: int = 11, embedder: Embedder | None = None) -> None:
        self.rows = TrainingRows()
        self._draw = Random(seed)  # noqa: S311  # repeatable, not secret
        self._embedder = CachedEmbedder(embedder or default_embedder())
        self._tools = ToolRows(self._draw, self._embedder)

    def add_toolset(self, name: str, toolset: Toolset, limit: int, *splits: str) -> None:
        """Tool rows of a catalogue: a sample of the requests of some splits, all of them without `splits`."""
        queries = toolset.split(*splits) if splits else list(toolset.queries)
        if len(queries) > limit:
            queries = self._draw.sample(queries, limit)
        tools = self._sampled(name, toolset, {place for query in queries for place in query.relevant})
        for query in queries:
            right = [toolset.tools[place].id for place in sorted(query.relevant)]
            if right:
                self.rows.tools.append(self._tool_row(f"{name}:{query.id}", name, query.text, tools, right))

    def _sampled(self, name: str, toolset: Toolset, needed: set[int]) -> EmbeddedTools:
        """The tools that requests need, and a sample of the others of a large catalogue."""
        places = range(len(toolset.tools))
        if len(places) > 2 * _SAMPLED_TOOLS:
            places = sorted(needed | set(self._draw.sample(places, _SAMPLED_TOOLS)))
        return EmbeddedTools(name, [toolset.tools[place] for place in places], self._embedder)

    def _tool_row(self, row: str, name: str, text: str, tools: EmbeddedTools, right: list[str]) -> ListRow:
        request = self._request(text)[1]
        excluded = frozenset(right)
        if self._draw.random() < _WITHDRAWN:
            ids = list(tools.by_id)
            drawn = self._draw.sample(ids, min(len(ids), 5 * _UNRELATED))
            others = [tools.texts[tool] for tool in drawn if tool not in excluded][:_UNRELATED]
            return ListRow(row, name, request, [NO_TOOL, *others], [1, *(0 for _ in others)])
        others = [tool for tool in tools.nearest(text[:_LONGEST], _NEAREST) if tool not in excluded]
        return self._tools.list_row(row, name, request, tools, right[:_POSITIVES], others, excluded=excluded)

    def add_bfcl(self, folder: Path) -> None:
        """Call rows of BFCL's requests for one call."""
        toolset = read_toolset(folder)
        places = {key: place for place, key in enumerate(toolset.ids)}
        for query in _json_lines(folder / "queries.jsonl"):
            answers = query.get("possible_answer") or []
            if len(query["relevant"]) == 1 and isinstance(answers, list) and len(cast("Any", answers)) == 1:
                tool = toolset.tools[places[query["relevant"][0]]]
                calls = bfcl_calls(tool, next(iter(cast("Any", answers)[0].values())))
                self.rows.calls.append(self._call_row(f"bfcl:{query['id']}", query["query"], tool, calls))

    def _call_row(self, name: str, query: str, tool: Tool, calls: Sequence[WorldCall]) -> CallTrainingRow:
        request, text = self._request(query)
        labels = CallLabels(PlanningInput(request, _USER), Judge.of_contacts({}, ()), _BFCL_FREE)
        return labels.row(name, "bfcl", text, tool, calls)

    def add_slurp(self, folder: Path) -> None:
        """Tool rows of SLURP's commands, beside the bundled toolbox and one of the catalogues."""
        ids = {tool.name: tool.id for tool in bundled_toolbox()}
        for command in read_slurp(folder):
            text = self._request(command.text)[1]
            right = sorted(ids[name] for name in command.tools)
            catalogues = [(self._tools.bundled, right)]
            if right:
                drawn = self._tools.drawn()
                renamed = sorted({tool for each in right if (tool := drawn.counterpart(each))})
                if renamed:
                    catalogues.append((self._tools.embedded(drawn.name, drawn.tools), renamed))
            for tools, served in catalogues:
                others = [tool for tool in tools.hard(command.text) if tool not in served]
                row = self._tools.list_row(
                    f"slurp:{command.id}",
                    "slurp",
                    text,
                    tools,
                    served[:_SLURP_POSITIVES],
                    others,
                    excluded=frozenset(served),
                )
                self.rows.tools.append(row)

    def add_pairs(self) -> None:
        """Item rows of the pairs: their items, their distractor, and items of others."""
        pairs = [*bundled_pairs(), *training_pairs()]
        texts = [item.text for pair in pairs for item in pair.items]
        for pair in pairs:
            right = [item.text for item in pair.items]
            wrong = [pair.distractor.text, *self._draw.sample(texts, _PAIR_NEGATIVES)]
            grades = [*(2 for _ in right), *(0 for _ in wrong)]
            request = self._request(pair.query)[1]
            self.rows.items.append(ListRow(f"pairs:{pair.id}", "pairs", request, [*right, *wrong], grades))

    def add_context_set(self, contexts: ContextSet) -> None:
        """Item rows of users with items: those that are needed, near ones, and random ones."""
        for user in contexts.users:
            by_id = {item.id: item for item in user.items}
            if len(by_id) < 2:
                continue
            vectors = self._embedder.embed([item.text[:600] for item in user.items])
            names = Names(user.user)
            for query in user.queries:
                request = user.request(query)
                order = np.argsort(-(vectors @ self._embedder.embed([query.text])[0]), kind="stable")
                near = [user.items[number].id for number in order[:_ITEM_NEAREST].tolist()]
                drawn = self._draw.sample(list(by_id), min(len(by_id), _ITEM_NEGATIVES))
                right = {item for item, grade in (query.gold.relevant or {}).items() if grade}
                ids = list(dict.fromkeys([*near, *drawn, *sorted(right & by_id.keys())]))
                now, words = local_time(request.time, None), frozenset(tokenize(query.text))
                texts = [item_text(by_id[item], now, user.user, names, words) for item in ids]
                grades = [2 * int(item in right) for item in ids]
                name = f"{contexts.name}:{user.name(query)}"
                self.rows.items.append(
                    ListRow(name, contexts.name, request_text(request, now), texts, grades)
                )

    def _request(self, text: str) -> tuple[Request, str]:
        """A request at a random moment, and its text."""
        draw = self._draw
        moment = datetime(
            2026,
            draw.randint(1, 12),
            draw.choice((3, 9, 14, 22, 27)),
            draw.choice((7, 9, 12, 16, 20, 22)),
            draw.choice((5, 40)),
        )
        request = Request(text[:_LONGEST], _USER.id, time=moment)
        return request, request_text(request, moment)


def bfcl_calls(tool: Tool, answers: Mapping[str, Any]) -> list[WorldCall]:
    """The right calls of an answer: with its optional arguments, and without them."""
    values: dict[str, Any] = {}
    optional: set[str] = set()
    for name, listed in answers.items():
        options = cast("list[Any]", listed) if isinstance(listed, list) else [listed]
        if "" in options:
            optional.add(name)
        if given := [option for option in options if option != ""]:
            values[name] = _first(given[0])
    calls = [WorldCall(tool.id, values)]
    if optional:
        calls.append(WorldCall(tool.id, {name: v for name, v in values.items() if name not in optional}))
    return calls


def _first(value: Any) -> Any:
    """The first alternative of each part of an object; other values as they are."""
    if not isinstance(value, Mapping):
        return value
    parts = cast("Mapping[str, Any]", value)
    return {name: part[0] if isinstance(part, list) and part else part for name, part in parts.items()}


def _json_lines(file: Path) -> Iterator[dict[str, Any]]:
    try:
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError) as error:
        raise InvalidDataError(f"{file}: cannot be read: {error}") from None


def main(arguments: Sequence[str] | None = None) -> None:
    """Build the rows from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    data: Path = options.data
    public = PublicRows()
    public.add_toolset("bfcl", read_toolset(data / "bfcl"), 1000)
    public.add_bfcl(data / "bfcl")
    public.add_slurp(data / "slurp")
    for name, limit in TOOLSETS.items():
        public.add_toolset(name, read_toolset(data / name), limit, "train")
    public.add_pairs()
    for contexts in (
        authored_stores(),
        read_ikat(data / "ikat").part("train"),
        read_workbench(data / "workbench").part("train"),
    ):
        public.add_context_set(contexts)
    public.rows.save(options.out)


if __name__ == "__main__":
    main()

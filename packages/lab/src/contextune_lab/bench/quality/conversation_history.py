"""Conversation history benchmark on two public datasets (not in the package).

iKAT: retrieve the user's statements that a question depends on. A second table puts iKAT's self-contained
questions after another user's conversation: a change of topic, which should cost nothing.
MuDoCo: retrieve the human rewrite of a request among all rewrites.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from contextune.context.history import complete_from_history, embed_with_history
from contextune.embed import CachedEmbedder, Embedder, Matrix
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate_runs
from contextune.search import similarities, top
from contextune.types import Progress, Request, Turn

ALONE, REWRITTEN = "Request alone", "Rewritten by a person"
NEEDS_HISTORY, STANDALONE = "needs history", "stands alone"
_DEPTH = 100
_CHUNK = 256
_SHARED_USER = "everybody"


@dataclass(frozen=True, slots=True)
class ConversationQuery:
    """One request of a conversation with its relevant texts; `group` clusters similar conversations."""

    id: str
    request: Request
    rewrite: str
    relevant: frozenset[str]
    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class ConversationTask:
    """Queries, and the texts to search, by user."""

    queries: Sequence[ConversationQuery]
    candidates: Mapping[str, Mapping[str, str]]
    metrics: tuple[str, ...]


def _with_turns(query: ConversationQuery, turns: Sequence[Turn]) -> str:
    # latest first, so that truncation drops the oldest turn
    return " ".join([query.request.text, *(turn.text for turn in reversed(turns))])


TEXT_VARIANTS: Mapping[str, Callable[[ConversationQuery], str]] = {
    ALONE: lambda query: query.request.text,
    "Last turn always added": lambda query: _with_turns(query, query.request.history[-1:]),
    "Whole history always added": lambda query: _with_turns(query, query.request.history),
    "In context, as text": lambda query: complete_from_history(query.request),
    REWRITTEN: lambda query: query.rewrite,
}
AVERAGED = "In context, vectors averaged"


def history_tables(
    folder: Path, embedder: Embedder, *, progress: Progress | None = None
) -> Mapping[str, ResultTable]:
    """One result table per task, tested against the request alone; `folder` holds `ikat` and `mudoco`."""
    ikat = ikat_task(folder)
    tasks = {"iKAT": ikat, "iKAT, topic changed": topic_changed(ikat), "MuDoCo": mudoco_task(folder)}
    texts = list(dict.fromkeys(text for task in tasks.values() for text in _texts(task)))
    cached_embedder = CachedEmbedder(embedder, size=len(texts))
    for start in range(0, len(texts), _CHUNK):
        cached_embedder.embed(texts[start : start + _CHUNK])
        if progress:
            progress(min(start + _CHUNK, len(texts)), len(texts))
    return {name: _table(task, cached_embedder) for name, task in tasks.items()}


def ikat_task(folder: Path) -> ConversationTask:
    """IKAT's test questions that depend on at least one statement of their user."""
    candidates: dict[str, dict[str, str]] = {}
    for statement in _read(folder / "ikat" / "items.jsonl", _Statement):
        candidates.setdefault(statement.user, {})[statement.id] = statement.text
    queries = [
        ConversationQuery(
            line.id,
            Request(line.query, line.user, history=line.history),
            line.rewrite,
            frozenset(line.relevant),
            group=line.user,
            kind=STANDALONE if line.rewrite == line.query else NEEDS_HISTORY,
        )
        for line in _read(folder / "ikat" / "ctx_queries.jsonl", _Question)
        if line.relevant and line.split.startswith("test")
    ]
    if missing := next(
        (query for query in queries if not query.relevant <= candidates.get(query.group, {}).keys()), None
    ):
        raise InvalidDataError(f"{folder / 'ikat'}: query {missing.id!r} names an item of another user")
    return ConversationTask(queries, candidates, ("recall@3", "recall@5", "recall@10", "mrr"))


def topic_changed(task: ConversationTask) -> ConversationTask:
    """The task's self-contained queries, each after the longest conversation of another user."""
    longest: dict[str, tuple[Turn, ...]] = {}
    for query in task.queries:
        longest[query.group] = max(longest.get(query.group, ()), query.request.history, key=len)
    users = list(longest)
    queries = [
        replace(query, request=replace(query.request, history=longest[users[users.index(query.group) - 1]]))
        for query in task.queries
        if query.kind == STANDALONE
    ]
    return replace(task, queries=queries)


def mudoco_task(folder: Path) -> ConversationTask:
    """MuDoCo's test requests; rewrites that differ only in case and spaces count as one."""
    lines = [line for line in _read(folder / "mudoco" / "rewrites.jsonl", _Rewrite) if line.split == "test"]
    first_lines: dict[str, _Rewrite] = {}
    for line in lines:
        first_lines.setdefault(_normalized(line.rewrite), line)
    queries = [
        ConversationQuery(
            line.id,
            Request(line.query, _SHARED_USER, history=line.history),
            line.rewrite,
            frozenset({first_lines[_normalized(line.rewrite)].id}),
            group=line.id.rpartition("-turn")[0],
            kind=NEEDS_HISTORY if line.rewrite_required else STANDALONE,
        )
        for line in lines
    ]
    candidates = {line.id: line.rewrite for line in first_lines.values()}
    return ConversationTask(queries, {_SHARED_USER: candidates}, ("recall@1", "recall@3", "mrr"))


class _JsonRow(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)
    id: str


class _Statement(_JsonRow):
    user: str
    text: str


class _Rewrite(_JsonRow):
    query: str
    history: tuple[Turn, ...]
    rewrite: str
    split: str
    rewrite_required: bool


class _Question(_JsonRow):
    user: str
    query: str
    history: tuple[Turn, ...]
    rewrite: str
    split: str
    relevant: tuple[str, ...]


_Row = TypeVar("_Row", bound=_JsonRow)


def _read(file: Path, kind: type[_Row]) -> Iterator[_Row]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise InvalidDataError(
            f"{file}: cannot be read: {error.strerror}. The data is not part of the package: "
            "pass a folder with ikat/items.jsonl, ikat/ctx_queries.jsonl and mudoco/rewrites.jsonl"
        ) from None
    for number, line in enumerate(lines, 1):
        try:
            yield kind.model_validate(json.loads(line.decode()))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, fault["loc"])) or "line"
            raise InvalidDataError(f"{file}:{number}: {where}: {fault['msg']}") from None
        except ValueError as error:
            raise InvalidDataError(f"{file}:{number}: not valid UTF-8 JSON: {error}") from None


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())


def _texts(task: ConversationTask) -> Iterator[str]:
    for candidates in task.candidates.values():
        yield from candidates.values()
    for text in TEXT_VARIANTS.values():
        yield from map(text, task.queries)


def _table(task: ConversationTask, embedder: Embedder) -> ResultTable:
    matrices = {
        user: embedder.embed(list(candidates.values())) for user, candidates in task.candidates.items()
    }
    ids = {user: list(candidates) for user, candidates in task.candidates.items()}

    def rank_all(vectors: Sequence[Matrix]) -> Run:
        run: dict[str, list[str]] = {}
        for query, vector in zip(task.queries, vectors, strict=True):
            user = query.request.user
            best = top(similarities(vector, matrices[user]), _DEPTH)
            run[query.id] = [ids[user][place] for place in best]
        return run

    rows = {
        name: rank_all(list(embedder.embed([text(query) for query in task.queries])))
        for name, text in TEXT_VARIANTS.items()
    }
    gold = rows.pop(REWRITTEN)
    rows[AVERAGED] = rank_all([embed_with_history(query.request, embedder) for query in task.queries])
    rows[REWRITTEN] = gold
    return evaluate_runs(
        rows,
        {query.id: dict.fromkeys(sorted(query.relevant), 1) for query in task.queries},
        task.metrics,
        groups={query.id: query.group for query in task.queries},
        kinds={query.id: query.kind for query in task.queries},
        baseline=ALONE,
    )

"""What the talk before a request is worth, on two public sets of talks that stay outside the package.

iKAT: find a user's statements about themselves that a question hangs on. A second table asks those of its
questions that stand alone after somebody else's talk: a change of topic, which should cost nothing.
MuDoCo: find what a person wrote out in full for a request, among all such rewrites.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from contextune.context.history import in_context, vector_in_context
from contextune.embed import CachedEmbedder, Embedder, Matrix, default_embedder
from contextune.errors import InvalidDataError
from contextune.evaluate.metrics import Run
from contextune.evaluate.results import ResultTable, evaluate
from contextune.search import similarities, top
from contextune.types import Progress, Request, Turn

ALONE, GOLD = "Request alone", "Rewritten by a person"
LEANING, STANDING = "needs history", "stands alone"
_DEPTH = 100
_CHUNK = 256
_EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class Conversation:
    """One request with what is right for it; `group` names the talks that are alike."""

    id: str
    request: Request
    rewrite: str
    relevant: frozenset[str]
    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class ConversationTask:
    """Requests, and by user the things to find among."""

    talks: Sequence[Conversation]
    things: Mapping[str, Mapping[str, str]]
    metrics: tuple[str, ...]


def _added(talk: Conversation, turns: Sequence[Turn]) -> str:
    # the latest first, so that what an embedder cuts off is the oldest
    return " ".join([talk.request.text, *(turn.text for turn in reversed(turns))])


TEXTS: Mapping[str, Callable[[Conversation], str]] = {
    ALONE: lambda talk: talk.request.text,
    "Last turn always added": lambda talk: _added(talk, talk.request.history[-1:]),
    "Whole history always added": lambda talk: _added(talk, talk.request.history),
    "In context, as text": lambda talk: in_context(talk.request),
    GOLD: lambda talk: talk.rewrite,
}
AVERAGED = "In context, vectors averaged"


def history_tables(
    folder: Path, *, embedder: Embedder | None = None, progress: Progress | None = None
) -> Mapping[str, ResultTable]:
    """A table a task, tested against the request alone; `folder` holds the folders ikat and mudoco."""
    ikat = ikat_task(folder)
    tasks = {"iKAT": ikat, "iKAT, topic changed": topic_changed(ikat), "MuDoCo": mudoco_task(folder)}
    texts = list(dict.fromkeys(text for task in tasks.values() for text in _texts(task)))
    remembering = CachedEmbedder(embedder or default_embedder(), size=len(texts))
    for start in range(0, len(texts), _CHUNK):
        remembering.embed(texts[start : start + _CHUNK])
        if progress:
            progress(min(start + _CHUNK, len(texts)), len(texts))
    return {name: _table(task, remembering) for name, task in tasks.items()}


def ikat_task(folder: Path) -> ConversationTask:
    """The questions of iKAT's test splits that hang on at least one statement of their user."""
    things: dict[str, dict[str, str]] = {}
    for statement in _read(folder / "ikat" / "items.jsonl", _Statement):
        things.setdefault(statement.user, {})[statement.id] = statement.text
    talks = [
        Conversation(
            line.id,
            Request(line.query, line.user, history=line.history),
            line.rewrite,
            frozenset(line.relevant),
            group=line.user,
            kind=STANDING if line.rewrite == line.query else LEANING,
        )
        for line in _read(folder / "ikat" / "ctx_queries.jsonl", _Question)
        if line.relevant and line.split.startswith("test")
    ]
    if missing := next(
        (talk for talk in talks if not talk.relevant <= things.get(talk.group, {}).keys()), None
    ):
        raise InvalidDataError(
            f"{folder / 'ikat'}: query {missing.id!r} names an item that is not its user's"
        )
    return ConversationTask(talks, things, ("recall@3", "recall@5", "recall@10", "mrr"))


def topic_changed(task: ConversationTask) -> ConversationTask:
    """The task's requests that stand alone, each put after the longest talk of another user."""
    longest: dict[str, tuple[Turn, ...]] = {}
    for talk in task.talks:
        longest[talk.group] = max(longest.get(talk.group, ()), talk.request.history, key=len)
    users = list(longest)
    talks = [
        replace(talk, request=replace(talk.request, history=longest[users[users.index(talk.group) - 1]]))
        for talk in task.talks
        if talk.kind == STANDING
    ]
    return replace(task, talks=talks)


def mudoco_task(folder: Path) -> ConversationTask:
    """The requests of MuDoCo's test split; rewrites that differ in case and spaces only are one."""
    lines = [line for line in _read(folder / "mudoco" / "rewrites.jsonl", _Rewrite) if line.split == "test"]
    first: dict[str, _Rewrite] = {}
    for line in lines:
        first.setdefault(_folded(line.rewrite), line)
    talks = [
        Conversation(
            line.id,
            Request(line.query, _EVERYBODY, history=line.history),
            line.rewrite,
            frozenset({first[_folded(line.rewrite)].id}),
            group=line.id.rpartition("-turn")[0],
            kind=LEANING if line.rewrite_required else STANDING,
        )
        for line in lines
    ]
    things = {line.id: line.rewrite for line in first.values()}
    return ConversationTask(talks, {_EVERYBODY: things}, ("recall@1", "recall@3", "mrr"))


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


_Kind = TypeVar("_Kind", bound=_JsonRow)


def _read(file: Path, kind: type[_Kind]) -> Iterator[_Kind]:
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise InvalidDataError(
            f"{file}: cannot be read: {error.strerror}. The data is not in the package; "
            "give a folder that holds ikat/items.jsonl, ikat/ctx_queries.jsonl and mudoco/rewrites.jsonl"
        ) from None
    for number, line in enumerate(lines, 1):
        try:
            yield kind.model_validate(json.loads(line.decode()))
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, fault["loc"])) or "the line"
            raise InvalidDataError(f"{file}:{number}: {where}: {fault['msg']}") from None
        except ValueError as error:
            raise InvalidDataError(f"{file}:{number}: is not JSON in UTF-8: {error}") from None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _texts(task: ConversationTask) -> Iterator[str]:
    for things in task.things.values():
        yield from things.values()
    for text in TEXTS.values():
        yield from map(text, task.talks)


def _table(task: ConversationTask, embedder: Embedder) -> ResultTable:
    matrices = {user: embedder.embed(list(things.values())) for user, things in task.things.items()}
    ids = {user: list(things) for user, things in task.things.items()}

    def ranked(vectors: Sequence[Matrix]) -> Run:
        found: dict[str, list[str]] = {}
        for talk, vector in zip(task.talks, vectors, strict=True):
            user = talk.request.user
            best = top(similarities(vector, matrices[user]), _DEPTH)
            found[talk.id] = [ids[user][place] for place in best]
        return found

    rows = {
        name: ranked(list(embedder.embed([text(talk) for talk in task.talks])))
        for name, text in TEXTS.items()
    }
    gold = rows.pop(GOLD)
    rows[AVERAGED] = ranked([vector_in_context(talk.request, embedder) for talk in task.talks])
    rows[GOLD] = gold
    return evaluate(
        rows,
        {talk.id: dict.fromkeys(sorted(talk.relevant), 1) for talk in task.talks},
        task.metrics,
        groups={talk.id: talk.group for talk in task.talks},
        kinds={talk.id: talk.kind for talk in task.talks},
        baseline=ALONE,
    )

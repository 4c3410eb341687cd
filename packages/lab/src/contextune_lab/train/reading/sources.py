"""What the reading model and its rankers learn from: stores of worlds and personas with their requests.

All have the same form here: a request with the ids of the items it needs and the calls that are right.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import md5
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from contextune.datasets import Persona, Query, everyday_requests, training_requests
from contextune.datasets.habits import load_persona
from contextune.store import SQLiteStore
from contextune.tools import bundled_toolbox
from contextune.types import Item, Request, Tool, User
from contextune_lab.worlds.ask import shown_items, world_request
from contextune_lab.worlds.light import LightWorld, read_light_worlds
from contextune_lab.worlds.load import load_world
from contextune_lab.worlds.world import USER, WorldCall, WorldRequest, find_worlds, read_world

FOLDS = 4
_WORLD_FOLDS = (("w01", "w02", "w12"), ("w03", "w04", "w05"), ("w06", "w07", "w10"), ("w08", "w09"))
_PERSONA_FREE = frozenset(["body", "text", "content", "message", "query", "q", "comment", "note"])
"""Arguments of personas' calls whose wording is the assistant's own."""
_NEEDED, _HELPFUL = 2, 1


@dataclass(frozen=True, eq=False)
class SourceRequest:
    """A request with what was expected."""

    id: str
    kind: str
    request: Request
    needs: frozenset[str]
    """Ids of the items that it needs."""
    helps: frozenset[str]
    calls: tuple[WorldCall, ...]
    """The calls that are right; empty if no tool serves, or if it is right to ask."""
    also_right: frozenset[str] = frozenset()
    """Ids of tools that would do as well, without their arguments."""
    asks_for: str | None = None
    """The tool that a good assistant asks back about."""
    free: frozenset[str] = frozenset()

    @property
    def tools(self) -> frozenset[str]:
        """The tools that serve, or that the assistant asks about."""
        asked = [self.asks_for] if self.asks_for else []
        return frozenset([*(call.tool for call in self.calls), *asked])

    def grade(self, item: str) -> int:
        """2 for an item that is needed, 1 for one that helps, else 0."""
        return _NEEDED if item in self.needs else _HELPFUL if item in self.helps else 0


@dataclass(frozen=True, eq=False)
class RequestSource:
    """An open store with the requests of its user."""

    name: str
    fold: int
    store: SQLiteStore
    user: str
    requests: Sequence[SourceRequest]
    tools: Sequence[Tool]
    has_own_tools: bool = False
    is_persona: bool = False


def fold_of(name: str) -> int:
    """The fold of a world or of a persona, by name."""
    for fold, worlds in enumerate(_WORLD_FOLDS):
        if name in worlds:
            return fold
    if name.startswith("x") and name[1:].isdigit():
        return (int(name[1:]) - 1) % FOLDS
    return int(md5(name.encode(), usedforsecurity=False).hexdigest(), 16) % FOLDS


def open_worlds(
    names: Sequence[str], folder: Path | None, *, cache: Path | None = None
) -> Iterator[RequestSource]:
    """Worlds (`w01`) of a folder and light worlds (`x01`), one after the other; each is open for its turn."""
    small = [name for name in names if name.startswith("x")]
    light = {world.name: world for world in read_light_worlds(names=small)} if small else {}
    for name in names:
        opened = (
            open_light(light[name])
            if name in light
            else open_world(find_worlds(folder or Path(), [name])[0], cache=cache)
        )
        with opened as source:
            yield source


@contextmanager
def open_world(folder: Path, *, cache: Path | None = None) -> Generator[RequestSource]:
    """A world, imported at the first time."""
    with load_world(read_world(folder), cache=cache) as loaded:
        world, store = loaded.world, loaded.store
        requests = _world_requests(world.requests, loaded.user, list(store.items(USER)))
        yield RequestSource(
            world.name, fold_of(world.name), store, USER, requests, world.tools, world.has_own_tools
        )


@contextmanager
def open_light(world: LightWorld) -> Generator[RequestSource]:
    """A light world, in a store of its own."""
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "store.db") as store:
        world.load(store)
        requests = _world_requests(world.requests, store.user(USER), world.items)
        yield RequestSource(
            world.name, fold_of(world.name), store, USER, requests, world.tools, world.has_own_tools
        )


@contextmanager
def open_persona(persona: Persona, *, everyday: bool = True) -> Generator[RequestSource]:
    """A persona with its own requests, those written for training, and the everyday ones."""
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder) / "store.db") as store:
        load_persona(store, persona)
        requests = [
            *_persona_requests(persona, "own", persona.queries),
            *_persona_requests(persona, "more", _training().get(persona.id, ())),
            *_persona_requests(persona, "everyday", _everyday().get(persona.id, ()) if everyday else ()),
        ]
        tools = bundled_toolbox()
        yield RequestSource(
            persona.id, fold_of(persona.id), store, persona.id, requests, tools, is_persona=True
        )


@cache
def _training() -> Mapping[str, Sequence[Query]]:
    return training_requests()


@cache
def _everyday() -> Mapping[str, Sequence[Query]]:
    return everyday_requests()


def _world_requests(
    requests: Iterable[WorldRequest], user: User, items: Sequence[Item]
) -> list[SourceRequest]:
    ids: dict[object, list[str]] = {}
    for item in items:
        for shown in shown_items(item, user):
            ids.setdefault(shown, []).append(item.id)
    return [_world_request(request, user, ids) for request in requests]


def _world_request(request: WorldRequest, user: User, ids: Mapping[object, list[str]]) -> SourceRequest:
    needs, helps = (
        frozenset(chain.from_iterable(ids.get(item, ()) for item in items))
        for items in (request.needs, request.helps)
    )
    expected = () if request.asks else request.calls[:1]
    return SourceRequest(
        request.id,
        request.kind,
        world_request(request, user),
        needs,
        helps,
        (*expected, *(calls[0] for calls in request.also_right)),
        asks_for=request.calls[0].tool if request.asks and request.calls else None,
        free=request.free,
    )


def _persona_requests(persona: Persona, part: str, queries: Iterable[Query]) -> Iterator[SourceRequest]:
    ids = {tool.name: tool.id for tool in bundled_toolbox()}
    for query in queries:
        gold = query.gold
        grades = gold.relevant or {}
        api = ids.get(gold.api or "")
        yield SourceRequest(
            f"{persona.id}/{part}/{query.id}",
            gold.kind or "",
            persona.request(query),
            frozenset(item for item, grade in grades.items() if grade == _NEEDED),
            frozenset(item for item, grade in grades.items() if grade == _HELPFUL),
            (WorldCall(api, gold.args or {}),) if api else (),
            also_right=frozenset(ids[name] for name in gold.tools or () if name in ids),
            free=_PERSONA_FREE,
        )

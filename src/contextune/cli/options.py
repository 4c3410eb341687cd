"""Options that several commands share, and the stores, users, catalogues and embedders they select."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from contextune._internal.postgres_url import is_postgres
from contextune.errors import InvalidDataError, InvalidRequestError, StoreError

if TYPE_CHECKING:
    from contextune.embed import Embedder
    from contextune.store import ServiceStore
    from contextune.tools import ToolRetriever
    from contextune.tools.mcp.approvals import ApprovalFile
    from contextune.types import Progress

# Copied from the library, because help and completion must not import it; tests/cli/test_options.py compares.
CONTEXT_METHODS = ("bm25", "semantic", "hybrid", "situated", "learned", "reading")
TOOL_METHODS = ("bm25", "semantic", "hybrid", "learned", "reading")
DEFAULT_METHOD = "reading"
DEFAULT_TOOL_METHOD = "learned"

Method = Annotated[
    str, typer.Option(envvar="CONTEXTUNE_METHOD", help=f"Ranking method: {', '.join(CONTEXT_METHODS)}.")
]
UserName = Annotated[
    str | None,
    typer.Option(
        "--user", envvar="CONTEXTUNE_USER", help="Id of the user; default: the only one of the store."
    ),
]
RequestTime = Annotated[
    str | None, typer.Option("--time", help="Time of the request, such as 2024-05-16T17:40; default: now.")
]
RequestPlace = Annotated[
    str | None,
    typer.Option(
        "--place",
        envvar="CONTEXTUNE_PLACE",
        help="Place of the request: a saved place, or LATITUDE,LONGITUDE.",
    ),
]
ToolCatalog = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        envvar="CONTEXTUNE_CATALOG",
        help="Tool catalogue: a file (see contextune tools add) or postgresql://…; default: bundled.",
    ),
]
EmbedderName = Annotated[
    str,
    typer.Option(
        "--embedder",
        envvar="CONTEXTUNE_EMBEDDER",
        help="Embedder: bundled, endpoint:MODEL (OpenAI-compatible) or sentence-transformers:MODEL.",
    ),
]
DEFAULT_EMBEDDER = "bundled"
StoreName = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="CONTEXTUNE_STORE",
        help="Store: a file or postgresql://…; default: a file in your data folder.",
    ),
]

ApprovalsPath = Annotated[
    Path | None,
    typer.Option(
        "--approvals",
        envvar="CONTEXTUNE_APPROVALS",
        help="File of the approved tools of MCP servers; default: in your data folder.",
    ),
]

RankerPath = Annotated[
    Path | None,
    typer.Option(
        "--ranker",
        envvar="CONTEXTUNE_RANKER",
        help="Folder of a trained ranker, or of its versions (contextune fleet train); default: bundled.",
    ),
]

ServersFile = Annotated[
    Path | None, typer.Option(help="An mcp.json; its servers are offered by search_tools and call_tool.")
]
PolicySettings = Annotated[
    str,
    typer.Option(
        "--policy",
        envvar="CONTEXTUNE_POLICY",
        help="Limits for acting without asking, as act.read=0.5,act.send=0.9,trust=notes (docs/plan.md).",
    ),
]

AllowedHostNames = Annotated[
    str,
    typer.Option(
        "--allowed-hosts",
        envvar="CONTEXTUNE_ALLOWED_HOSTS",
        help="Host names that clients may use, as example.org,*.example.com; default on localhost: its own.",
    ),
]


def split_names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def data_path(path: Path | None, name: str) -> Path:
    """`path`, or by default the file `name` in the user's data folder, which is created."""
    if path is not None:
        return path
    import platformdirs

    return platformdirs.user_data_path("contextune", appauthor=False, ensure_exists=True) / name


def catalog_path(catalog: str | None) -> Path:
    """The file of a catalogue, by default in the user's data folder; an error for one in PostgreSQL."""
    if catalog is not None and is_postgres(catalog):
        raise InvalidRequestError(
            "this command needs a catalogue in a file: only 'tools add' and 'tools search' take PostgreSQL"
        )
    return data_path(None if catalog is None else Path(catalog).expanduser(), "tools.db")


def store_path(store: str | None) -> Path:
    """The file of a store, by default in the user's data folder; an error for one in PostgreSQL."""
    location = store_location(store)
    if isinstance(location, Path):
        return location
    raise InvalidRequestError(
        "this command needs a store in a file, not in PostgreSQL: make a file with 'contextune store copy', "
        "or back up the database with pg_dump"
    )


def store_location(store: str | None) -> str | Path:
    """The URL of a store in PostgreSQL, or the file of any other, by default in the user's data folder."""
    if store is not None and is_postgres(store):
        return store
    return data_path(None if store is None else Path(store).expanduser(), "contextune.db")


def open_approvals(path: Path | None) -> "ApprovalFile":
    """Open the approvals at `path`, or by default those in the user's data folder."""
    from contextune.tools.mcp.approvals import ApprovalFile

    return ApprovalFile(data_path(path, "approvals.db"))


def open_store(store: str | None, *, create: bool = False) -> "ServiceStore":
    """Open a store by its file or URL, or by default the one in the user's data folder.

    A file that does not exist is an error unless `create` is set.
    """
    from contextune.store import open_store

    location = store_location(store)
    if isinstance(location, Path) and not create and not location.exists():
        remedy = "create it with 'contextune init' or 'contextune import …'"
        raise StoreError(f"no such store: {location} ({remedy}{', or name another store' if store else ''})")
    return open_store(location)


class HasUsers(Protocol):
    """A store, or what stands for one in a dry run."""

    def users(self) -> list[str]:
        """The ids of all users."""
        ...


def resolve_user(store: HasUsers, user: str | None) -> str:
    """`user`, or by default the only user of the store."""
    if user is not None:
        return user
    users = store.users()
    if not users:
        raise InvalidRequestError("the store is empty: contextune import PATH… fills it with your own files")
    if len(users) > 1:
        raise InvalidRequestError(f"the store has {len(users)} users: choose one with --user")
    return users[0]


def check_embedder(name: str) -> tuple[str, str]:
    """The kind and the model that `--embedder` names."""
    kind, _, model = name.partition(":")
    if (kind, model) == (DEFAULT_EMBEDDER, "") or (kind in ("endpoint", "sentence-transformers") and model):
        return kind, model
    raise InvalidRequestError(
        f"not an embedder: {name!r} (write bundled, endpoint:MODEL or sentence-transformers:MODEL)"
    )


def select_embedder(name: str) -> "Embedder | None":
    """The embedder that `--embedder` names; None for the bundled one."""
    from contextune.embed import EndpointEmbedder, SentenceTransformersEmbedder

    kind, model = check_embedder(name)
    if kind == DEFAULT_EMBEDDER:
        return None
    return EndpointEmbedder(model) if kind == "endpoint" else SentenceTransformersEmbedder(model)


MinFit = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        help="Say that nothing fits below this probability; `contextune eval` prints values for your data.",
    ),
]


def tool_retriever(
    stack: ExitStack, catalog: str | None, embedder: "Embedder | None" = None
) -> "Callable[[Progress], ToolRetriever]":
    """How to load the retriever of a catalogue, or of the bundled toolbox; `stack` closes the catalogue."""
    if catalog is None:
        return partial(_bundled_retriever, embedder)
    if not is_postgres(catalog) and not Path(catalog).expanduser().is_file():
        raise InvalidDataError(f"there is no catalogue at {catalog!r}: contextune tools add … creates it")
    from contextune.tools.large.open import open_tools

    return lambda progress: open_tools(stack, catalog, embedder, progress=progress)


def _bundled_retriever(embedder: "Embedder | None", progress: "Progress") -> "ToolRetriever":
    from contextune.tools import ToolRetriever, bundled_toolbox

    return ToolRetriever(bundled_toolbox(), embedder, progress=progress)

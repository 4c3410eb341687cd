"""Options that several commands share, and the stores and users they select."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.store import ServiceStore, Store
    from contextune.tools.mcp.approvals import ApprovalFile

# Copied from the library, because help and completion must not import it; tests/cli/test_options.py compares.
CONTEXT_METHODS = ("bm25", "semantic", "hybrid", "situated", "learned")
TOOL_METHODS = ("bm25", "semantic", "hybrid", "learned")
DEFAULT_METHOD = "learned"

Method = Annotated[str, typer.Option(help=f"How to rank: {', '.join(CONTEXT_METHODS)}.")]
StoreName = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="CONTEXTUNE_STORE",
        help="File of the store, or postgresql://…; default: a file in your data folder.",
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

PolicySettings = Annotated[
    str,
    typer.Option(
        "--policy",
        envvar="CONTEXTUNE_POLICY",
        help="When to act without asking, as act.read=0.5,act.send=0.9,trust=notes (see docs/plan.md).",
    ),
]


def data_path(path: Path | None, name: str) -> Path:
    """`path`, or by default the file `name` in the user's data folder, which is created."""
    if path is not None:
        return path
    import platformdirs

    return platformdirs.user_data_path("contextune", appauthor=False, ensure_exists=True) / name


def store_path(store: str | None) -> Path:
    """The file of a store, by default in the user's data folder; an error for one in PostgreSQL."""
    location = store_location(store)
    if isinstance(location, Path):
        return location
    raise InvalidRequestError(
        "this command works on the file of a store, not on PostgreSQL: use pg_dump and pg_restore, or make a "
        "file with 'contextune store copy'"
    )


def store_location(store: str | None) -> str | Path:
    """The URL of a store in PostgreSQL, or the file of any other, by default in the user's data folder."""
    from contextune.store.open_store import is_postgres

    if store is not None and is_postgres(store):
        return store
    return data_path(None if store is None else Path(store), "contextune.db")


def open_approvals(path: Path | None) -> "ApprovalFile":
    """Open the approvals at `path`, or by default those in the user's data folder."""
    from contextune.tools.mcp.approvals import ApprovalFile

    return ApprovalFile(data_path(path, "approvals.db"))


def open_store(store: str | None) -> "ServiceStore":
    """Open a store by its file or URL, or by default the one in the user's data folder."""
    from contextune.store import open_store

    return open_store(store_location(store))


def resolve_user(store: "Store", user: str | None) -> str:
    """`user`, or by default the only user of the store."""
    if user is not None:
        return user
    users = store.users()
    if not users:
        raise InvalidRequestError("the store is empty: contextune import PATH… fills it with your own files")
    if len(users) > 1:
        raise InvalidRequestError(f"the store has {len(users)} users: choose one with --user")
    return users[0]

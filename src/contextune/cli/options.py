"""Options that several commands share, and the stores and users they select."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from contextune.errors import InvalidRequestError

if TYPE_CHECKING:
    from contextune.store import SQLiteStore, Store
    from contextune.tools.mcp.approvals import ApprovalFile

# Copied from the library, because help and completion must not import it; tests/cli/test_options.py compares.
CONTEXT_METHODS = ("bm25", "semantic", "hybrid", "situated", "learned")
TOOL_METHODS = ("bm25", "semantic", "hybrid", "learned")
DEFAULT_METHOD = "learned"

Method = Annotated[str, typer.Option(help=f"How to rank: {', '.join(CONTEXT_METHODS)}.")]
StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store", envvar="CONTEXTUNE_STORE", help="File of the store; default: in your data folder."
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


def store_path(path: Path | None) -> Path:
    """`path`, or by default the store in the user's data folder."""
    return data_path(path, "contextune.db")


def open_approvals(path: Path | None) -> "ApprovalFile":
    """Open the approvals at `path`, or by default those in the user's data folder."""
    from contextune.tools.mcp.approvals import ApprovalFile

    return ApprovalFile(data_path(path, "approvals.db"))


def open_store(path: Path | None) -> "SQLiteStore":
    """Open the store at `path`, or by default the one in the user's data folder."""
    from contextune.store import SQLiteStore

    return SQLiteStore(store_path(path))


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

"""Approvals: each tool of an MCP server is pinned by a digest of its definition.

A tool is approved when it is first seen, as its user has connected the server. A server that changes the
definition later may have been taken over, so the changed tool is held back until the user approves it; so is
a new one that comes while an approved one is gone, as a tool that is only renamed has changed as well.
"""

import json
import shutil
import tempfile
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self, cast

from contextune.errors import InvalidDataError
from contextune.store.database import Database
from contextune.store.rows import check_unicode
from contextune.store.schema import DatabaseSchema
from contextune.tools.catalog import LoadedTools, RefusedTool
from contextune.tools.mcp.definition_diff import TextChange, text_changes
from contextune.types import Tool

APPROVAL_FILE = DatabaseSchema(
    "file of approvals",
    0x43544150,  # "CTAP"
    (
        (
            """CREATE TABLE approvals (
                server TEXT NOT NULL,
                id TEXT NOT NULL,
                definition TEXT NOT NULL,
                pending TEXT,
                owns_name INTEGER NOT NULL DEFAULT 0,
                PRIMARY KEY (server, id)
            )""",
        ),
    ),
)
_MAX_FIELDS = 5
_NOT_APPROVED = "{}"
"""The definition of a tool that has never been approved."""
_MAX_RENAMED = 1000
"""Renamed tools of a server that wait for approval; more are refused without a trace."""


_RENAMED = (
    "it is new while another tool of its server is gone: the user can review and accept it with"
    " `contextune tools approve`"
)


@dataclass(frozen=True, slots=True)
class Approval:
    """A tool's approved definition, and the one its server lists now, if that differs."""

    server: str
    """The key of the server."""
    tool: str
    """The tool's id."""
    definition: str
    pending: str | None = None
    owns_name: bool = False
    """Whether calls by the tool's bare name mean this tool."""

    @property
    def is_new(self) -> bool:
        """Whether the tool has never been approved."""
        return self.definition == _NOT_APPROVED

    @property
    def differences(self) -> list["Difference"]:
        """What a pending definition changes."""
        return list(_differences(json.loads(self.definition), json.loads(self.pending or self.definition)))

    @property
    def reason(self) -> str:
        """Why the tool is held back: the changed fields, without the untrusted new text."""
        if self.is_new:
            return _RENAMED
        fields = [difference.field for difference in self.differences]
        more = f" and {len(fields) - _MAX_FIELDS} more" if len(fields) > _MAX_FIELDS else ""
        return (
            f"it has changed since it was approved ({', '.join(fields[:_MAX_FIELDS])}{more}): the user can"
            f" review and accept it with `contextune tools approve`"
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """One changed field of a definition; None where it is absent."""

    field: str
    old: str | None
    new: str | None

    @property
    def changes(self) -> list[TextChange]:
        """What has changed in its text, with what stands around it."""
        return text_changes(self.old, self.new)


class ChangedTool(RefusedTool):
    """A tool that is held back because its definition has changed."""


class ApprovalFile(Database):
    """The approvals of all servers. Safe to share between threads and processes."""

    def __init__(self, path: str | Path, *, timeout: float = 30.0) -> None:
        super().__init__(path, APPROVAL_FILE, timeout)

    @classmethod
    def temporary(cls) -> Self:
        """A file that is deleted with this object, for pins that last as long as the process."""
        folder = Path(tempfile.mkdtemp(prefix="contextune-"))
        approvals = cls(folder / "approvals.db")
        weakref.finalize(approvals, shutil.rmtree, folder, ignore_errors=True)
        return approvals

    def of_server(self, server: str) -> dict[str, Approval]:
        """The approvals of a server's tools, by tool id."""
        return {approval.tool: approval for approval in self._select("server = ?", server)}

    def pending(self) -> list[Approval]:
        """The tools of all servers that wait for approval."""
        return self._select("pending IS NOT NULL ORDER BY server, id")

    def waiting(self, server: str) -> dict[str, str | None]:
        """The pending definitions of a server's tools, by tool id."""
        query = "SELECT id, pending FROM approvals WHERE server = ? AND pending IS NOT NULL"
        with self._reading() as connection:
            return dict(connection.execute(query, (server,)).fetchall())

    def add(self, server: str, definitions: Mapping[str, str]) -> None:
        """Approve tools that are not known yet."""
        rows = [(check_unicode(server, "the server"), tool, text) for tool, text in definitions.items()]
        with self._writing() as connection:
            connection.executemany(
                "INSERT INTO approvals (server, id, definition) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows
            )

    def hold(self, server: str, definitions: Mapping[str, str], listed: Collection[str]) -> None:
        """Let unknown tools wait for approval, and forget those that their server no longer lists."""
        with self._writing() as connection:
            rows = connection.execute(
                "SELECT id FROM approvals WHERE server = ? AND definition = ?", (server, _NOT_APPROVED)
            ).fetchall()
            gone = [(server, tool, _NOT_APPROVED) for (tool,) in rows if tool not in listed]
            connection.executemany(
                "DELETE FROM approvals WHERE server = ? AND id = ? AND definition = ?", gone
            )
            added = [(check_unicode(server, "the server"), tool, _NOT_APPROVED, text)
                     for tool, text in definitions.items()]  # fmt: skip
            connection.executemany(
                "INSERT INTO approvals (server, id, definition, pending) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                added[: max(0, _MAX_RENAMED - len(rows) + len(gone))],
            )

    def set_pending(self, server: str, definitions: Mapping[str, str | None]) -> None:
        """Store the changed definitions of tools, or None if their server lists the approved ones again."""
        rows = [(text, server, tool, text) for tool, text in definitions.items()]
        with self._writing() as connection:
            # another process may have approved the definition just now
            connection.executemany(
                "UPDATE approvals SET pending = ? WHERE server = ? AND id = ? AND definition IS NOT ?", rows
            )

    def approve(self, approval: Approval) -> None:
        """Approve a pending definition; an error if the server has changed it again meanwhile."""
        with self._writing() as connection:
            cursor = connection.execute(
                "UPDATE approvals SET definition = pending, pending = NULL"
                " WHERE server = ? AND id = ? AND pending = ?",
                (approval.server, approval.tool, approval.pending),
            )
            if cursor.rowcount != 1:
                raise InvalidDataError(f"the tool {approval.tool!r} has changed again: review it once more")

    def own_name(self, server: str, tool: str) -> None:
        """Let calls by a tool's bare name mean this tool from now on."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE approvals SET owns_name = 1 WHERE server = ? AND id = ?", (server, tool)
            )

    def _select(self, condition: str, *values: str) -> list[Approval]:
        query = f"SELECT server, id, definition, pending, owns_name FROM approvals WHERE {condition}"  # noqa: S608  # constants only
        with self._reading() as connection:
            rows = connection.execute(query, values).fetchall()
        return [
            Approval(server, tool, text, pending, bool(owns)) for server, tool, text, pending, owns in rows
        ]


def review(approvals: ApprovalFile, server: str, loaded: LoadedTools, *, cached: bool = False) -> LoadedTools:
    """The tools as loaded, less those that differ from what was approved, which are refused.

    Tools that were never seen before are approved, unless an approved one is gone. Of `cached` tools, which
    the server may have changed since, those with a pending change are refused as well.
    """
    known = approvals.of_server(server)
    accepted: list[Tool] = []
    refused: list[RefusedTool] = []
    added: dict[str, str] = {}
    held: dict[str, str] = {}
    pending: dict[str, str | None] = {}
    listed = {tool.id for tool in loaded.tools} | {tool.name for tool in loaded.refused}
    is_renaming = any(not approval.is_new and tool not in listed for tool, approval in known.items())
    for tool in loaded.tools:
        text = definition_text(tool)
        approval = known.get(tool.id)
        if approval is None and is_renaming:
            held[tool.id] = text
            refused.append(ChangedTool(tool.id, _RENAMED))
            continue
        if approval is None:
            added[tool.id] = text
        elif approval.definition != text:
            if approval.pending != text:
                pending[tool.id] = text
            changed = Approval(server, tool.id, approval.definition, text)
            refused.append(ChangedTool(tool.id, changed.reason))
            continue
        elif approval.pending is not None and cached:
            refused.append(ChangedTool(tool.id, approval.reason))
            continue
        elif approval.pending is not None:
            pending[tool.id] = None
        accepted.append(tool)
    if added:
        approvals.add(server, added)
    if held or any(approval.is_new for approval in known.values()):
        approvals.hold(server, held, listed)
    if pending:
        approvals.set_pending(server, pending)
    return LoadedTools(tuple(accepted), (*loaded.refused, *refused))


def definition_text(tool: Tool) -> str:
    """What a model is told of a tool, as canonical JSON: name, title, description, schema, annotations."""
    annotations = {name: hint for name, hint in asdict(tool.annotations).items() if hint is not None}
    definition = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "parameters": tool.parameters,
        "annotations": annotations,
    }
    return json.dumps(definition, sort_keys=True)  # ASCII, so that invisible characters are escaped


def definition_digest(text: str) -> str:
    """The digest by which a definition is pinned, to compare it by eye."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _differences(old: Any, new: Any, field: str = "") -> Iterator[Difference]:
    """The fields in which two JSON values differ, as deep as both are objects."""
    if old == new:
        return
    if not (isinstance(old, dict) and isinstance(new, dict)):
        yield Difference(field, _shown(cast("Any", old)), _shown(new))
        return
    before, after = cast("dict[str, Any]", old), cast("dict[str, Any]", new)
    for name in dict.fromkeys((*before, *after)):
        path = f"{field}.{_plain(name)}" if field else _plain(name)
        if name in before and name in after:
            yield from _differences(before[name], after[name], path)
        elif name in before:
            yield Difference(path, _shown(before[name]), None)
        else:
            yield Difference(path, None, _shown(after[name]))


def _shown(value: object) -> str:
    """As JSON in ASCII, so that invisible characters are escaped."""
    return json.dumps(value)


def _plain(name: str) -> str:
    """The name of a field, short and escaped: the server chooses it."""
    text = json.dumps(name)[1:-1]
    return text if len(text) <= 40 else f"{text[:40]}…"


def pending_by_tool(approvals: Iterable[Approval], names: Sequence[str]) -> list[Approval]:
    """The pending approvals of the named tools: ids, or bare names that are unique among them."""
    pending = list(approvals)
    chosen: list[Approval] = []
    for name in names:
        matches = [approval for approval in pending if approval.tool == name] or [
            approval for approval in pending if approval.tool.partition("/")[2] == name
        ]
        if len({approval.tool for approval in matches}) > 1:
            ids = ", ".join(repr(approval.tool) for approval in matches[:3])
            raise InvalidDataError(f"more than one tool is named {name!r}: use an id, such as {ids}")
        if not matches:
            raise InvalidDataError(f"no change of {name!r} waits for approval")
        chosen += matches
    return chosen

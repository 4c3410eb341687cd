"""`contextune tools approve`: review and accept changed tools of MCP servers."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.cli.options import ApprovalsPath, open_approvals

if TYPE_CHECKING:
    from contextune.tools.mcp.approvals import Approval


def approve(
    tool: Annotated[list[str] | None, typer.Argument(help="Ids of changed tools.", metavar="ID")] = None,
    all_tools: Annotated[bool, typer.Option("--all", help="Approve all changes.")] = False,
    approvals: ApprovalsPath = None,
) -> None:
    """Print how tools of MCP servers have changed, and approve the named ones.

    A tool is approved when its server is first connected. If its definition changes later, neither the
    gateway nor the catalogue uses it until you approve it here.
    """
    from contextune.tools.mcp.approvals import pending_by_tool

    with open_approvals(approvals) as file:
        pending = file.pending()
        if not pending:
            output.out.print("No changed tool waits for approval.")
            return
        chosen = pending if all_tools or not tool else pending_by_tool(pending, tool)
        for approval in chosen:
            _print_change(approval)
        if not all_tools and not tool:
            waiting = pluralize(len(pending), "changed tool")
            output.out.print(f"Waiting: {waiting}. Approve with: contextune tools approve ID …, or --all.")
            return
        for approval in chosen:
            file.approve(approval)
    output.out.print(f"{pluralize(len(chosen), 'tool')} approved.")


def _print_change(approval: "Approval") -> None:
    from contextune.tools.mcp.approvals import definition_digest

    definitions = (None if approval.is_new else approval.definition, approval.pending)
    digests = " → ".join(map(definition_digest, filter(None, definitions)))
    server = approval.server.rpartition(" ")[0] or "unnamed"
    output.out.print(Text.assemble((approval.tool, "bold"), f" of the server {server}: {digests}"))
    for difference in approval.differences:
        for change in difference.changes:
            for sign, value, style in (("-", change.old, "red"), ("+", change.new, "green")):
                if value is not None:
                    parts = (
                        f"  {sign} {difference.field}: {change.before}",
                        (value, "reverse"),
                        change.after,
                    )
                    output.out.print(Text.assemble(*parts, style=style), soft_wrap=True)

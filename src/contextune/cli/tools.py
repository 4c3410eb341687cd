"""`contextune tools`: manage and search a catalogue of tools."""

import json as json_module
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import urlsplit

import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune._internal.postgres_url import is_postgres
from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.options import ApprovalsPath, StoreName, catalog_path, open_approvals, open_store
from contextune.cli.tool_approvals import approve
from contextune.cli.tools_index import app as index_app
from contextune.errors import ContextuneError, InvalidDataError, StoreError

if TYPE_CHECKING:
    from contextune.tools import Catalog, LoadedTools, RefusedTool, ToolQueries
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.large.postgres import PostgresCatalog
    from contextune.types import Progress, Tool

app = command_group(help="Manage and search a catalogue of tools.")
app.command()(approve)
app.add_typer(index_app, name="index")

CatalogName = Annotated[
    str | None,
    typer.Option(
        "--catalog",
        envvar="CONTEXTUNE_CATALOG",
        help="File of the catalogue, or postgresql://… (add and search); default: in your data folder.",
    ),
]
Server = Annotated[str | None, typer.Option("--server", help="Only the tools of this server or app.")]
_MAX_WORDS = 14
"""Length of a description in a table."""
_BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make a terminal show text in another order than it is stored in."""


def open_catalog(name: str | None, *, create: bool = False) -> "CatalogFile":
    """Open the catalogue in a file, by default the one in the user's data folder."""
    from contextune.tools.catalog_file import CatalogFile

    path = catalog_path(name)
    if not create and not path.exists():
        raise StoreError(f"there is no catalogue at {str(path)!r}: contextune tools add … creates it")
    return CatalogFile(path)


@app.command()
def add(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files (mcp.json, OpenAPI, schemas of OpenAI or Anthropic, …) or URLs of MCP servers."
        ),
    ] = None,
    bundled: Annotated[bool, typer.Option("--bundled", help="Add the 59 bundled APIs, as a trial.")] = False,
    app_name: Annotated[str | None, typer.Option("--app", help="App of the tools that name none.")] = None,
    embed: Annotated[bool, typer.Option(help="Embed the tools now instead of at the first search.")] = True,
    catalog: CatalogName = None,
    approvals: ApprovalsPath = None,
) -> None:
    """Add the tools of files and MCP servers; adding a source again updates it.

    The servers of an mcp.json are started, as your assistant would start them. Tools that a server has
    changed stay as they were until you approve them: contextune tools approve.
    """
    from contextune.tools import LoadedTools, bundled_toolbox
    from contextune.tools.loaders import load_tools

    if not source and not bundled:
        raise ContextuneError("nothing to add: name a file or a URL, or pass --bundled")
    any_tools = False
    with ExitStack() as stack:
        catalog_file = stack.enter_context(_open_for_adding(catalog))
        pins = stack.enter_context(open_approvals(approvals)) if source else None
        jobs: list[tuple[str, Callable[[], LoadedTools]]] = [
            (source_name(name), partial(load_tools, name, app=app_name, approvals=pins))
            for name in source or ()
        ]
        if bundled:
            jobs.insert(0, ("bundled", lambda: LoadedTools(tuple(bundled_toolbox()))))
        for name, loaded in _load_all(jobs):
            if isinstance(loaded, ContextuneError):
                output.print_error(_printable(str(loaded)))
            else:
                any_tools |= _put(catalog_file, loaded, name)
        if embed and any_tools and not is_postgres(catalog):
            _embed(cast("CatalogFile", catalog_file))
    if not any_tools:
        raise typer.Exit(2)


def _load_all(
    jobs: "Sequence[tuple[str, Callable[[], LoadedTools]]]",
) -> "list[tuple[str, LoadedTools | ContextuneError]]":
    """The tools of each source, or why it cannot be read."""
    results: list[tuple[str, LoadedTools | ContextuneError]] = []
    # of a single source nothing can be counted: the bar only shows that it is being read
    with output.progress("Reading", len(jobs) if len(jobs) > 1 else None) as update:
        for name, load in jobs:
            try:
                results.append((name, load()))
            except ContextuneError as error:
                results.append((name, error))
            update(len(results), len(jobs))
    return results


@app.command(name="list")
def list_tools(
    server: Server = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, which `add` can read.")] = False,
    catalog: CatalogName = None,
) -> None:
    """Print the tools, and the servers that offer the same ones."""
    from contextune.tools.loaders import tool_to_json

    with open_catalog(catalog) as catalog_file:
        tools = catalog_file.catalog()
    selected = _tools_of_server(tools, server)
    if json:
        rows = [{"id": tool.id, **tool_to_json(tool), "also_on": _also_on(tools, tool)} for tool in selected]
        typer.echo(json_module.dumps(rows, ensure_ascii=False, indent=2))
        return
    table = [(tool.id, _short_description(tool), ", ".join(_also_on(tools, tool))) for tool in selected]
    output.out.print(_table(("tool", "what it does", "also on"), table))
    output.out.print(f"{pluralize(len(selected), 'tool')}.")


@app.command(name="show")
def show_tool(
    name: Annotated[str, typer.Argument(help="Id of a tool, or its name if it is unique.", metavar="ID")],
    catalog: CatalogName = None,
) -> None:
    """Print everything about a tool: description, annotations, source, parameters."""
    from contextune.tools.loaders import tool_to_json

    with open_catalog(catalog) as catalog_file:
        tools, sources = catalog_file.catalog(), catalog_file.sources()
    tool = tools.tool(name)
    annotations = tool_to_json(tool).get("annotations", {})
    fields = {
        "": tool.description,
        "title": tool.title,
        "about": tool.about,
        "annotations": ", ".join(f"{hint}: {str(value).lower()}" for hint, value in annotations.items()),
        "examples": " · ".join(tool.examples),
        "also on": ", ".join(_also_on(tools, tool)),
        "from": next((source for source, ids in sources.items() if tool.id in ids), ""),
    }
    output.out.print(_text(tool.id, "bold"))
    for label, value in fields.items():
        if value:
            output.out.print(Text.assemble((f"{label}: ", "dim") if label else "", _printable(value)))
    if properties := tool.parameters.get("properties"):
        output.out.print(_parameter_table(properties, tool.parameters.get("required", ())))


@app.command()
def remove(
    tool: Annotated[list[str] | None, typer.Argument(help="Ids of tools.", metavar="ID")] = None,
    server: Annotated[str | None, typer.Option("--server", help="All tools of this server or app.")] = None,
    catalog: CatalogName = None,
) -> None:
    """Remove tools from the catalogue."""
    if not tool and server is None:
        raise ContextuneError("nothing to remove: name tools, or pass --server")
    with open_catalog(catalog) as catalog_file:
        tools = catalog_file.catalog()
        removed = catalog_file.remove([tools.tool(name).id for name in tool or ()], server=server)
    output.out.print(f"{len(removed)} removed, {len(tools) - len(removed)} left.")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="The request.")],
    k: Annotated[int, typer.Option("-k", help="Number of tools to print.")] = 10,
    server: Server = None,
    querygen: Annotated[
        bool, typer.Option("--querygen", help="Write the search queries with the configured language model.")
    ] = False,
    catalog: CatalogName = None,
) -> None:
    """Print the tools that can serve a request, best first."""
    from contextune.tools import ToolFilter, ToolQueries, search_all
    from contextune.tools.large.open import open_tools

    location = catalog if catalog is not None and is_postgres(catalog) else catalog_path(catalog)
    with ExitStack() as stack, output.progress("Embedding") as update:
        retriever = open_tools(stack, location, progress=update)
        tools, tool_filter = retriever.catalog, None
        if server is not None:
            tool_filter = ToolFilter(servers=[server])
        queries = _generate_queries(text, update) if querygen else ToolQueries(text, (), (text,))
        hits = search_all(retriever, queries, k, filter=tool_filter).hits
        if server is not None and not hits:
            _tools_of_server(tools, server)  # says which servers there are
        rows: list[tuple[str, ...]] = []
        for rank, hit in enumerate(hits, 1):
            also, why = ", ".join(_also_on(tools, hit.tool)), "; ".join(hit.reasons)
            rows.append((str(rank), f"{hit.score:.3f}", hit.tool.id, _short_description(hit.tool), also, why))
    for query in queries.generated:
        output.out.print(_text(f"searched for: {query}"), soft_wrap=True)
    columns = ("", "score", "tool", "what it does", "also on", "why")
    output.out.print(_table(columns, rows, title=f"“{text}”"))


@app.command()
def stats(
    user: Annotated[str, typer.Option(help="The user whose feedback to count.")], store: StoreName = None
) -> None:
    """Print how often each tool was right for a user's requests, according to feedback."""
    from contextune.tools.past_calls import tool_stats

    with open_store(store) as opened:
        rows = tool_stats(opened.feedback(user))
    if not rows:
        output.out.print(
            "There is no feedback on tools yet: Tuner.feedback(request, tool=…, ok=…) records it.",
            markup=False,
        )
        return
    table = Table("tool", "right", "wrong", "success", "last")
    for row in rows:
        share, last = f"{100 * row.success:.0f} %", f"{row.last:%Y-%m-%d %H:%M}"
        table.add_row(Text(row.tool), f"{row.right:,}", f"{row.wrong:,}", share, last)
    output.out.print(table)


def _generate_queries(text: str, progress: "Progress") -> "ToolQueries":
    """The request, and the queries that a language model writes for it."""
    from contextune.llm import required_chat
    from contextune.tools import QueryGenerator

    return QueryGenerator(required_chat(progress=progress), request_first=True).queries(text)


def _open_for_adding(catalog: str | None) -> "CatalogFile | PostgresCatalog":
    if catalog is None or not is_postgres(catalog):
        return open_catalog(catalog, create=True)
    from contextune.embed import default_embedder
    from contextune.tools.large.postgres import PostgresCatalog

    return PostgresCatalog(catalog, default_embedder())


def _put(catalog_file: "CatalogFile | PostgresCatalog", loaded: "LoadedTools", name: str) -> bool:
    """Store the tools of a source and print the changes; whether any tool was accepted."""
    from contextune.tools.mcp.approvals import ChangedTool

    refused = list(loaded.refused)
    if loaded.tools:
        # a server that failed is refused by its name; the tools it had before are kept
        failed = [tool.name for tool in loaded.refused]
        changed = [tool.name for tool in loaded.refused if isinstance(tool, ChangedTool)]
        changes = catalog_file.put(loaded.tools, name, keep=failed, keep_tools=changed)
        refused += changes.refused
        counts = {
            "added": changes.added, "changed": changes.changed, "unchanged": changes.unchanged,
            "removed": changes.removed,
        }  # fmt: skip
        summary = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids) or "nothing added"
        output.out.print(_text(f"{name}: {summary}."), soft_wrap=True)
    else:
        output.print_error(_printable(f"{name}: no tool could be loaded; tools from before, if any, stay"))
    for tool in refused:
        _print_refused(tool)
    return len(loaded.tools) > len(refused) - len(loaded.refused)


def _print_refused(tool: "RefusedTool") -> None:
    line = Text.assemble(("refused ", "yellow"), _printable(tool.name), f": {_printable(tool.reason)}")
    output.err.print(line, soft_wrap=True)


def _embed(catalog_file: "CatalogFile") -> None:
    from contextune.embed import default_embedder
    from contextune.tools.index import ToolIndex
    from contextune.tools.large.build import update_index
    from contextune.tools.large.open import has_index

    if has_index(catalog_file):
        with output.progress("Embedding") as update:
            result = update_index(catalog_file, default_embedder(), progress=update)
        output.out.print(f"{result.written} written to the index, {result.removed} removed from it.")
        return
    texts = 0
    with output.progress("Embedding") as update:

        def count_texts(done: int, of: int) -> None:
            nonlocal texts
            texts = of
            update(done, of)

        ToolIndex.build(
            catalog_file.catalog(), default_embedder(), vector_cache=catalog_file, progress=count_texts
        )
    output.out.print(f"{texts} embedded.")


def source_name(source: str) -> str:
    """The name a source is stored under: the absolute path of a file, or a URL without its secrets."""
    from contextune.store import text_digest
    from contextune.tools.mcp.load import is_url

    if not is_url(source):
        return str(Path(source).absolute())
    parts = urlsplit(source)
    query = f"?{text_digest(parts.query).hex()[:8]}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query}"


def _also_on(tools: "Catalog", tool: "Tool") -> list[str]:
    """The other servers that offer the same tool."""
    return [duplicate.app for duplicate in tools.duplicates(tool)]


def _tools_of_server(tools: "Catalog", server: str | None) -> "Sequence[Tool]":
    selected = [tool for tool in tools if server in (None, tool.app)]
    if server is not None and not selected:
        servers = ", ".join(dict.fromkeys(repr(tool.app) for tool in tools)) or "none"
        raise InvalidDataError(
            f"there is no server {server!r} in the catalogue: choose among {_printable(servers)}"
        )
    return selected


def _short_description(tool: "Tool") -> str:
    words = tool.description.split()
    return " ".join(words) if len(words) <= _MAX_WORDS else f"{' '.join(words[:_MAX_WORDS])} …"


def _parameter_table(properties: Mapping[str, Any], required: Iterable[str]) -> Table:
    from contextune.tools.definitions.validation import as_mapping

    rows: list[tuple[str, ...]] = []
    required = set(required)
    for name, value in properties.items():
        schema = as_mapping(value) or {}
        kind = schema.get("type", "")
        kinds = kind if isinstance(kind, str) else " or ".join(map(str, kind))
        rows.append((name, kinds, "required" if name in required else "", str(schema.get("description", ""))))
    return _table(("parameter", "type", "", "what it is"), rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> Table:
    """A table without its empty columns."""
    caption = _text(title, "bold") if title else None
    table = Table(title=caption, title_justify="left", header_style="dim")
    filled = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    for number in filled:
        table.add_column(columns[number], overflow="fold")  # ids are copied from here, so never cut them
    for row in rows:
        table.add_row(*(_text(row[number]) for number in filled))
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(_printable(text), style)


def _printable(text: str) -> str:
    """`text` in one line, without control characters: descriptions of tools are untrusted."""
    kinds = ((character, unicodedata.category(character)) for character in text)
    printed = "".join(
        " " if kind == "Cc" else character
        for character, kind in kinds
        if kind != "Cs" and character not in _BIDI_CONTROLS
    )
    return " ".join(printed.split())

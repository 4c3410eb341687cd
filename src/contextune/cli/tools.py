"""Commands that keep a catalogue of tools, and search it."""

import json as json_module
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import platformdirs
import typer
from rich.table import Table
from rich.text import Text

from contextune._internal.plural import pluralize
from contextune.cli import output
from contextune.embed import default_embedder
from contextune.errors import ContextuneError, InvalidDataError, StoreError
from contextune.llm import required_chat
from contextune.store import text_digest
from contextune.tools import (
    Catalog,
    LoadedTools,
    QueryGenerator,
    RefusedTool,
    ToolFilter,
    ToolQueries,
    ToolRetriever,
    bundled_toolbox,
    search_all,
)
from contextune.tools.catalog_file import CatalogFile
from contextune.tools.index import ToolIndex
from contextune.tools.loaders import load_tools, tool_json
from contextune.tools.mcp.load import is_url
from contextune.tools.past_calls import tool_stats
from contextune.tools.validation import mapping
from contextune.types import Progress, Tool

app = typer.Typer(help="Keep a catalogue of tools, and search it.", no_args_is_help=True)

CatalogPath = Annotated[
    Path | None,
    typer.Option(
        "--catalog", envvar="CONTEXTUNE_CATALOG", help="The catalogue's file; default: in your data folder."
    ),
]
OnServer = Annotated[str | None, typer.Option("--server", help="Only the tools of this server or app.")]
_WORDS = 14
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that make a terminal show text in another order than it is in."""


def open_shelf(path: Path | None, *, make: bool = False) -> CatalogFile:
    """The catalogue at `path`, or the user's own; only adding makes one that is not there."""
    if path is None:
        path = platformdirs.user_data_path("contextune", appauthor=False, ensure_exists=True) / "tools.db"
    if not make and not path.exists():
        raise StoreError(f"there is no catalogue at {str(path)!r}: contextune tools add … makes one")
    return CatalogFile(path)


@app.command()
def add(
    source: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files (mcp.json, OpenAPI, schemas of OpenAI or Anthropic, …) or URLs of MCP servers."
        ),
    ] = None,
    bundled: Annotated[
        bool, typer.Option("--bundled", help="Add the 59 APIs of the package, to try.")
    ] = False,
    app_name: Annotated[
        str | None, typer.Option("--app", help="Where tools belong that do not say it themselves.")
    ] = None,
    embed: Annotated[bool, typer.Option(help="Embed the tools now, not at the first search.")] = True,
    catalog: CatalogPath = None,
) -> None:
    """Add tools. Adding a source again brings the catalogue up to date with it.

    The servers of an mcp.json are started, as your assistant would start them.
    """
    if not source and not bundled:
        raise ContextuneError("nothing to add: name a file or a URL, or say --bundled")
    jobs = [(source_name(one), partial(load_tools, one, app=app_name)) for one in source or ()]
    if bundled:
        jobs.insert(0, ("bundled", partial(_bundled)))
    any_tools = False
    with open_shelf(catalog, make=True) as shelf:
        for name, load in jobs:
            try:
                with output.err.status(_text(f"Reading {name}")):
                    loaded = load()
            except ContextuneError as error:
                output.error(_shown(str(error)))
                continue
            any_tools |= _put(shelf, loaded, name)
        if embed and any_tools:
            _embed(shelf)
    if not any_tools:
        raise typer.Exit(2)


@app.command(name="list")
def list_tools(
    server: OnServer = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON, which `add` reads again.")] = False,
    catalog: CatalogPath = None,
) -> None:
    """Print the tools, and which servers offer the same."""
    with open_shelf(catalog) as shelf:
        tools = shelf.catalog()
    chosen = _of_server(tools, server)
    if json:
        rows = [{"id": tool.id, **tool_json(tool), "also_on": _also_on(tools, tool)} for tool in chosen]
        typer.echo(json_module.dumps(rows, ensure_ascii=False, indent=2))
        return
    table = [(tool.id, _brief(tool), ", ".join(_also_on(tools, tool))) for tool in chosen]
    output.out.print(_table(("tool", "what it does", "also on"), table))
    output.out.print(f"{pluralize(len(chosen), 'tool')}.")


@app.command(name="show")
def show_tool(
    tool: Annotated[str, typer.Argument(help="A tool's id, or its name if no other has it.", metavar="ID")],
    catalog: CatalogPath = None,
) -> None:
    """Print all that is known of a tool."""
    with open_shelf(catalog) as shelf:
        tools, sources = shelf.catalog(), shelf.sources()
    found = tools.tool(tool)
    said = tool_json(found).get("annotations", {})
    lines = {
        "": found.description,
        "title": found.title,
        "about": found.about,
        "says of itself": ", ".join(f"{name}: {str(hint).lower()}" for name, hint in said.items()),
        "for example": " · ".join(found.examples),
        "also on": ", ".join(_also_on(tools, found)),
        "from": next((source for source, ids in sources.items() if found.id in ids), ""),
    }
    output.out.print(_text(found.id, "bold"))
    for label, line in lines.items():
        if line:
            output.out.print(Text.assemble((f"{label}: ", "dim") if label else "", _shown(line)))
    if properties := found.parameters.get("properties"):
        output.out.print(_parameters(properties, found.parameters.get("required", ())))


@app.command()
def remove(
    tool: Annotated[list[str] | None, typer.Argument(help="Ids of tools.", metavar="ID")] = None,
    server: Annotated[str | None, typer.Option("--server", help="All tools of this server or app.")] = None,
    catalog: CatalogPath = None,
) -> None:
    """Remove tools."""
    if not tool and server is None:
        raise ContextuneError("nothing to remove: name tools, or a --server")
    with open_shelf(catalog) as shelf:
        tools = shelf.catalog()
        gone = shelf.remove([tools.tool(name).id for name in tool or ()], server=server)
    output.out.print(f"{len(gone)} removed, {len(tools) - len(gone)} left.")


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="What the user says.")],
    k: Annotated[int, typer.Option("-k", help="How many tools to output.")] = 10,
    server: OnServer = None,
    querygen: Annotated[
        bool, typer.Option("--querygen", help="Let the configured language model write what to search for.")
    ] = False,
    catalog: CatalogPath = None,
) -> None:
    """Print the tools that can serve a request, best first."""
    with open_shelf(catalog) as shelf, output.progress("Embedding") as update:
        tools = shelf.catalog()
        if not tools:
            raise InvalidDataError("the catalogue is empty: contextune tools add …")
        only = ToolFilter(servers=[server]) if _of_server(tools, server) and server is not None else None
        retriever = ToolRetriever(tools, shelf=shelf, progress=update)
        queries = _queries(text, progress=update) if querygen else ToolQueries(text, (), (text,))
        found = search_all(retriever, queries, k, only=only).hits
    for line in queries.generated:
        output.out.print(_text(f"searched for: {line}"), soft_wrap=True)
    rows: list[tuple[str, ...]] = []
    for rank, hit in enumerate(found, 1):
        also, why = ", ".join(_also_on(tools, hit.tool)), "; ".join(hit.reasons)
        rows.append((str(rank), f"{hit.score:.3f}", hit.tool.id, _brief(hit.tool), also, why))
    columns = ("", "score", "tool", "what it does", "also on", "why")
    output.out.print(_table(columns, rows, title=f"“{text}”"))


def _queries(text: str, *, progress: Progress) -> ToolQueries:
    """The request, and what a language model makes of it."""
    return QueryGenerator(required_chat(progress=progress), request_first=True).queries(text)


def _bundled() -> LoadedTools:
    return LoadedTools(tuple(bundled_toolbox()))


def _put(shelf: CatalogFile, loaded: LoadedTools, name: str) -> bool:
    """Put tools on the shelf and say what came of it; whether any were taken."""
    refused = list(loaded.refused)
    if loaded.tools:
        # a server that failed is refused by its name; the tools it had are still what it offers
        changes = shelf.put(loaded.tools, name, keep=[one.name for one in loaded.refused])
        refused += changes.refused
        counts = {
            "added": changes.added, "changed": changes.changed, "unchanged": changes.unchanged,
            "removed": changes.removed,
        }  # fmt: skip
        said = ", ".join(f"{len(ids)} {what}" for what, ids in counts.items() if ids) or "nothing added"
        output.out.print(_text(f"{name}: {said}."), soft_wrap=True)
    else:
        output.error(_shown(f"{name}: no tool could be loaded; those from before, if any, stay"))
    for one in refused:
        _say_refused(one)
    return len(loaded.tools) > len(refused) - len(loaded.refused)


def _say_refused(one: RefusedTool) -> None:
    line = Text.assemble(("refused ", "yellow"), _shown(one.name), f": {_shown(one.reason)}")
    output.err.print(line, soft_wrap=True)


def _embed(shelf: CatalogFile) -> None:
    texts = 0
    with output.progress("Embedding") as update:

        def counted(done: int, of: int) -> None:
            nonlocal texts
            texts = of
            update(done, of)

        ToolIndex.build(shelf.catalog(), default_embedder(), shelf=shelf, progress=counted)
    output.out.print(f"{texts} embedded.")


def source_name(source: str) -> str:
    """What a source is remembered by: a file's whole path; an address without what may be a secret in it."""
    if not is_url(source):
        return str(Path(source).absolute())
    parts = urlsplit(source)
    query = f"?{text_digest(parts.query).hex()[:8]}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}{query}"


def _also_on(tools: Catalog, tool: Tool) -> list[str]:
    """The other servers that offer the same tool."""
    return [twin.app for twin in tools.twins(tool)]


def _of_server(tools: Catalog, server: str | None) -> Sequence[Tool]:
    chosen = [tool for tool in tools if server in (None, tool.app)]
    if server is not None and not chosen:
        there = ", ".join(dict.fromkeys(repr(tool.app) for tool in tools)) or "none"
        raise InvalidDataError(f"there is no server {server!r} in the catalogue: there is {_shown(there)}")
    return chosen


def _brief(tool: Tool) -> str:
    words = tool.description.split()
    return " ".join(words) if len(words) <= _WORDS else f"{' '.join(words[:_WORDS])} …"


def _parameters(properties: Mapping[str, Any], required: Iterable[str]) -> Table:
    rows: list[tuple[str, ...]] = []
    needed = set(required)
    for name, schema in properties.items():
        given = mapping(schema) or {}
        kind = given.get("type", "")
        kinds = kind if isinstance(kind, str) else " or ".join(map(str, kind))
        rows.append((name, kinds, "required" if name in needed else "", str(given.get("description", ""))))
    return _table(("parameter", "type", "", "what it is"), rows)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> Table:
    """Without the columns in which nothing stands."""
    caption = _text(title, "bold") if title else None
    table = Table(title=caption, title_justify="left", header_style="dim")
    filled = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    for place in filled:
        table.add_column(columns[place], overflow="fold")  # an id is there to be copied whole
    for row in rows:
        table.add_row(*(_text(row[place]) for place in filled))
    return table


def _text(text: str, style: str = "") -> Text:
    return Text(_shown(text), style)


def _shown(text: str) -> str:
    """In one line, without what a terminal would take for a command: tools are described by strangers."""
    kinds = ((character, unicodedata.category(character)) for character in text)
    printed = "".join(" " if kind == "Cc" else c for c, kind in kinds if kind != "Cs" and c not in _TURNING)
    return " ".join(printed.split())


@app.command()
def stats(
    user: Annotated[str, typer.Option(help="Whose past to look at.")], store: output.StorePath = None
) -> None:
    """Print how often each tool was right for a user's requests, as told by feedback."""
    with output.open_store(store) as opened:
        found = tool_stats(opened.feedback(user))
    if not found:
        output.out.print("No tool was told of yet: Tuner.feedback(request, tool=…, ok=…) does.", markup=False)
        return
    table = Table("tool", "right", "wrong", "success", "last")
    for one in found:
        share, last = f"{100 * one.success:.0f} %", f"{one.last:%Y-%m-%d %H:%M}"
        table.add_row(Text(one.tool), f"{one.right:,}", f"{one.wrong:,}", share, last)
    output.out.print(table)

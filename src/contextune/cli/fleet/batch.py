"""`contextune fleet embed`, `import` and `answer`."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from contextune._internal.assets import file_checksum
from contextune._internal.plural import pluralize
from contextune._internal.postgres_url import is_postgres
from contextune.cli import output
from contextune.cli.fleet.run import (
    Address,
    CheckpointPath,
    Workers,
    batch_run,
    finish,
    make_embedder,
    worker_settings,
)
from contextune.cli.options import DEFAULT_EMBEDDER, EmbedderName, RankerPath, StoreName, ToolCatalog
from contextune.errors import InvalidDataError


def embed(
    store: StoreName = None,
    catalog: Annotated[
        list[Path] | None, typer.Option(help="Also embed this catalogue of tools; may be repeated.")
    ] = None,
    users: Annotated[bool, typer.Option(help="Embed the items of all users.")] = True,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    workers: Workers = None,
    address: Address = None,
    checkpoint: CheckpointPath = None,
) -> None:
    """Embed the items of all users of a store, and catalogues of tools."""
    from contextune.fleet import RunReport, run_parts
    from contextune.fleet.embed import EmbedCatalogs, EmbedUsers, catalog_parts, user_parts
    from contextune.fleet.import_files import total_counts

    paths = [path.resolve() for path in catalog or ()]
    settings = worker_settings(store, embedder) if users else None
    tool_parts, item_parts = list(catalog_parts(paths)), []
    if settings:
        with settings.open_store() as opened:
            item_parts = list(user_parts(opened))
    files = [*(map(str, paths)), *([settings.store] if settings else [])]
    reports: list[RunReport] = []
    with batch_run(
        "embed", [*files, embedder], checkpoint=checkpoint, address=address, workers=workers, files=files
    ) as (done, execute):
        if tool_parts:
            work = EmbedCatalogs(make_embedder(embedder))
            with output.progress("Tools") as update:
                reports.append(run_parts(work, tool_parts, done, execute=execute, progress=update))
        if settings:
            with output.progress("Items") as update:
                reports.append(
                    run_parts(EmbedUsers(settings), item_parts, done, execute=execute, progress=update)
                )
        items = total_counts(done.contents(part.key for part in item_parts if "start" in part.payload))
        tools = total_counts(done.contents(part.key for part in tool_parts))
        finish(done, *reports)
    output.out.print(f"Embedded: {items['texts']:,} items, {tools['texts']:,} tools.", highlight=False)


def import_(
    folder: Annotated[Path, typer.Argument(help="Folder that holds a folder per user, named by user id.")],
    store: StoreName = None,
    workers: Workers = None,
    address: Address = None,
    checkpoint: CheckpointPath = None,
) -> None:
    """Import the files of many users, a folder each; importing again creates no duplicates."""
    from contextune.fleet import run_parts
    from contextune.fleet.import_files import ImportFolders, folder_parts, total_counts

    parts = list(folder_parts(folder))
    settings = worker_settings(store, create=True)
    run_settings = [settings.store, folder.resolve()]
    with batch_run(
        "import",
        run_settings,
        checkpoint=checkpoint,
        address=address,
        workers=workers,
        files=[settings.store],
    ) as (done, execute):
        now = datetime.fromisoformat(done.fact("now", datetime.now().astimezone().isoformat()))
        with output.progress("Users") as update:
            report = run_parts(ImportFolders(settings, now), parts, done, execute=execute, progress=update)
        total = total_counts(done.contents(part.key for part in parts))
        finish(done, report)
    names = ("users", "items", "uses", "contacts", "skipped")
    output.out.print(f"Imported: {', '.join(f'{total[name]:,} {name}' for name in names)}.", highlight=False)


def answer(
    requests: Annotated[
        Path, typer.Argument(help='JSON lines: {"user": …, "text": …}; also time, place, history and id.')
    ],
    out: Annotated[Path, typer.Option(help="File to write the answers to, a JSON line for each request.")],
    store: StoreName = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of items to return.")] = 10,
    catalog: ToolCatalog = None,
    ranker: RankerPath = None,
    embedder: EmbedderName = DEFAULT_EMBEDDER,
    workers: Workers = None,
    address: Address = None,
    checkpoint: CheckpointPath = None,
) -> None:
    """Answer a file of requests of any users of a store; nothing is executed.

    Exit status: 0 if all requests are answered, 1 if some got an error instead.
    """
    from contextune.fleet import run_parts
    from contextune.fleet.answer import AnswerRequests, request_parts, write_lines

    parts = list(request_parts(requests))
    if catalog and not is_postgres(catalog) and not Path(catalog).is_file():
        raise InvalidDataError(f"no such catalogue: {catalog} (create it with 'contextune tools add …')")
    settings = worker_settings(store, embedder, ranker)
    tools = str(Path(catalog).resolve()) if catalog and not is_postgres(catalog) else catalog
    identity = [file_checksum(requests), k, tools, ranker, embedder]
    with batch_run(
        "answer",
        [settings.store, out.resolve()],
        identity=identity,
        checkpoint=checkpoint,
        address=address,
        workers=workers,
        files=[settings.store, *([tools] if tools else [])],
    ) as (done, execute):
        now = datetime.fromisoformat(done.fact("now", datetime.now().astimezone().isoformat()))
        work = AnswerRequests(settings, now, tools, k)
        with output.progress("Requests") as update:
            report = run_parts(work, parts, done, execute=execute, progress=update)
        count = failed = 0
        if report.complete:
            count, failed = write_lines(done.contents(part.key for part in parts), out)
            answers = pluralize(count - failed, "answer")
            output.out.print(f"{answers} written to {out}.", markup=False, highlight=False)
        finish(done, report)
    if failed:
        output.print_error(f"{failed:,} of {count:,} requests cannot be answered: see 'error' in {out}")
        raise typer.Exit(1)

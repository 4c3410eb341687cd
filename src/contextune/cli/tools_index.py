"""`contextune tools index`: the index of a large catalogue on disk."""

from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.groups import command_group
from contextune.cli.options import catalog_path
from contextune.errors import StoreError

app = command_group(help="Index a large catalogue on disk.")

CatalogPath = Annotated[
    str | None,
    typer.Option(
        "--catalog", envvar="CONTEXTUNE_CATALOG", help="File of the catalogue; default: in your data folder."
    ),
]


def _path(catalog: str | None) -> Path:
    path = catalog_path(catalog)
    if not path.exists():
        raise StoreError(f"there is no catalogue at {str(path)!r}: contextune tools add … creates it")
    return path


@app.command()
def build(
    part: Annotated[int, typer.Option(min=1, help="Tools that are in memory at once.")] = 20_000,
    catalog: CatalogPath = None,
) -> None:
    """Index all tools of the catalogue; searches use the index from then on."""
    from contextune.embed import default_embedder
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.large.build import build_index

    with CatalogFile(_path(catalog)) as file, output.progress("Indexing") as update:
        manifest = build_index(file, default_embedder(), part=part, progress=update, graph_progress=update)
    output.out.print(f"{manifest.tools:,} tools indexed.")


@app.command()
def update(catalog: CatalogPath = None) -> None:
    """Apply what changed in the catalogue since the index was written."""
    from contextune.embed import default_embedder
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.large.build import update_index

    with CatalogFile(_path(catalog)) as file, output.progress("Embedding") as progress:
        result = update_index(file, default_embedder(), progress=progress)
    output.out.print(
        f"{result.written:,} written, {result.removed:,} removed, {result.manifest.tools:,} tools."
    )


@app.command()
def info(
    verify: Annotated[bool, typer.Option("--verify", help="Read all files and check their digests.")] = False,
    catalog: CatalogPath = None,
) -> None:
    """Print what the index consists of, and whether the catalogue has changed since."""
    from contextune.tools.catalog_file import CatalogFile
    from contextune.tools.large.manifest import Manifest
    from contextune.tools.large.stored_index import index_folder

    with CatalogFile(_path(catalog)) as file:
        folder = index_folder(file)
        manifest = Manifest.read(folder)
        try:
            manifest.check(folder, deep=verify)
        except FileNotFoundError as error:
            raise StoreError(f"the index {str(folder)!r} lacks a file: build it again") from error
        changed, removed, revision = file.changed_places(manifest.revision)
    size = sum(record.size for record in manifest.files.values())
    lines = {
        "tools": f"{manifest.tools:,}",
        "embedder": manifest.embedder,
        "generation": f"{manifest.generation}, {len(manifest.segments)} segments, {size / 1e6:,.1f} MB",
        "catalogue": "another file" if revision.catalog != manifest.catalog else "this file",
        "not yet indexed": f"{len({*changed, *removed}):,} changes",
        "digests": "correct" if verify else "not read (--verify)",
    }
    for name, value in lines.items():
        output.out.print(f"{name}: {value}", markup=False, highlight=False, soft_wrap=True)

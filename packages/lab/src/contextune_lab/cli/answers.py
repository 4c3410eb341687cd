"""`contextune answer`: answer the queries of persona files, for evaluation elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from contextune.cli import output
from contextune.cli.options import DEFAULT_METHOD, Method


def answer(
    folder: Annotated[Path, typer.Argument(help="Folder of persona files (*.json).")],
    out: Annotated[Path, typer.Option(help="Folder to write <persona id>.json to.")],
    method: Method = DEFAULT_METHOD,
) -> None:
    """Answer every query of persona files; gold fields are ignored."""
    from contextune_lab.bench.quality.plan.persona_answers import answer_files

    with output.progress("Answering") as update:
        refused = answer_files(folder, out, method=method, progress=update)
    for reason in refused:
        output.print_error(reason)
    if refused:
        raise typer.Exit(2)

"""Options that several benchmarks share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from contextune.datasets import Persona

Personas = Annotated[
    Path | None, typer.Option(help="Folder of persona files; default: the bundled personas.")
]
Methods = Annotated[list[str] | None, typer.Option("--method", help="Method to measure; may be repeated.")]
Public = Annotated[
    Path | None, typer.Option(help="Folder with toolbench, toollens and metatool, which are not bundled.")
]
Vectors = Annotated[
    Path | None,
    typer.Option(help="With --public: file of their vectors by fold, from the embedder training."),
]
Out = Annotated[Path | None, typer.Option(help="Folder to write JSON, CSV and TREC files to.")]
Plot = Annotated[Path | None, typer.Option(help="Folder to write plots to (needs matplotlib).")]


def read_personas(folder: Path | None) -> "list[Persona]":
    """The personas of a folder; without one, the bundled personas."""
    from contextune import datasets

    return list(datasets.read_personas(folder)) if folder else datasets.bundled_personas()

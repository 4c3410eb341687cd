"""Export a training run of the reader to the files that ship.

    python -m contextune_lab.train.reader.export RUN [--model FOLDER] [--folds FILE]

`RUN` is the output folder of `contextune_lab.train.reader.train`. By default, the model is written to
`contextune/assets/reader` and the out-of-fold probabilities to `contextune_lab/assets/reader_folds.npz`; run
`make checksums` afterwards.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from contextune._internal.array_files import read_arrays
from contextune._internal.assets import asset, lab_asset
from contextune.plan.calls.classifier import ToolClassifier
from contextune_lab.train.embedder.data import FOLDS
from contextune_lab.train.embedder.export import export
from contextune_lab.train.reader.fold_probabilities import FILE, save_fold_probabilities

NAME = "contextune-reader"


def export_model(run: Path, out: Path) -> None:
    """Write the encoder as int8 ONNX, and the linear layer as `tools.npz`."""
    head = read_arrays(run / "head.npz")
    export(run / "model", out, name=NAME, max_tokens=int(head["max_tokens"]), by_column=True)
    names = tuple(map(str, head["names"]))
    ToolClassifier(names, head["weights"].astype(np.float32)).save(out / "tools.npz")


def export_folds(run: Path, file: Path, folds: int = FOLDS) -> None:
    """Join the out-of-fold probabilities of all folds."""
    parts = [read_arrays(run / f"probabilities-{fold}.npz") for fold in range(folds)]
    names = [str(name) for part in parts for name in part["names"]]
    tools = list(map(str, read_arrays(run / "head.npz")["names"]))
    save_fold_probabilities(file, names, tools, np.concatenate([part["log_probabilities"] for part in parts]))


def main(
    run: Annotated[Path, typer.Argument(help="Output folder of the training run.")],
    model: Annotated[Path | None, typer.Option(help="Folder to write the model to.")] = None,
    folds: Annotated[Path | None, typer.Option(help="File to write the probabilities to.")] = None,
) -> None:
    """Export the reader and its out-of-fold probabilities."""
    model, folds = model or asset("reader"), folds or lab_asset("") / FILE
    export_model(run, model)
    export_folds(run, folds)
    typer.echo(f"{model}\n{folds}: {folds.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    typer.run(main)

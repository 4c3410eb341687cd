"""Collect the out-of-fold vectors of a training run into one file.

    python -m contextune_lab.train.embedder.collect_folds RUN FOLDS.npz [--public PUBLIC.npz]

`RUN` is the output folder of `contextune_lab.train.embedder.train`. Each persona's vectors come from the
embedder that has not seen it. Vectors of public catalogues go to a file of their own, the input of
`contextune train tools`.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from contextune.datasets import training_requests
from contextune_lab.train.embedder.bert_onnx import int8
from contextune_lab.train.embedder.data import (
    FOLDS,
    ITEM_PARTS,
    MORE_PARTS,
    REQUEST_PARTS,
    all_folds,
    all_personas,
    personas_digest,
)
from contextune_lab.train.embedder.fold_vectors import OPTIONAL_PARTS


def collect_personas(run: Path) -> dict[str, np.ndarray]:
    """Vectors of all personas in order, each from its own fold; tool vectors by fold."""
    personas = all_personas()
    fold, more = all_folds(), training_requests()
    files = [np.load(run / f"vectors-{number}.npz") for number in range(FOLDS)]
    parts = [
        *ITEM_PARTS,
        *REQUEST_PARTS,
        *MORE_PARTS,
        *(part for part in OPTIONAL_PARTS if all(part in file for file in files)),
    ]
    offsets = [dict.fromkeys(parts, 0) for _ in range(FOLDS)]
    rows: dict[str, list[np.ndarray]] = {part: [] for part in parts}
    for persona in personas:
        number = fold[persona.id]
        for part in parts:
            rows_of = persona.items if part in ITEM_PARTS else persona.queries
            count = len(more.get(persona.id, []) if part in MORE_PARTS else rows_of)
            start = offsets[number][part]
            rows[part].append(files[number][part][start : start + count])
            offsets[number][part] += count
    arrays = {part: np.concatenate(chunks) for part, chunks in rows.items()}
    arrays["tools"] = np.concatenate([file["tools"] for file in files])
    return arrays


def collect_public(run: Path) -> dict[str, np.ndarray]:
    """Vectors of public catalogues and requests, keyed `FOLD/TOOLSET tools` and `FOLD/TOOLSET queries`."""
    arrays: dict[str, np.ndarray] = {}
    for fold in range(FOLDS):
        with np.load(run / f"vectors-{fold}.npz") as file:
            names = [name for name in file.files if name.endswith((" tools", " queries"))]
            arrays |= {f"{fold}/{name}": int8(file[name].astype(np.float32), axis=1)[0] for name in names}
    return arrays


def main(
    run: Annotated[Path, typer.Argument(help="Output folder of the training run.")],
    out: Annotated[Path, typer.Argument(help="File to write.")],
    public: Annotated[Path | None, typer.Option(help="File for vectors of public catalogues.")] = None,
) -> None:
    """Write the vectors of all folds to one file."""
    if public:
        others: dict[str, Any] = collect_public(run)
        np.savez(public, **others)
    arrays: dict[str, Any] = {"digest": np.array(personas_digest(all_personas()))}
    for part, rows in collect_personas(run).items():
        if part.endswith(("kinds", "apps")):
            arrays[part] = rows.astype(np.float16)
            continue
        if part.endswith("around"):  # there are few situations
            rows, arrays[f"{part} index"] = np.unique(rows, axis=0, return_inverse=True)
        # int8 halves the size; cosines agree to two digits
        values, scales = int8(rows.astype(np.float32), axis=1)
        arrays[part], arrays[f"{part} scale"] = values, scales.astype(np.float16)
    np.savez(out, **arrays)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    typer.run(main)

"""Puts the vectors of the fold embedders together into the one file that ships.

    python -m contextune.lab.train.embedder.collect_folds RUN FOLDS.npz [--public PUBLIC.npz]

`RUN` is the folder that `contextune.lab.train.embedder.train` wrote to. Vectors of public catalogues go to
a file of their own, which `contextune train tools` takes and which does not ship. Each persona's vectors come
from the embedder that has not seen that persona, so that whatever is measured on them, or
learnt from them, is measured and learnt as on somebody new.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from contextune.lab.train.embedder.bert_onnx import int8
from contextune.lab.train.embedder.data import FOLDS, PARTS, all_folds, all_personas, digest


def gather(run: Path) -> dict[str, np.ndarray]:
    """The vectors of all personas in their order, each out of its own fold; of the tools, by fold."""
    personas = all_personas()
    fold = all_folds()
    files = [np.load(run / f"vectors-{number}.npz") for number in range(FOLDS)]
    done = [dict.fromkeys(PARTS, 0) for _ in range(FOLDS)]
    rows: dict[str, list[np.ndarray]] = {part: [] for part in PARTS}
    for persona in personas:
        number = fold[persona.id]
        for part in PARTS:
            count = len(persona.items if part == "items" else persona.queries)
            start = done[number][part]
            rows[part].append(files[number][part][start : start + count])
            done[number][part] += count
    found = {part: np.concatenate(parts) for part, parts in rows.items()}
    found["tools"] = np.concatenate([file["tools"] for file in files])
    return found


def gather_public(run: Path) -> dict[str, np.ndarray]:
    """The vectors of public catalogues and of requests to them, as `FOLD/TOOLSET tools` and `… queries`."""
    found: dict[str, np.ndarray] = {}
    for fold in range(FOLDS):
        with np.load(run / f"vectors-{fold}.npz") as file:
            names = [name for name in file.files if name.endswith((" tools", " queries"))]
            found |= {f"{fold}/{name}": int8(file[name].astype(np.float32), axis=1)[0] for name in names}
    return found


def main(
    run: Annotated[Path, typer.Argument(help="Where the embedders were trained.")],
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    public: Annotated[Path | None, typer.Option(help="Where to write vectors of public catalogues.")] = None,
) -> None:
    """Write the vectors of all folds to one file."""
    if public:
        others: dict[str, Any] = gather_public(run)
        np.savez(public, **others)
    arrays: dict[str, Any] = {"digest": np.array(digest(all_personas()))}
    for part, rows in gather(run).items():
        if part in ("kinds", "apps"):
            arrays[part] = rows.astype(np.float16)
        else:  # vectors take half the room, and cosines come out the same to the second digit
            values, scales = int8(rows.astype(np.float32), axis=1)
            arrays[part], arrays[f"{part} scale"] = values, scales.astype(np.float16)
    np.savez(out, **arrays)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    typer.run(main)

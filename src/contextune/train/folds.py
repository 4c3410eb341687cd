"""Puts the vectors of the fold embedders together into the one file that ships.

    python -m contextune.train.folds RUN src/contextune/assets/folds.npz

`RUN` is the folder that `contextune.train.embedder` wrote to. Each persona's vectors come
from the embedder that has not seen that persona, so that whatever is measured on them, or
learnt from them, is measured and learnt as on somebody new.
"""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from contextune.sources import bundled_personas
from contextune.train.embedder_data import FOLDS, PARTS, digest, folds


def gather(run: Path) -> dict[str, np.ndarray]:
    """The vectors of all bundled personas in their order, each out of its own fold."""
    personas = bundled_personas()
    fold = folds(personas)
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
    return {part: np.concatenate(found).astype(np.float16) for part, found in rows.items()}


def main(
    run: Annotated[Path, typer.Argument(help="Where the embedders were trained.")],
    out: Annotated[Path, typer.Argument(help="The file to write.")],
) -> None:
    """Write the vectors of all folds to one file."""
    arrays: dict[str, Any] = {"digest": np.array(digest(bundled_personas())), **gather(run)}
    np.savez(out, **arrays)
    typer.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    typer.run(main)

"""Convert the heads of an embedder training run into the request classifier that ships.

    python -m contextune_lab.train.embedder.request_classifier RUN/heads.npz OUT/reader.npz

Tools are embedded with the bundled embedder, which must come from the same run.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from contextune.context.signals.request_classifier import RequestClassifier
from contextune.embed import default_embedder
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text


def classifier_from_heads(heads: Path) -> RequestClassifier:
    """The classifier: head weights with their bias as last column, and the tool vectors."""
    with np.load(heads) as arrays:
        kinds, apps = (
            np.hstack([arrays[f"{head}.weight"], arrays[f"{head}.bias"][:, None]]).astype(np.float32)
            for head in ("kind", "app")
        )
    tools = bundled_toolbox()
    vectors = default_embedder().embed([tool_text(tool) for tool in tools])
    return RequestClassifier(kinds, apps, vectors, tuple(tool.app for tool in tools))


def main(
    heads: Annotated[Path, typer.Argument(help="The heads of a training run.")],
    out: Annotated[Path, typer.Argument(help="The file to write.")],
) -> None:
    """Write the request classifier."""
    out.parent.mkdir(parents=True, exist_ok=True)
    classifier_from_heads(heads).save(out)


if __name__ == "__main__":
    typer.run(main)

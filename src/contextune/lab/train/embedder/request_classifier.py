"""Makes the reader of requests out of the heads that were trained along with the embedder.

    python -m contextune.lab.train.embedder.request_classifier RUN/heads.npz OUT/reader.npz

The tools are embedded by the embedder in the package, which must be the one of that run.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from contextune.context.signals.request_classifier import RequestClassifier
from contextune.embed import default_embedder
from contextune.tools import bundled_toolbox
from contextune.tools.tool_text import tool_text


def reader(heads: Path) -> RequestClassifier:
    """The heads, each with its constant as one more column, and the tools."""
    with np.load(heads) as found:
        kinds, apps = (
            np.hstack([found[f"{head}.weight"], found[f"{head}.bias"][:, None]]).astype(np.float32)
            for head in ("kind", "app")
        )
    tools = bundled_toolbox()
    vectors = default_embedder().embed([tool_text(tool) for tool in tools])
    return RequestClassifier(kinds, apps, vectors, tuple(tool.app for tool in tools))


def main(
    heads: Annotated[Path, typer.Argument(help="The heads of a training run.")],
    out: Annotated[Path, typer.Argument(help="The file to write.")],
) -> None:
    """Write the reader."""
    out.parent.mkdir(parents=True, exist_ok=True)
    reader(heads).save(out)


if __name__ == "__main__":
    typer.run(main)

"""Embed the bundled toolbox, for `contextune.tools.bundled_vectors`.

Run it after the embedder or the toolbox has changed:

    python -m contextune_lab.train.embedder.tool_vectors && make checksums
"""

import argparse
from pathlib import Path

import numpy as np

from contextune._internal.assets import asset
from contextune.embed import default_embedder
from contextune.store import text_digest
from contextune.tools import bundled_toolbox
from contextune.tools.bundled_vectors import VECTORS_FILE
from contextune.tools.tool_text import tool_text


def write_tool_vectors(folder: Path) -> int:
    """Write the vectors of the bundled tools and their examples to a folder; return their number."""
    tools = bundled_toolbox()
    texts = [*map(tool_text, tools), *(text for tool in tools for text in tool.examples)]
    embedder = default_embedder()
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(
        folder / VECTORS_FILE,
        model=np.array(embedder.name),
        digests=np.array([np.frombuffer(text_digest(text), np.uint8) for text in texts]),
        vectors=embedder.embed(texts),
    )
    return len(texts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Embed the bundled toolbox.")
    parser.add_argument("--out", type=Path, default=asset("toolbox"), help="Folder to write to.")
    arguments = parser.parse_args()
    print(f"{write_tool_vectors(arguments.out)} vectors written to {arguments.out}")  # noqa: T201

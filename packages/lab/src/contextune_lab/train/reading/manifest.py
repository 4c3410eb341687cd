"""What the reading model and its rankers are trained on, for `trained_on.json` beside each of them.

    python -m contextune_lab.train.reading.manifest ASSETS

`ASSETS` has the folders `reading`, `reading_ranker`, `reading_tools` and `reading_calls`.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from contextune_lab.worlds.seen import write_trained_on
from contextune_lab.worlds.splits import CHOOSE_ON, REPORT_ON

LIGHT_WORLDS = tuple(f"x{number:02}" for number in range(1, 22))
"""All light worlds."""
READING_WORLDS = (*CHOOSE_ON, *LIGHT_WORLDS[:6])
"""Worlds that the reading model is trained on."""
RANKER_WORLDS = (
    *REPORT_ON,
    *("x07", "x09"),
    *LIGHT_WORLDS[12:],
)
"""Worlds that the rankers after the reading model are trained on: it has not seen them."""
WIDE_WORLDS = (*CHOOSE_ON, *REPORT_ON, *LIGHT_WORLDS[:12])
"""Worlds that the ranker before the reading model is trained on."""
READING_DATA = (
    *("personas", "training and everyday requests of personas", "pairs", "authored stores"),
    *("SLURP, development part", "BFCL"),
    *("MetaTool, ToolLens and ToolBench, training parts", "iKAT and WorkBench, training parts"),
)
"""Other data that the reading model is trained on."""
_PERSONAS = ("personas",)
MANIFESTS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "reading": (READING_WORLDS, READING_DATA),
    "reading_ranker": (tuple(dict.fromkeys((*WIDE_WORLDS, *RANKER_WORLDS))), _PERSONAS),
    "reading_tools": (RANKER_WORLDS, ()),
    "reading_calls": (RANKER_WORLDS, ()),
}
"""Worlds and other data by folder of a model."""


def write_manifests(assets: Path) -> None:
    """Write `trained_on.json` of each model that is there."""
    for name, (worlds, data) in MANIFESTS.items():
        if (assets / name).is_dir():
            write_trained_on(assets / name, worlds, data)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the manifests from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("assets", type=Path)
    write_manifests(parser.parse_args(arguments).assets)


if __name__ == "__main__":
    main()

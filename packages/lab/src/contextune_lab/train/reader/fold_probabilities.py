"""Out-of-fold tool probabilities of the reader: those of each request by a model that has not seen it.

Models that use the reader's probabilities as features train on these. Request names are unique over
personas' own, additional, everyday and plain requests; a request and its copy without tools have the same
text, so they share a name and its probabilities.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.array_files import read_arrays
from contextune._internal.assets import lab_asset
from contextune.errors import InvalidDataError

Floats = NDArray[np.float64]
FILE = "reader_folds.npz"
_BEST = 8
"""Tools kept of each request; the others share the rest, about 0.2 % each."""


def fold_probabilities(file: Path | None = None) -> Mapping[str, Mapping[str, float]]:
    """The probability of each tool by request name; by default those of the bundled file.

    The eight best tools have their own, the others an equal share of the rest, so that they add up to 1.
    """
    file = file or lab_asset(FILE, "the reader's fold probabilities")
    try:
        arrays = read_arrays(file)
        names, tools = (list(map(str, arrays[part])) for part in ("names", "tools"))
        best, logs = arrays["best"], arrays["log_probabilities"].astype(np.float64)
        if len(names) != len(best) or best.shape != logs.shape:
            raise ValueError(f"{len(names)} names for {best.shape} tools and {logs.shape} probabilities")
        return {
            name: _spread(tools, row, np.exp(log)) for name, row, log in zip(names, best, logs, strict=True)
        }
    except (OSError, KeyError, IndexError, ValueError) as error:
        raise InvalidDataError(f"{file}: not a file of the reader's fold probabilities: {error}") from None


def _spread(tools: Sequence[str], best: NDArray[np.uint8], probabilities: Floats) -> dict[str, float]:
    rest = max(0.0, 1 - float(probabilities.sum())) / max(1, len(tools) - len(best))
    row = dict.fromkeys(tools, rest)
    for place, probability in zip(best, probabilities, strict=True):
        row[tools[int(place)]] = float(probability)
    return row


def save_fold_probabilities(
    file: Path, names: Sequence[str], tools: Sequence[str], log_probabilities: NDArray[np.floating[Any]]
) -> None:
    """Write the best tools of each request, one row per name; of a repeated name, the first."""
    rows = sorted({name: row for row, name in reversed([*enumerate(names)])}.items())
    kept = log_probabilities[[row for _, row in rows]]
    best = np.argsort(-kept, axis=1, kind="stable")[:, :_BEST]
    arrays: dict[str, Any] = {
        "names": np.array([name for name, _ in rows]),
        "tools": np.array(tools),
        "best": best.astype(np.uint8),
        "log_probabilities": np.take_along_axis(kept, best, axis=1).astype(np.float16),
    }
    np.savez_compressed(file, **arrays)

"""Vectors of the bundled personas by tuned embedders that have not seen them: no GPU needed any more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contextune.bench.metrics import Run
from contextune.errors import InvalidDataError
from contextune.sources import Persona, asset
from contextune.train.embedder_data import PARTS, digest

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class FoldVectors:
    """The artefact, by persona."""

    personas: Sequence[Persona]
    file: Path

    @cached_property
    def _rows(self) -> dict[str, Matrix]:
        try:
            with np.load(self.file, allow_pickle=False) as found:
                made_from, rows = (
                    str(found["digest"]),
                    {part: found[part].astype(np.float32) for part in PARTS},
                )
        except (OSError, KeyError, ValueError) as error:
            raise InvalidDataError(f"{self.file}: is no file of fold vectors: {error}") from None
        if made_from != digest(self.personas):
            raise InvalidDataError(
                f"{self.file}: was made from other personas or other texts of theirs; "
                "train the embedders again (contextune.train.embedder, contextune.train.folds)"
            )
        return rows

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        """Each persona with its part of every matrix."""
        item = query = 0
        for persona in self.personas:
            parts = {part: self._rows[part][query : query + len(persona.queries)] for part in PARTS[1:]}
            yield persona, {"items": self._rows["items"][item : item + len(persona.items)], **parts}
            item, query = item + len(persona.items), query + len(persona.queries)

    def ranked(self, *, cot: bool) -> Run:
        """What likeness of meaning ranks for every query; with the CoT of the data, or without."""
        run: dict[str, list[str]] = {}
        for persona, parts in self:
            for query, vector in zip(persona.queries, parts["augmented" if cot else "queries"], strict=True):
                seen = persona.visible(query)
                order = np.argsort(-(parts["items"][seen] @ vector), kind="stable")
                run[persona.name(query)] = [persona.items[seen[int(n)]].id for n in order]
        return run


def bundled_folds(personas: Sequence[Persona]) -> FoldVectors:
    """The vectors in the package, for the bundled personas."""
    return FoldVectors(personas, asset("folds.npz"))

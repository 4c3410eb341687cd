"""Vectors of the personas in the package by tuned embedders that have not seen them: no GPU needed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import asset
from contextune.datasets import Persona, bundled_personas, training_personas
from contextune.errors import InvalidDataError
from contextune.lab.train.embedder.data import FOLDS, PARTS, digest, folds

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class FoldVectors:
    """The artefact, by persona: `personas` that are measured on, then `more` that are only learnt from."""

    personas: Sequence[Persona]
    more: Sequence[Persona]
    file: Path

    @property
    def everybody(self) -> list[Persona]:
        """All personas there are vectors of."""
        return [*self.personas, *self.more]

    @cached_property
    def fold(self) -> dict[str, int]:
        """The fold of each persona, each set being spread over all folds."""
        return {**folds(self.personas), **folds(self.more)}

    @cached_property
    def _rows(self) -> dict[str, Matrix]:
        try:
            with np.load(self.file, allow_pickle=False) as found:
                made_from = str(found["digest"])
                rows = {part: _floats(found, part) for part in (*PARTS, "tools")}
        except (OSError, KeyError, ValueError) as error:
            raise InvalidDataError(f"{self.file}: is no file of fold vectors: {error}") from None
        if made_from != digest(self.everybody):
            raise InvalidDataError(
                f"{self.file}: was made from other personas or other texts of theirs; "
                "train the embedders again with contextune.lab.train.embedder"
            )
        return rows

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        """Each persona with its part of every matrix, and the tools as its fold's embedder sees them."""
        item = query = 0
        tools = self._rows["tools"].reshape(FOLDS, -1, self._rows["tools"].shape[1])
        for persona in self.everybody:
            parts = {part: self._rows[part][query : query + len(persona.queries)] for part in PARTS[1:]}
            items = self._rows["items"][item : item + len(persona.items)]
            yield persona, {"items": items, "tools": tools[self.fold[persona.id]], **parts}
            item, query = item + len(persona.items), query + len(persona.queries)

    def ranked(self, *, cot: bool) -> dict[str, list[str]]:
        """What likeness of meaning ranks for every query measured on, with the CoT of the data or without."""
        run: dict[str, list[str]] = {}
        for persona, parts in islice(self, len(self.personas)):
            for query, vector in zip(persona.queries, parts["augmented" if cot else "queries"], strict=True):
                seen = persona.visible(query)
                order = np.argsort(-(parts["items"][seen] @ vector), kind="stable")
                run[persona.name(query)] = [persona.items[seen[int(n)]].id for n in order]
        return run


def bundled_folds() -> FoldVectors:
    """The vectors in the package, of the personas in the package."""
    return FoldVectors(bundled_personas(), training_personas(), asset("folds.npz"))


def _floats(found: Mapping[str, NDArray[Any]], part: str) -> Matrix:
    rows = found[part].astype(np.float32)
    return rows * found[f"{part} scale"].astype(np.float32) if f"{part} scale" in found else rows

"""Out-of-fold vectors of the bundled personas: benchmarks of the tuned embedder without a GPU."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from contextune._internal.assets import lab_asset
from contextune.datasets import Persona, bundled_personas, training_personas, training_requests
from contextune.errors import InvalidDataError
from contextune_lab.train.embedder.data import (
    FOLDS,
    ITEM_PARTS,
    MORE_PARTS,
    REQUEST_PARTS,
    assign_folds,
    personas_digest,
)

Matrix = NDArray[np.float32]
OPTIONAL_PARTS = ("large_model_cot",)
"""Arrays of requests that a file may lack: both with the chain of thought of a large model."""


class PersonaVectors(Protocol):
    """Vectors of personas and their requests, by an embedder that has not seen the persona."""

    @property
    def personas(self) -> Sequence[Persona]:
        """The personas that are measured on."""
        ...

    @property
    def all_personas(self) -> list[Persona]:
        """These, and those for training only."""
        ...

    @property
    def fold(self) -> dict[str, int]:
        """Fold by persona id."""
        ...

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        """Each persona with its part of every matrix; see `ITEM_PARTS`, `REQUEST_PARTS`, `MORE_PARTS`."""
        ...


@dataclass(frozen=True, eq=False)
class PersonaSplit:
    """Personas in folds: `personas` are measured on, `training_only` are not."""

    personas: Sequence[Persona]
    training_only: Sequence[Persona]

    @property
    def all_personas(self) -> list[Persona]:
        """All personas with vectors."""
        return [*self.personas, *self.training_only]

    @property
    def fold(self) -> dict[str, int]:
        """Fold by persona id; both sets are spread over all folds."""
        return self._fold

    @cached_property
    def _fold(self) -> dict[str, int]:
        return {**assign_folds(self.personas), **assign_folds(self.training_only)}


@dataclass(frozen=True, eq=False)
class FoldVectors(PersonaSplit):
    """Vectors of the personas in a file."""

    file: Path

    @cached_property
    def _additional(self) -> dict[str, int]:
        """Number of training requests by persona id; kept, since reading them takes long."""
        return {name: len(requests) for name, requests in training_requests().items()}

    @cached_property
    def _rows(self) -> dict[str, Matrix]:
        try:
            with np.load(self.file, allow_pickle=False) as arrays:
                digest = str(arrays["digest"])
                optional = [part for part in OPTIONAL_PARTS if part in arrays]
                names = (*ITEM_PARTS, *REQUEST_PARTS, *MORE_PARTS, "tools", *optional)
                rows = {part: _floats(arrays, part) for part in names}
        except (OSError, KeyError, ValueError) as error:
            raise InvalidDataError(f"{self.file}: not a file of fold vectors: {error}") from None
        if digest != personas_digest(self.all_personas):
            raise InvalidDataError(
                f"{self.file}: made from other personas or other texts; "
                "train the embedders again (contextune_lab.train.embedder)"
            )
        for prefix in ("", "more_"):
            situated = rows[f"{prefix}bare"] + rows[f"{prefix}around"]
            rows[f"{prefix}queries"] = situated / np.linalg.norm(situated, axis=1, keepdims=True)
        return rows

    def __iter__(self) -> Iterator[tuple[Persona, dict[str, Matrix]]]:
        """Each persona with its part of every matrix, and the tools as embedded by its fold's model."""
        item = query = extra = 0
        tools = self._rows["tools"].reshape(FOLDS, -1, self._rows["tools"].shape[1])
        own = ["queries", *REQUEST_PARTS, *(part for part in OPTIONAL_PARTS if part in self._rows)]
        for persona in self.all_personas:
            more = self._additional.get(persona.id, 0)
            slices = {
                **dict.fromkeys(ITEM_PARTS, slice(item, item + len(persona.items))),
                **dict.fromkeys(own, slice(query, query + len(persona.queries))),
                **dict.fromkeys(("more_queries", *MORE_PARTS), slice(extra, extra + more)),
            }
            parts = {name: self._rows[name][part] for name, part in slices.items()}
            yield persona, {"tools": tools[self.fold[persona.id]], **parts}
            item, query, extra = item + len(persona.items), query + len(persona.queries), extra + more

    def ranked(self, *, cot: bool) -> dict[str, list[str]]:
        """Semantic search for every measured query, with or without the dataset's CoT."""
        run: dict[str, list[str]] = {}
        for persona, parts in islice(self, len(self.personas)):
            for query, vector in zip(persona.queries, parts["augmented" if cot else "queries"], strict=True):
                visible = persona.visible(query)
                order = np.argsort(-(parts["items"][visible] @ vector), kind="stable")
                run[persona.name(query)] = [persona.items[visible[int(n)]].id for n in order]
        return run


def bundled_folds() -> FoldVectors:
    """The vectors of the bundled personas."""
    return FoldVectors(bundled_personas(), training_personas(), lab_asset("folds.npz", "the fold vectors"))


def _floats(arrays: Mapping[str, NDArray[Any]], part: str) -> Matrix:
    rows = arrays[part].astype(np.float32)
    if f"{part} scale" in arrays:
        rows = rows * arrays[f"{part} scale"].astype(np.float32)
    return rows[arrays[f"{part} index"]] if f"{part} index" in arrays else rows

"""Run the same function for many sources, in processes of their own, and keep what it gives in files."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

_Result = TypeVar("_Result")


def for_each(
    function: Callable[[str], _Result],
    names: Sequence[str],
    *,
    processes: int = 1,
    keep: Path | None = None,
    stage: str = "",
) -> dict[str, _Result]:
    """The result of each name, in their order.

    With `keep`, results are kept there by stage and name, and those that are there are not computed again, so
    that a run that was cut off goes on.
    """
    files = {name: keep / f"{stage}-{name}.pickle" for name in names} if keep else {}
    missing = [name for name in names if name not in files or not files[name].exists()]
    computed: dict[str, _Result] = {}
    for name, result in _compute(function, missing, processes):
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            part = files[name].with_suffix(".part")
            part.write_bytes(pickle.dumps(result))
            part.rename(files[name])
        computed[name] = result
    return {name: computed[name] if name in computed else _kept(files, name) for name in names}


def _kept(files: Mapping[str, Path], name: str) -> _Result:  # pyright: ignore[reportInvalidTypeVarUse]
    return pickle.loads(files[name].read_bytes())  # noqa: S301  # this training wrote it


def _compute(
    function: Callable[[str], _Result], names: Sequence[str], processes: int
) -> Iterator[tuple[str, _Result]]:
    if processes <= 1 or len(names) <= 1:
        for name in names:
            yield name, function(name)
        return
    # the library that runs models does not survive a fork
    with ProcessPoolExecutor(min(processes, len(names)), get_context("spawn")) as pool:
        yield from zip(names, pool.map(function, names), strict=True)

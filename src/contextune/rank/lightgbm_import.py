"""Import LightGBM without pandas and scikit-learn.

LightGBM imports both where they are installed, which takes seconds, and needs them only for data frames and
for scikit-learn's interface. It is therefore imported under another name and without them; a program that
imports `lightgbm` itself gets all of it.
"""

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from threading import Lock, get_ident
from types import ModuleType
from typing import Any

from contextune.errors import MissingExtraError

_NAME = "contextune_lightgbm"
_HIDDEN = frozenset({"matplotlib", "pandas", "sklearn"})
_lock = Lock()


def import_lightgbm() -> Any:
    """LightGBM: as the program has imported it, else without pandas and scikit-learn."""
    if "lightgbm" in sys.modules:
        return import_module("lightgbm")  # waits where another thread is importing it
    with _lock:
        return sys.modules.get(_NAME) or _import_alone()


def _import_alone() -> ModuleType:
    original = find_spec("lightgbm")
    if original is None or original.origin is None:
        raise MissingExtraError("training a ranker", "train")
    folders = list(original.submodule_search_locations or ())
    spec = spec_from_file_location(_NAME, original.origin, submodule_search_locations=folders)
    if spec is None or spec.loader is None:  # not a file, as in a program of one archive
        return import_module("lightgbm")
    module = module_from_spec(spec)
    sys.modules[_NAME] = module
    try:
        with _hidden_modules():
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_NAME]
        raise
    return module


class _HidingFinder:
    """Reports modules as not installed, to one thread only."""

    def __init__(self) -> None:
        self._thread = get_ident()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise for a hidden module; otherwise leave it to the other finders."""
        del path, target  # part of the protocol
        if get_ident() == self._thread and fullname.partition(".")[0] in _HIDDEN:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


@contextmanager
def _hidden_modules() -> Generator[None]:
    finder = _HidingFinder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)

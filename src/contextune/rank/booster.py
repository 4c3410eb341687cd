"""Predict with a LightGBM model through the C interface of its library.

`import lightgbm` also imports scipy, and pandas, scikit-learn, dask and matplotlib where they are installed:
seconds, in which a program cannot answer. Only training needs that.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from contextune.errors import RankerError

# constants of LightGBM's c_api.h
_TYPES = {np.dtype(np.float32): 0, np.dtype(np.float64): 1}
_ROW_MAJOR = 1
_SCORES, _CONTRIBUTIONS = 0, 3
_ALL_TREES = -1
_PARAMETERS = b"num_threads=1 verbosity=-1"
_FILES = {"win32": "lib_lightgbm.dll", "darwin": "lib_lightgbm.dylib"}
_FOLDERS = ("lib", "bin", "..")
_LogCallback = ctypes.CFUNCTYPE(None, ctypes.c_char_p)


class Booster:
    """A model in LightGBM's text format. Safe to share between threads."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._handle = ctypes.c_void_p()
        self._free = _library().LGBM_BoosterFree  # kept: at the end of a program, names of modules are gone
        iterations = ctypes.c_int()
        _call("LoadModelFromString", model.encode(), ctypes.byref(iterations), ctypes.byref(self._handle))
        features = ctypes.c_int()
        _call("GetNumFeature", self._handle, ctypes.byref(features))
        self.features: int = features.value
        """Number of features."""

    def __reduce__(self) -> tuple[Callable[[str], "Booster"], tuple[str]]:
        """Pickle the text; the handle is of this process."""
        return Booster, (self._model,)

    def __del__(self) -> None:
        """Free the model."""
        if getattr(self, "_handle", None):
            self._free(self._handle)

    def predict(self, matrix: NDArray[np.floating]) -> NDArray[np.float64]:
        """The score of each row."""
        return self._predict(matrix, _SCORES, 1)[:, 0]

    def contributions(self, matrix: NDArray[np.floating]) -> NDArray[np.float64]:
        """What each feature adds to the score of each row (TreeSHAP); the last column is the mean score."""
        return self._predict(matrix, _CONTRIBUTIONS, self.features + 1)

    def _predict(self, matrix: NDArray[np.floating], kind: int, columns: int) -> NDArray[np.float64]:
        rows = np.ascontiguousarray(matrix, None if matrix.dtype in _TYPES else np.float32)
        result = np.empty((len(rows), columns))
        length = ctypes.c_int64()
        failed = _predict_for_matrix()(
            self._handle,
            rows.ctypes.data,
            _TYPES[rows.dtype],
            *rows.shape,
            _ROW_MAJOR,
            kind,
            0,
            _ALL_TREES,
            _PARAMETERS,
            ctypes.byref(length),
            result.ctypes.data,
        )
        if failed:
            raise _error()
        if length.value != result.size:
            raise RankerError(f"LightGBM returned {length.value} values, not {result.size}: train it again")
        return result


def _call(name: str, *arguments: Any) -> None:
    if getattr(_library(), f"LGBM_Booster{name}")(*arguments):
        raise _error()


def _error() -> RankerError:
    reason = cast("bytes", _library().LGBM_GetLastError()).decode(errors="replace")
    return RankerError(f"LightGBM cannot use the model: {reason}; train it again")


@cache
def _predict_for_matrix() -> Callable[..., int]:
    """`LGBM_BoosterPredictForMat` with declared types, which convert numbers faster than `ctypes.c_int`."""
    handle, number, pointer = ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
    shape = (ctypes.c_int32, ctypes.c_int32)
    options = (number, number, number, number, ctypes.c_char_p)
    function = ctypes.CFUNCTYPE(number, handle, pointer, number, *shape, *options, pointer, pointer)
    return function(("LGBM_BoosterPredictForMat", _library()))


@cache
def _library() -> ctypes.CDLL:
    """LightGBM's library, loaded without the Python package where it is in its usual place."""
    library = _load_file()
    if library is None:
        from lightgbm.libpath import _LIB  # pyright: ignore[reportPrivateUsage]

        library = _LIB
    library.LGBM_GetLastError.restype = ctypes.c_char_p
    if "lightgbm" not in sys.modules:  # which registers its own
        # without a callback messages go to standard output, which belongs to the client of an MCP server
        library.LGBM_RegisterLogCallback(_IGNORE)
    return library


@_LogCallback
def _IGNORE(message: bytes) -> None:  # noqa: N802  # a constant that C code keeps a pointer to
    del message


def _load_file() -> ctypes.CDLL | None:
    spec = find_spec("lightgbm")
    if spec is None or spec.origin is None:
        return None
    for folder in _FOLDERS:
        file = Path(spec.origin).parent / folder / _FILES.get(sys.platform, "lib_lightgbm.so")
        if file.is_file():
            return ctypes.CDLL(str(file))
    return None

"""onnxruntime with telemetry disabled.

From version 1.29 on, onnxruntime sends its vendor a machine identifier and which models are run. Set
ORT_DISABLE_TELEMETRY=0 to allow that.
"""

import os
from pathlib import Path
from typing import Any, cast

# read once while the library is loaded; its own call would come after the first event was queued
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

runtime = cast("Any", onnxruntime)  # has no type hints
if os.environ["ORT_DISABLE_TELEMETRY"] != "0":
    runtime.disable_telemetry_events()  # for Windows, and for programs that loaded the library before


def open_session(model: Path) -> Any:
    """A model that runs each text on one thread; several texts are run on several threads."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    # waiting threads would use another 8 ms of a core after every text
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def available_cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1

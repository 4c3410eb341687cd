"""onnxruntime with telemetry disabled.

From version 1.29 on, onnxruntime sends its vendor a machine identifier and which models are run. Set
ORT_DISABLE_TELEMETRY=0 to allow that.
"""

import os
from typing import Any, cast

# read once while the library is loaded; its own call would come after the first event was queued
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

runtime = cast("Any", onnxruntime)  # has no type hints
if os.environ["ORT_DISABLE_TELEMETRY"] != "0":
    runtime.disable_telemetry_events()  # for Windows, and for programs that loaded the library before

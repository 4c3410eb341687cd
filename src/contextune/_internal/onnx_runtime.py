"""The library that runs models, told to keep to itself.

From 1.29 on onnxruntime makes an identifier of the machine and sends its maker which models it runs and
where. Whoever wants that sets ORT_DISABLE_TELEMETRY=0.
"""

import os
from typing import Any, cast

# looked at once, while the library is loaded: its own call comes after the first word was kept to be sent
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

runtime = cast("Any", onnxruntime)  # it comes without types
if os.environ["ORT_DISABLE_TELEMETRY"] != "0":
    runtime.disable_telemetry_events()  # on Windows, and in programs that had loaded it before

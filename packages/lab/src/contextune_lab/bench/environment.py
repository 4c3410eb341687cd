"""The machine and the versions that a benchmark ran with."""

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import contextune
from contextune._internal.assets import SUMS_FILE, asset, file_checksum

PACKAGES = ("contextune", "lightgbm", "numpy", "onnxruntime", "usearch")
MIXED = "Some tables were measured in another environment than this"


def environment(date: str | None = None) -> dict[str, str | int]:
    """Versions, processor and number of cores; the date only if given, so that two runs are the same."""
    versions = {name: _version(name) for name in PACKAGES}
    return {
        "python": platform.python_version(),
        **{name: number for name, number in versions.items() if number},
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        **({"date": date} if date else {}),
    }


def measured_with() -> str:
    """The code, the bundled models and the processor, in a few words, to be told below a table."""
    models = file_checksum(asset(SUMS_FILE))[:8]
    return f"{_code()}, models {models}, {os.cpu_count() or 1} cores of {_processor()}"


def _code() -> str:
    """The commit in a checkout, marked if files have changed since; else the version."""
    git, root = shutil.which("git"), Path(contextune.__file__).parents[2]
    if git and (root / ".git").exists():
        command = [git, "-C", str(root), "describe", "--always", "--dirty", "--exclude=*"]
        done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
        if done.returncode == 0:
            return f"commit {done.stdout.strip()}"
    return f"contextune {_version('contextune')}"


def merge_environments(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The environment of a file whose tables are only partly measured again.

    A note about the origin of the other tables stays, and one is added if they are from another environment.
    """
    before = {name: value for name, value in old.items() if name != "note"}
    note = old.get("note") or (MIXED if before and before != dict(new) else None)
    return {**({"note": note} if note else {}), **new}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """The model of the processor; Linux says it in a file, others through `platform`."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()

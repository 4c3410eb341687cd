"""The public names of the package, imported on first use."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import contextune

HEAVY = {"lightgbm", "numpy", "onnxruntime", "scipy", "tokenizers"}


def test_every_public_name_resolves() -> None:
    for name in contextune.__all__:
        assert getattr(contextune, name) is not None
    assert dir(contextune) == sorted(contextune.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        contextune.Nothing  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_import_loads_no_subpackage_and_no_heavy_library() -> None:
    code = "import contextune, json, sys; print(json.dumps(sorted(sys.modules)))"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    modules = set(json.loads(output))
    assert [name for name in modules if name.startswith("contextune")] == ["contextune"]
    assert not {name.split(".")[0] for name in modules} & HEAVY


def test_class_names_are_unique() -> None:
    names = Counter(
        match[1]
        for file in Path(contextune.__file__).parent.rglob("*.py")
        for match in re.finditer(r"^class (\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert [name for name, count in names.items() if count > 1] == []

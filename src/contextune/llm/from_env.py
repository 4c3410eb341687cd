"""Create the chat model that the environment variable CONTEXTUNE_LLM_MODEL names."""

import os
from typing import TYPE_CHECKING

from contextune.errors import LanguageModelError
from contextune.llm.chat import Chat
from contextune.llm.openai import EndpointChat
from contextune.types import Progress

if TYPE_CHECKING:
    from contextune.llm.local import Task

MODEL_VARIABLE = "CONTEXTUNE_LLM_MODEL"
LOCAL_MODEL = "local"
TUNED_MODEL = "local#SmolLM2"
"""Beginning of the name of the small model that is tuned for tasks."""


def configured_chat(*, task: "Task" = "queries", progress: Progress | None = None) -> Chat | None:
    """The model that CONTEXTUNE_LLM_MODEL names, or None if it is not set, whatever API keys exist.

    `task` selects the adapter of the local model.
    """
    model = os.environ.get(MODEL_VARIABLE, "").strip()
    if not model:
        return None
    if model == LOCAL_MODEL:
        return local_chat(task=task, progress=progress)
    return EndpointChat(model)


def local_chat(*, task: "Task" = "queries", progress: Progress | None = None) -> Chat:
    """The GGUF model that was chosen with `contextune llm use`, else the small model with its adapters."""
    from contextune.llm.gguf import GgufChat, model_in_use

    if (chosen := model_in_use()) is not None:
        return GgufChat(chosen)
    from contextune.llm.local import LocalChat

    return LocalChat(adapter=task, progress=progress)


def required_chat(*, task: "Task" = "queries", progress: Progress | None = None) -> Chat:
    """The configured model; raise `LanguageModelError` if there is none."""
    chat = configured_chat(task=task, progress=progress)
    if chat is None:
        raise LanguageModelError(
            f"no language model is configured: set {MODEL_VARIABLE} to {LOCAL_MODEL!r} for the model in this "
            "process, or to a model on an OpenAI-compatible server, with OPENAI_BASE_URL and OPENAI_API_KEY"
        )
    return chat

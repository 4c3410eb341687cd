"""Which language model is configured, by the environment."""

import os
from typing import TYPE_CHECKING

from contextune.errors import LanguageModelError
from contextune.llm.chat import Chat
from contextune.llm.openai import EndpointChat
from contextune.types import Progress

if TYPE_CHECKING:
    from contextune.llm.local import Task

MODEL = "CONTEXTUNE_LLM_MODEL"
LOCAL = "local"


def configured_chat(*, task: "Task" = "queries", progress: Progress | None = None) -> Chat | None:
    """The model that CONTEXTUNE_LLM_MODEL names, or None: a key that lies around is not a wish to use it.

    `task` is what the local one is to be tuned for.
    """
    model = os.environ.get(MODEL, "").strip()
    if not model:
        return None
    if model == LOCAL:
        from contextune.llm.local import LocalChat

        return LocalChat(adapter=task, progress=progress)
    return EndpointChat(model)


def required_chat(*, task: "Task" = "queries", progress: Progress | None = None) -> Chat:
    """The same, or an error that says what to set."""
    chat = configured_chat(task=task, progress=progress)
    if chat is None:
        raise LanguageModelError(
            f"no language model is configured: set {MODEL} to {LOCAL!r} for the small one in this process, "
            "or to the name of one on an OpenAI-compatible server, with OPENAI_BASE_URL and OPENAI_API_KEY"
        )
    return chat

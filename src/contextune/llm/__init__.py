"""Chat models: the `Chat` protocol, OpenAI-compatible servers, and a small model in this process."""

from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, ChatReply, Draft, Message, Sampling
from contextune.llm.from_env import configured_chat, local_chat, required_chat
from contextune.llm.gguf import GgufChat
from contextune.llm.local import LocalChat
from contextune.llm.openai import EndpointChat

__all__ = [
    "CachedChat",
    "Chat",
    "ChatReply",
    "Draft",
    "EndpointChat",
    "GgufChat",
    "LocalChat",
    "Message",
    "Sampling",
    "configured_chat",
    "local_chat",
    "required_chat",
]  # fmt: skip

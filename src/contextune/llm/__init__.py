"""Language models: one small protocol, a server anywhere, or a small model in this process."""

from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, Draft, Message, Reply, Sampling
from contextune.llm.configured import configured_chat, required_chat
from contextune.llm.endpoint import EndpointChat
from contextune.llm.local import LocalChat

__all__ = [
    "CachedChat", "Chat", "Draft", "EndpointChat", "LocalChat", "Message", "Reply", "Sampling",
    "configured_chat", "required_chat",
]  # fmt: skip

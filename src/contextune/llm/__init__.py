"""Language models: one small protocol, a server anywhere, or a small model in this process."""

from contextune.llm.cache import CachedChat
from contextune.llm.chat import Chat, Draft, Message, Reply, Sampling
from contextune.llm.endpoint import EndpointChat

__all__ = ["CachedChat", "Chat", "Draft", "EndpointChat", "Message", "Reply", "Sampling"]

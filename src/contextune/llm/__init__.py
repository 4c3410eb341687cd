"""Language models: one small protocol, a server anywhere, or a small model in this process."""

from contextune.llm.chat import Chat, Draft, Message, Reply, Sampling

__all__ = ["Chat", "Draft", "Message", "Reply", "Sampling"]

"""Local models as GGUF files that the user brings, run by llama.cpp in this process."""

from contextune.llm.gguf.chat import GgufChat
from contextune.llm.gguf.files import KNOWN_FILES, KnownFile, ModelFile, model_in_use, use_model

__all__ = ["KNOWN_FILES", "GgufChat", "KnownFile", "ModelFile", "model_in_use", "use_model"]

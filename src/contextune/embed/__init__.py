"""Text → vectors."""

from contextune.embed.base import Embedder, Matrix
from contextune.embed.cache import RememberingEmbedder, embed_items, embed_portraits
from contextune.embed.endpoint import EndpointEmbedder
from contextune.embed.onnx import OnnxEmbedder, default_embedder
from contextune.embed.sentence_transformers import SentenceTransformersEmbedder

__all__ = [
    "Embedder",
    "EndpointEmbedder",
    "Matrix",
    "OnnxEmbedder",
    "RememberingEmbedder",
    "SentenceTransformersEmbedder",
    "default_embedder",
    "embed_items",
    "embed_portraits",
]

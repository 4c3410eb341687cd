"""Embedders: text to unit vectors, with a cache."""

from contextune.embed.cache import CachedEmbedder, count_missing, embed_enriched_items, embed_items
from contextune.embed.onnx import OnnxEmbedder, default_embedder
from contextune.embed.openai import EndpointEmbedder
from contextune.embed.protocol import Embedder, Matrix
from contextune.embed.scripts import readability
from contextune.embed.sentence_transformers import SentenceTransformersEmbedder

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "EndpointEmbedder",
    "Matrix",
    "OnnxEmbedder",
    "SentenceTransformersEmbedder",
    "count_missing",
    "default_embedder",
    "embed_enriched_items",
    "embed_items",
    "readability",
]

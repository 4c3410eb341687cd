"""Lexical search, dense search and rank fusion: pure functions over arrays and lists."""

from contextune.search.bm25 import LexicalArrays, LexicalIndex
from contextune.search.dense import similarities, top
from contextune.search.fusion import RRF_K, interleave, rank_by_score, reciprocal_rank_fusion
from contextune.search.tokenize import identifier_words, tokenize

__all__ = [
    "RRF_K",
    "LexicalArrays",
    "LexicalIndex",
    "identifier_words",
    "interleave",
    "rank_by_score",
    "reciprocal_rank_fusion",
    "similarities",
    "tokenize",
    "top",
]

"""Lexical and dense search and the fusion of lists: pure functions over arrays and lists."""

from contextune.search.bm25 import LexicalIndex, Method, solve_k1
from contextune.search.dense import similarities, top
from contextune.search.fusion import interleave, rank_by_score, reciprocal_rank_fusion
from contextune.search.tokenize import identifier_words, tokenize

__all__ = [
    "LexicalIndex",
    "Method",
    "identifier_words",
    "interleave",
    "rank_by_score",
    "reciprocal_rank_fusion",
    "similarities",
    "solve_k1",
    "tokenize",
    "top",
]

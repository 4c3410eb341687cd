"""Lexical and dense search and the fusion of lists: pure functions over arrays and lists."""

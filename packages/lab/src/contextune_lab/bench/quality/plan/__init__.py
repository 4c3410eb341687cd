"""Benchmarks of plans: the calls, the decisions on them, and language models."""

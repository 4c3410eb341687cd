"""Benchmarks that make the tables of both papers and of docs/benchmarks.md."""

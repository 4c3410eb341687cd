"""Metrics, statistics and the experiments that make the papers' tables."""

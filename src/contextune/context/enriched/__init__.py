"""Vectors of items enriched with their habits: what an item is, and how often, when and where it is used."""

"""Catalogues that are too large for memory: indexes on disk and in PostgreSQL."""

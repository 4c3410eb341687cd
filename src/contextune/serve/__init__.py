"""Contextune as a service: over HTTP, for many users, each of whom sees what is theirs and nothing else."""

"""Contextune completes what a person leaves out."""

"""Replies to what was shown or asked: choices, yes and no, values, corrections, and what "it" is."""

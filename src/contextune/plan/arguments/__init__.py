"""The arguments of a call: what may fill them, and reading which does."""

"""Recipes: which data makes which model. Needs the extra `train`; nothing outside this room imports it."""

"""Recipes: which data makes which model. Needs the extra `train`."""

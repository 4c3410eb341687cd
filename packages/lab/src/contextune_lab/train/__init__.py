"""Training of the embedder, the rankers and the language-model adapters. Needs the extra `train`."""

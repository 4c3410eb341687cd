"""Query generation: a language model writes the queries for the tool search."""

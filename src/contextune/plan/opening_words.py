"""Words before the verb of an order, as a regular expression: "Hey, could you please …"."""

OPENING = (
    r"\W*(?:(?:please|can you|could you|would you|will you|just|now|hey|hi|ok|okay|so|and|go ahead and"
    r"|let['’]?s|i(?:['’]d like| want| need| have)(?: you)? to)\b[,:]? *)*"
)
"""Matches at the start of any text, also the empty string; for patterns without regard to case."""

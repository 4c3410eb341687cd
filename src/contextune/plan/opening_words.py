"""Words before the verb of an order, as regular expressions: "Hey, could you please …".

Both match at the start of any text, also the empty string, and are for patterns without regard to case.
"""

_ASKING = r"please|can you|could you|would you|will you|just|now|hey|hi|ok|okay|so|and|go ahead and|let['’]?s"
PLEASE = rf"\W*(?:(?:{_ASKING})\b[,:]? *){{0,12}}"
"""Before an order to somebody else."""
OPENING = rf"\W*(?:(?:{_ASKING}|i(?:['’]d like| want| need)(?: you)? to)\b[,:]? *){{0,12}}"
"""Before an order or a wish: "I need to …" may also be said of what the user does alone."""

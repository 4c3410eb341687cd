"""English words that say little about what a request is about."""

from contextune.search.tokenize import tokenize

STOP_WORDS = frozenset(
    tokenize("""
    a about actually ah all also alright am an and any anything are as at awesome be been being but by
    ca can cool correct could d did do does doing done else fine for from get go good got great had has
    have he hello her here hers hey hi him his hmm how i if in into is it its just let like ll m may
    maybe me might mine more most much must my n need nice no not now o of off oh ok okay on one ones or
    other our out over perfect please re right s shall she should so some something sorry sure t thank
    thanks that the their them then there these they this those to too up us ve very wait want was we
    welcome well were what when where which who whom why will with wo would yeah yep yes you your
    """)
)

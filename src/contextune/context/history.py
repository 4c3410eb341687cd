"""A request completed by the talk before it, where it leans on that talk.

"Call her back", "and tomorrow?", "Thompson." say too little to search with; what they lack was said a turn
or two before. A request that stands on its own is left alone, since words of an old topic would pull the
search away from the new one. The language tells the two apart: who "her" is need not be known to see that
somebody is missing.

What is added is a few words, names first: whole turns are longer than a request and would drown it. The
word lists are English. In other languages there is only shape to go by: length, and who asked last.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from contextune.embed import Embedder, Matrix
from contextune.embed.protocol import unit_rows
from contextune.search import tokenize
from contextune.types import Request

_TURNS = 6
_WORDS = 8
_WORDS_A_TURN = 4
_LETTERS = 32
"""The most of one word; scripts without spaces make one of a whole sentence."""
_LONG = 40
"""From so many words on, a turn is read by its first and last sentence: what it is about, what it asks."""

_SMALL = frozenset(
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
_VERBS = frozenset(
    tokenize("""
    add answer ask book bring buy call cancel change check close connect create decline delete dial dislike
    drop email end facetime find forward give hang hold ignore invite join keep leave lower make merge message
    move mute note open order pause phone play put raise read redial reject remember remind remove repeat
    reply reset resume return ring say schedule search send set share show shuffle skip start stop switch
    take tell text transfer turn unmute wake write
    """)
)
_PEOPLE = frozenset(tokenize("he him his she her hers they them their theirs"))
_ANYBODY = frozenset(tokenize("my someone somebody everyone everybody"))
_THINGS = re.compile(
    r"""\b(?: (?<!time\ is\ )it(?!\ (?:be\ |going\ to\ )?(?:rain|snow|cold|hot|warm|sunny)) | its | these
    | those | same | both | either | neither | (?:an)?others? | (?:there|then|more|(?<!at\ )one)(?=\W*$)
    | th(?:is|at)(?!\ (?:morning|afternoon|evening|night|week|weekend|month|year|time|summer|winter|spring
                        |autumn|\w+day|i|we|you|he|she|they|it|the|my|our|there)\b)
    | (?:the|which|new|old|next|latest|recent)\ ones? | more\ (?:examples|details|options|ideas)
    | the\ (?:first|second|third|fourth|fifth)(?!\ of) | the\ (?:last|next)(?:\ (?:two|step|option)|(?=\W*$))
    | the\ (?:former|latter|rest) | (?:anything|what|who|where)\ else
    )\b""",
    re.VERBOSE | re.MULTILINE,
)
_LEAD = r"^(?:(?:ok|okay|oh|yes|no|well|so|great|thanks|thank you|hmm|wait)\W+)*"
_TURNED = re.compile(_LEAD + r"(?:(?:what|how) about|i meant?)\b", re.MULTILINE)
_JOINED = re.compile(_LEAD + r"(?:and|or|but|also|instead|for|in|at|on|from|with|to|by|near|after|before)\b")
_NEW_TOPIC = re.compile(
    r"\b(?:by the way|btw|on another note|unrelated|something else|let['’]?s talk about"
    r"|(?:new|another|different|change of|chang(?:e|ing) the) (?:question|topic|subject))\b"
)
_SENTENCES = re.compile(r"(?<=[.:!?…؟])\s+|(?<=[。！？])|\n+")
_QUESTION = ("?", "？", "؟")


def in_context(request: Request) -> str:
    """The request's text and, if it leans on the talk before, the few words of it that complete it."""
    return " ".join([request.text, *_completion(request)]) if leans_on_history(request) else request.text


def vector_in_context(request: Request, embedder: Embedder) -> Matrix:
    """Midway between the request alone and in context: the talk is heard, and the request still leads."""
    said = list(dict.fromkeys((request.text, in_context(request))))
    vectors = embedder.embed(said)
    if len(said) > 1:
        vectors = unit_rows(vectors.mean(axis=0, keepdims=True), texts=1, source=embedder.name)
    return vectors[0]


def leans_on_history(request: Request) -> bool:
    """Whether something is missing from the request that the talk before it could give."""
    if not request.history:
        return False
    if _misses_somebody(request.text):
        return True
    text = "\n".join(_sentences(request.text)).casefold()
    if _NEW_TOPIC.search(text):
        return False
    spoken = tokenize(text)
    asked = request.history[-1].text.rstrip().endswith(_QUESTION)
    if _SMALL.issuperset(spoken):  # "yes" takes up a question; "thank you" takes up nothing
        return asked or text.endswith(_QUESTION) or bool(_JOINED.match(text))
    if _THINGS.search(text) or _TURNED.search(text) or _takes_up(request):
        return True
    fragment = len(spoken) <= 2 or (len(spoken) <= 5 and (asked or bool(_JOINED.match(text))))
    return fragment and _VERBS.isdisjoint(spoken)


def _misses_somebody(text: str) -> bool:
    """Whether it says "her" or "them" before anybody has been named that this could be."""
    for word, name in _named(text):
        if name or word.casefold() in _ANYBODY:
            return False
        if word.casefold() in _PEOPLE:
            return True
    return False


def _takes_up(request: Request) -> bool:
    """Whether it says "the museum" of one just talked about, and names nothing of its own to tell it by."""
    if any(name for _, name in _named(request.text)):
        return False
    spoken = tokenize(request.text)
    talked = {word for turn in request.history[-2:] for word in tokenize(turn.text)} - _SMALL
    return any(first == "the" and second in talked for first, second in pairwise(spoken))


def _completion(request: Request) -> list[str]:
    """Words of the last turns which the request lacks, in the order said; names and late turns go first."""
    seen = set(_SMALL.union(tokenize(request.text)))
    found: list[tuple[bool, int, int, str]] = []
    for age, turn in enumerate(reversed(request.history[-_TURNS:])):
        telling: list[tuple[bool, int, int, str]] = []
        for place, (word, name) in enumerate(_named(_gist(turn.text))):
            if not seen.issuperset(tokenize(word)):
                seen.update(tokenize(word))
                telling.append((not name, age, place, word[:_LETTERS]))
        found += sorted(telling)[:_WORDS_A_TURN]
    best = sorted(found)[:_WORDS]
    return [word for _, _, _, word in sorted(best, key=lambda entry: (-entry[1], entry[2]))]


def _gist(text: str) -> str:
    sentences = _sentences(text)
    return "\n".join([sentences[0], sentences[-1]]) if len(tokenize(text)) > _LONG else text


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCES.split(text) if part.strip()] or [text]


def _named(text: str) -> Iterator[tuple[str, bool]]:
    """Every word, and whether it is written as a name: with a capital that no sentence began with."""
    for sentence in _sentences(text):
        for place, word in enumerate(re.findall(r"\w[\w'’-]*", sentence)):
            yield word, place > 0 and word[0].isupper() and _SMALL.isdisjoint(tokenize(word)[:1])

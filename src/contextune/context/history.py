"""Conversation history: complete an elliptic request with words of the preceding turns.

"Call her back", "and tomorrow?" and "Thompson." are too short to search with; what is missing was said a turn
or two before. A self-contained request is left unchanged, since words of an old topic would mislead the
search. The wording decides between the two: that "her" refers to somebody is clear without knowing to whom.

A few words are added, names first; whole turns would outweigh the request. The word lists are English. In
other languages only the length of the request and a preceding question are used.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from contextune.context.stop_words import STOP_WORDS
from contextune.embed import Embedder, Matrix
from contextune.embed.protocol import normalize_rows
from contextune.search import tokenize
from contextune.time_phrases import TimePhrase, parse_time_phrases
from contextune.types import Request

_MAX_TURNS = 6
_MAX_WORDS = 8
_MAX_WORDS_PER_TURN = 4
_MAX_WORD_LENGTH = 32
"""In scripts without spaces, a whole sentence is one word."""
_LONG_TURN = 40
"""Of turns with more words, only the first and the last sentence are used: the topic and the question."""

_MIN_CONFIDENCE = 0.5
_DAYLONG = frozenset(["day", "part of day"])
_VERBS = frozenset(
    tokenize("""
    add answer ask book bring buy call cancel change check close connect create decline delete dial dislike
    drop email end facetime find forward give hang hold ignore invite join keep leave lower make merge message
    move mute note open order pause phone play put raise read redial reject remember remind remove repeat
    reply reset resume return ring say schedule search send set share show shuffle skip start stop switch
    take tell text transfer turn unmute wake write
    """)
)
_DAYS = frozenset(
    tokenize("""
    monday tuesday wednesday thursday friday saturday sunday today tomorrow yesterday tonight
    january february april june july august september october november december
    """)
)  # not march and may, which are verbs as well
_MAX_FOLLOW_UP = 5
"""Words of a follow-up that only replaces a name or a day."""
_PERSON_PRONOUNS = frozenset(tokenize("he him his she her hers they them their theirs"))
_OTHER_PEOPLE = frozenset(tokenize("my someone somebody everyone everybody"))
_REFERENCES = re.compile(
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
_INTERJECTIONS = r"^(?:(?:ok|okay|oh|yes|no|well|so|great|thanks|thank you|hmm|wait)\W+)*"
_TOPIC_SHIFT = re.compile(_INTERJECTIONS + r"(?:(?:what|how) about|i meant?)\b", re.MULTILINE)
_CONTINUATION = re.compile(
    _INTERJECTIONS + r"(?:and|or|but|also|instead|for|in|at|on|from|with|to|by|near|after|before)\b"
)
_FOLLOW_UP = re.compile(_INTERJECTIONS + r"(?:(?:what|how) about|(?:and|or|but|also)\b)")
_NEW_TOPIC = re.compile(
    r"\b(?:by the way|btw|on another note|unrelated|something else|let['’]?s talk about"
    r"|(?:new|another|different|change of|chang(?:e|ing) the) (?:question|topic|subject))\b"
)
_SENTENCES = re.compile(r"(?<=[.:!?…؟])\s+|(?<=[。！？])|\n+")
_QUESTION_MARKS = ("?", "？", "؟")


def complete_from_history(request: Request) -> str:
    """The request's text, with a few words of the history appended if it depends on them."""
    return " ".join([request.text, *_completion(request)]) if depends_on_history(request) else request.text


def day_of_history(request: Request, now: datetime) -> TimePhrase | None:
    """The day that the user's last turn was about, if the request depends on it and says no day itself.

    "What's on Friday evening?", "Make it 7:30": an event of Friday is meant.
    """
    before = [turn.text for turn in request.history if turn.speaker == "user"]
    if not before or not depends_on_history(request):
        return None
    own = parse_time_phrases(request.text, now)
    if any(phrase.form not in ("clock", "bare part") and phrase.kind != "duration" for phrase in own):
        return None
    days = [
        phrase
        for phrase in parse_time_phrases(before[-1], now, min_confidence=_MIN_CONFIDENCE)
        if phrase.kind != "recurrence" and (phrase.form != "clock" or phrase.granularity in _DAYLONG)
    ]
    return days[0] if len(days) == 1 and days[0].granularity in _DAYLONG else None


def embed_with_history(request: Request, embedder: Embedder) -> Matrix:
    """The normalised mean of the vectors of the request alone and of the completed request."""
    texts = list(dict.fromkeys((request.text, complete_from_history(request))))
    vectors = embedder.embed(texts)
    if len(texts) > 1:
        vectors = normalize_rows(vectors.mean(axis=0, keepdims=True), texts=1, source=embedder.name)
    return vectors[0]


def depends_on_history(request: Request) -> bool:
    """Whether the request is incomplete without the preceding turns."""
    if not request.history:
        return False
    if _has_unresolved_pronoun(request.text):
        return True
    text = "\n".join(_sentences(request.text)).casefold()
    if _NEW_TOPIC.search(text):
        return False
    words = tokenize(text)
    after_question = request.history[-1].text.rstrip().endswith(_QUESTION_MARKS)
    if STOP_WORDS.issuperset(words):  # "yes" answers a question; "thank you" needs no context
        return after_question or text.endswith(_QUESTION_MARKS) or bool(_CONTINUATION.match(text))
    if _REFERENCES.search(text) or _TOPIC_SHIFT.search(text) or _refers_to_topic(request):
        return True
    fragment = len(words) <= 2 or (len(words) <= 5 and (after_question or bool(_CONTINUATION.match(text))))
    return fragment and _VERBS.isdisjoint(words)


def refers_back(text: str) -> bool:
    """Whether a text has a word for something that was said before it: "her", "it", "the other one"."""
    words = "\n".join(_sentences(text)).casefold()
    return _has_unresolved_pronoun(text) or _REFERENCES.search(words) is not None


def _has_unresolved_pronoun(text: str) -> bool:
    """Whether it contains "her" or "them" before any name that this could refer to."""
    for word, name in _words_and_names(text):
        if name or word.casefold() in _OTHER_PEOPLE:
            return False
        if word.casefold() in _PERSON_PRONOUNS:
            return True
    return False


def _refers_to_topic(request: Request) -> bool:
    """Whether it says "the museum" about one of the last two turns, and contains no name of its own."""
    if any(name for _, name in _words_and_names(request.text)):
        return False
    words = tokenize(request.text)
    topic = {word for turn in request.history[-2:] for word in tokenize(turn.text)} - STOP_WORDS
    return any(first == "the" and second in topic for first, second in pairwise(words))


def _completion(request: Request) -> list[str]:
    """Words of the last turns that the request lacks, in their order; names and late turns are preferred."""
    used = set(STOP_WORDS.union(tokenize(request.text)))
    turns = request.history[-_MAX_TURNS:]
    if replaced := _replaced_words(request):
        used |= replaced
        turns = [turn for turn in turns if turn.speaker == "user"][-1:]  # answers were about the old
    candidates: list[tuple[bool, int, int, str]] = []
    for age, turn in enumerate(reversed(turns)):
        of_turn: list[tuple[bool, int, int, str]] = []
        for position, (word, name) in enumerate(_words_and_names(_gist(turn.text))):
            if not used.issuperset(tokenize(word)):
                used.update(tokenize(word))
                of_turn.append((not name, age, position, word[:_MAX_WORD_LENGTH]))
        candidates += sorted(of_turn)[:_MAX_WORDS_PER_TURN]
    best = sorted(candidates)[:_MAX_WORDS]
    return [word for _, _, _, word in sorted(best, key=lambda entry: (-entry[1], entry[2]))]


def _replaced_words(request: Request) -> set[str]:
    """Words of the user's last turn that a follow-up has others for: "And from Omar?", "What about Monday?".

    Only if it is clear which: a single day, or a single name.
    """
    text, before = request.text, [turn.text for turn in request.history if turn.speaker == "user"]
    start = text.casefold()
    if (
        not before
        or len(tokenize(text)) > _MAX_FOLLOW_UP
        or not _FOLLOW_UP.match(start)
        or _REFERENCES.search(start)
        or _has_unresolved_pronoun(text)
    ):
        return set()
    new, old = _words_by_kind(text), _words_by_kind(before[-1])
    return {word for kind, words in old.items() if kind in new and len(words) == 1 for word in words}


def _words_by_kind(text: str) -> dict[str, set[str]]:
    kinds: dict[str, set[str]] = {}
    for word, name in _words_and_names(text):
        if kind := _kind(word, name=name):
            kinds.setdefault(kind, set()).update(tokenize(word))
    return kinds


def _kind(word: str, *, name: bool) -> str | None:
    """Whether a word is a day, or a name of a person or place; None for any other, such as an acronym."""
    if not _DAYS.isdisjoint(tokenize(word)):
        return "day"
    return "name" if name and word[1:].islower() else None


def _gist(text: str) -> str:
    sentences = _sentences(text)
    return "\n".join([sentences[0], sentences[-1]]) if len(tokenize(text)) > _LONG_TURN else text


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCES.split(text) if part.strip()] or [text]


def _words_and_names(text: str) -> Iterator[tuple[str, bool]]:
    """Each word, and whether it looks like a name: capitalised, and not the first of its sentence."""
    for sentence in _sentences(text):
        for position, word in enumerate(re.findall(r"\w[\w'’-]*", sentence)):
            yield word, position > 0 and word[0].isupper() and STOP_WORDS.isdisjoint(tokenize(word)[:1])

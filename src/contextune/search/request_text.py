"""One spelling of requests that mean the same: no greetings, no "please", "what's" for "what is"."""

import re

_GREETING = r"hey(?: there)?|hi(?: there)?|hello|okay|ok|hallo|hola|salut|ciao|olá|hej"
_PLEASE = (
    r"please|pls|plz|bitte|por favor|s['’]il (?:te|vous) pla[iî]t|per favore|per piacere|alsjeblieft|"
    r"alstublieft|snälla"
)
_BEFORE = re.compile(
    rf"\s*(?:(?:{_GREETING})\s*[,!…]\s*)?(?:(?:{_PLEASE})\b(?!['’-])\s*,?\s*)?", re.IGNORECASE
)
_AFTER = re.compile(rf"[\s,](?:{_PLEASE})\Z", re.IGNORECASE)
_AFTER_COMMA = re.compile(rf",\s*(?:{_PLEASE})\Z", re.IGNORECASE)
_ENDS = ".!?…"
_LONGEST_PLEASE = 20
_IS_FIRST = re.compile(r"(\W*(?:what|who|where|when|how))(?: is|[’']s)\b", re.IGNORECASE)
_IS = re.compile(r"\b(what|who|where|when|how)(?: is|[’']s)\b", re.IGNORECASE)
_ASKS = re.compile(
    r"\W*(?:(?:ok|okay|so|and|but|hey|hi|please|then|again)\b[\s,]*)*"
    r"(?:(?:at|by|for|from|in|on|of|to|with|since|till|until)\s+)?"
    r"(?!will you\b)(?:what|when|where|who|whom|whose|which|how|why|is|are|am|do|does|did|was|were|will|any"
    r"|have|has|had)(?:n['’]?t)?(?:['’]?(?:s|re|m|ll|d))?\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_ORDERS = re.compile(r"\b(?:can|could|would|will|do) (?:you|we)\b|\bdo you mind\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_MIN_WORDS = 2


def asks_question(text: str) -> bool:
    """Whether a request asks for something: "when is it", not "Could you move it?"."""
    if any(_ASKS.match(sentence) for sentence in _SENTENCES.split(text)):
        return True
    return text.rstrip().endswith("?") and not _ORDERS.search(text)


def without_question_word(text: str) -> str:
    """The request without the word with which it asks: "whats the code" is "the code"."""
    match = _ASKS.match(text)
    return text[match.end() :] if match else text


def canonical_request(text: str) -> str:
    """The request without courtesy, and with the short form of "is" behind a question word."""
    return _IS.sub(r"\1's", without_courtesy(text))


def planned_request(text: str) -> str:
    """The request as calls are planned for it: in the spelling of `canonical_request`, but only at its ends.

    Words inside may be dictated: "Text Ana: what is on, bring the keys please" keeps them all.
    """
    plain = without_courtesy(text, _AFTER_COMMA)
    if plain != text and text[:1].isupper():
        plain = plain[:1].upper() + plain[1:]
    first = _IS_FIRST.match(plain)
    return f"{first[1]}'s{plain[first.end() :]}" if first else plain


def without_courtesy(text: str, please: re.Pattern[str] = _AFTER) -> str:
    """The request without a greeting and a comma before it, and without "please" before or after it.

    "Hey, call Ana please." is "call Ana."; what would leave less than two words is kept. `please` finds the
    one at the end.
    """
    start = _BEFORE.match(text)
    plain = text[start.end() :] if start else text
    body = plain.rstrip()
    stem = body.rstrip(_ENDS).rstrip()
    if end := please.search(stem[-_LONGEST_PLEASE:]):
        plain = stem[: len(stem) - len(end[0])].rstrip(" ,\t\n") + body[len(stem) :].strip()
    if plain == text or len(_WORD.findall(plain)) < _MIN_WORDS:
        return text
    return plain

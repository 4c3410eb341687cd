"""Lines that ask for nothing, such as greetings and thanks: each gets one plain line and no items."""

import re

_YES = re.compile(
    r"\W*(?:(?:y|yes|yep|yeah|yup|sure|ok|okay|please|do it|go ahead|do that|of course|exactly)"
    r"\b\W*){1,4}",
    re.IGNORECASE,
)
_NO = re.compile(
    r"\W*(?:(?:n|no|nope|nah|cancel|neither|none|none of them|leave it|leave that|never mind|nevermind"
    r"|forget it|forget that|skip it|not now)\b\W*){1,4}(?:(?:thanks|thank you)\b\W*)?",
    re.IGNORECASE,
)
_FILLER = (
    r"(?:there|contextune|again|so much|very much|a lot|everyone|all|then|now|today|ok|okay|well|great"
    r"|perfect|nice)"
)
_KINDS: tuple[tuple[str, str], ...] = (
    (
        (
            r"(?:hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|day)|how are you|how's it going"
            r"|how are things|what's up)"
        ),
        "Hello. Ask about your mail, calendar, notes, calls or music, or say what to do.",
    ),
    (
        r"(?:thanks?|thank you|many thanks|cheers|ta|much appreciated)",
        "You're welcome.",
    ),
    (
        (
            r"(?:great|perfect|nice|cool|awesome|lovely|brilliant|good job|well done|ok|okay|alright|fine"
            r"|got it|i see|sounds good)"
        ),
        "Good.",
    ),
    (r"(?:bye|goodbye|good night|see you|see you later|talk later)", "Goodbye. /quit ends the chat."),
    (
        r"(?:help|help me|what can you do|what do you do|who are you|what are you|what can i ask)",
        (
            "I find what is stored here and propose the call to make: “When is the dentist?”, “Call my "
            "brother”. Nothing is executed. /why explains an answer, /quit ends."
        ),
    ),
)
_PATTERNS = tuple(
    (re.compile(rf"\A\W*(?:(?:{kind}|{_FILLER})\b\W*){{1,5}}", re.IGNORECASE), reply)
    for kind, reply in _KINDS
)
_STARTS = tuple(re.compile(rf"\b{kind}\b", re.IGNORECASE) for kind, _ in _KINDS)


def small_talk(line: str) -> str | None:
    """The reply to a line that asks for nothing; None if it may be a request."""
    text = line.replace("’", "'")
    for (pattern, reply), start in zip(_PATTERNS, _STARTS, strict=True):
        if start.search(text) and pattern.fullmatch(text):
            return reply
    return None


def is_assent(line: str) -> bool:
    """Whether a line only says yes."""
    return _YES.fullmatch(line) is not None


def is_refusal(line: str) -> bool:
    """Whether a line only says no."""
    return _NO.fullmatch(line) is not None

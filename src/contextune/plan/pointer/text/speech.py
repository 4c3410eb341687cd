"""Find the message in a request: "It builds now." in "Tell Lars that it builds now".

Reported speech becomes direct speech (`direct_speech`). The user's own "I" stays; "she" becomes "you" where
it means the recipient: after "tell her", if the recipient is a woman, or if nobody else is mentioned.
"""

import re
from collections.abc import Sequence

from contextune.plan.multi_step.languages import ENGLISH
from contextune.plan.pointer.people.named_people import CHANNEL
from contextune.plan.pointer.text.direct_speech import (
    Gender,
    ask_directly,
    drop_coordinated_that,
    sole_pronoun,
    turn_pronouns,
)
from contextune.search import tokenize

_FRAME = re.compile(
    r"\b(?:reply|respond|answer|write|send|e-?mail|mail|text|message|tell|let|inform|note|drop|shoot|ask|thank"
    r"|warn|remind|assure|promise|say|(?:should|must|ought to|needs? to|has to|have to) (?:know|be told))\b",
    re.IGNORECASE,
)
_COLON = re.compile(r":\s+(?=\S)")
_QUOTED = re.compile(r"[,:]? (?:saying |with )?[\"“«](?P<message>[^\"“”«»]+)[\"”»]\W*$")
_WITH_QUOTED = re.compile(
    r"(?:\b(?:saying|with|say|that says)|:) [\"“«](?P<message>[^\"“”«»]+)[\"”»]\W*$", re.IGNORECASE
)
_AND = re.compile(r",? (?:and |or )?")
_THAT = re.compile(r"(?<=[\w'’)”\"]) that (?=\S)", re.IGNORECASE)
_CLAUSE = re.compile(r"\S+ \S")
_SAY = re.compile(r"(?:\band |, |; |\bto |\bjust )?\bsay(?:ing)?,? (?:that )?(?=\S)", re.IGNORECASE)
_KNOW = re.compile(r"\blet \S+(?: \S+){0,6}? know,? (?:in writing )?(?:that )?(?=\S)", re.IGNORECASE)
_SHOULD_KNOW = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )\b(?:should|must|ought to|needs? to|has to|have to) (?:know|be told)"
    r",? (?:that )?(?=\S+ \S)",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"\b(?:reply|respond|answer|write)(?: back)?"
    r"(?:,? that (?=(?:he|she|it|they|there|you|the|my|our|this|[A-Z])\b)|,? (?:that )?(?=(?:i|we)\b['’ ]))",
    re.IGNORECASE,
)
"""A message right behind the verb, to whoever wrote: "reply that I'll be there"."""
_LAST_ORDER = re.compile(
    r"(?P<message>\S.{0,1000}?\S)[,;:.!]?(?: [-–—])? (?:(?:and|so|please|can you|could you|will you"
    r"|just|then) ){0,8}"
    r"(?:let (?P<who>\S+(?: \S+){0,3}?) know"
    r"|(?:tell|inform|warn|text|message|e-?mail) (?P<told>[\w'’-]+(?: [\w'’-]+){0,2}?))"
    r"(?: (?:that|so|about (?:it|this|that)))?(?:,? (?:please|will you|would you|asap|now))?[\s.!?]*$",
    re.IGNORECASE,
)
"""An order to tell what stands before it: "I'm stuck in traffic, let Suso know"."""
_TOLD = re.compile(r"(?:her|him|them|everyone|everybody|(?:my|our|the) [^\W\d_]+)", re.IGNORECASE)
_ANSWER = re.compile(
    r"\W*(?P<answer>(?:yes|no|ok(?:ay)?|sure|agreed) (?:to|for|with) [^,;.!?]+?)(?:[,;.!]| and)\s+"
    r"(?:(?:and|so|please|just) )*",
    re.IGNORECASE,
)
"""An answer before the order to give it: "Yes to the proof, tell him to print it"."""
_QUESTION = re.compile(
    r"(?:what|when|where|who|how|which|why|is|are|am|do|does|did|will|can|could|would|should|have|has)\b",
    re.IGNORECASE,
)
_ASK = re.compile(
    r"\b(?:ask|remind(?! (?:me|us|myself)\b)) \S+(?: \S+){0,3}? (?P<how>to|if|whether|for) (?=\S)",
    re.IGNORECASE,
)
_ASK_WHAT = re.compile(
    r"\bask \S+(?: \S+){0,3}? (?=(?:when|where|what|how|why|who|which|about)\b \S)", re.IGNORECASE
)
_THANK = re.compile(r"\bthank (?P<who>\S+(?: \S+){0,2}?) (?=for\b)", re.IGNORECASE)
_COMMA = re.compile(
    r"\b(?:reply|respond|write|answer|e-?mail|mail|text|message|(?:send|drop|shoot)\b[^,:;.!?]{1,40}\b"
    r"(?:e-?mail|mail|message|line|note|text))\b[^,:;.!?]{0,40}, (?:please |saying )?(?=\S+ \S)",
    re.IGNORECASE,
)
"""A message behind a comma: "Send Suso a mail, the key is in the shed"."""
_SHORT = re.compile(
    r"\b(?:reply|respond|answer|say|write|send)(?: back)?(?: with| a)? "
    r"(?P<what>yes|no|ok(?:ay)?|sure|thanks|thank you|sounds good|great|congratulations|happy birthday"
    r"|not yet) to (?=\S)",
    re.IGNORECASE,
)
"""A message of a word or two before its recipient: "reply yes to Jan's mail"."""
_TELL = re.compile(r"\b(?:tell|inform|warn|assure|promise|text|message) ", re.IGNORECASE)
_WRITE = re.compile(r"\b(?:write|e-?mail|mail) (?:to )?", re.IGNORECASE)
_PRONOUN = re.compile(r"(?P<who>her|him|them|everyone|everybody|us)\b,? ", re.IGNORECASE)
_CONTENT = re.compile(
    r"(?:that|yes|no|not|i|i['’]\w+|we|we['’]\w+|it|it['’]s|there|thanks|thank you|sorry|mine|what|how|when"
    r"|where|why|which|who|to|the answer) ",
    re.IGNORECASE,
)
_CHANNEL = re.compile(
    rf",? ?{CHANNEL}\b(?:,? that |[,:]? (?!(?:is|was|are|would|will|works?|and|or|if)\b))(?=\S)",
    re.IGNORECASE,
)
_OWN_SUBJECT = re.compile(r"(?:i|we|she|he|it|the|my|our|her|his)\b", re.IGNORECASE)
"""Beginnings of clauses whose subject is no name, even in a request without capitals."""
_GENDERS: dict[str, Gender] = {"her": "she", "him": "he", "them": "they"}
_FEMALE = frozenset(
    tokenize("mother mum mom sister daughter wife aunt auntie aunty grandmother gran nana niece girlfriend")
)
_MALE = frozenset(
    tokenize("father dad brother son husband uncle grandfather grandpa nephew boyfriend grandson")
)


def find_message(
    text: str,
    taken: Sequence[tuple[int, int]] = (),
    gender: Gender = "",
    people: Sequence[tuple[int, int]] = (),
) -> str | None:
    """The message that a request dictates, as the recipient reads it; None if it dictates none.

    Args:
        text: The request.
        taken: Ranges of characters that are other arguments, such as the subject of the mail.
        gender: The pronoun of the recipient, if known.
        people: Ranges of characters that name people. If one of them is named before the message, its pronoun
            means the recipient, unless somebody else is mentioned before it.
    """
    frame = next((match for match in _FRAME.finditer(text) if not _inside(match.start(), taken)), None)
    if frame is None:
        return None
    if (short := _SHORT.search(text, frame.start())) and not _inside(short.start("what"), taken):
        return _sentence(short["what"], "")
    if quoted := _quoted_message(text, frame, taken):
        return _sentence(quoted, "")
    if quoted := _WITH_QUOTED.search(text, frame.end()):
        return _sentence(quoted["message"], "")
    if last := _said_before(text, people):
        gender = _recipient(text, last.end("message"), last.end()) or gender
        return _sentence(turn_pronouns(last["message"], gender), "")
    found = _starts(text, frame, taken)
    if not found:
        return None
    start, how, recipient = min(found, key=lambda entry: entry[0])
    if channel := _CHANNEL.match(text, start):
        start, how = _after_to(text, channel.end())
    content = text[start:].strip()
    if not content.strip(" .!?"):
        return None
    pronoun = recipient or gender or _sole_recipient(text, start, people)
    message = _sentence(turn_pronouns(content, pronoun), how)
    answer = _ANSWER.fullmatch(text, 0, frame.start())
    return f"{_sentence(answer['answer'], '')} {message}" if answer else message


def _said_before(text: str, people: Sequence[tuple[int, int]]) -> re.Match[str] | None:
    """The match of an order to tell what stands before it, if that is a statement."""
    match = _LAST_ORDER.match(text)
    if match is None or _QUESTION.match(match["message"]):
        return None
    is_order = ENGLISH.verb(match["message"].split()[0].casefold())
    is_person = match["who"] or _TOLD.fullmatch(match["told"]) or match.span("told") in people
    return match if is_person and not is_order else None


def _quoted_message(text: str, frame: re.Match[str], taken: Sequence[tuple[int, int]]) -> str | None:
    """A message in quotation marks right after its recipient: 'Send Eoin "x-rays attached"'."""
    for start, end in taken:
        match = _QUOTED.match(text, end)
        if frame.end() <= start and match and text[frame.end() : start].casefold().strip() in ("", "to"):
            return match["message"]
    return None


def _sole_recipient(text: str, start: int, people: Sequence[tuple[int, int]]) -> Gender:
    """The pronoun of the message, if it means the only person who is named before it."""
    before = sorted(person for person in people if person[0] < start)
    # two people who are called Camila are one name
    recipients = [person for n, person in enumerate(before) if not n or person[0] >= before[n - 1][1]]
    if len(before) > len(recipients) and not _OWN_SUBJECT.match(text[start:].strip()):
        return ""  # "Tell Camila Soto that pia lost her keys"
    within = [(first - start, last - start) for first, last in people if first >= start]
    return sole_pronoun(text[start:].strip(), within) if len(recipients) == 1 else ""


def _inside(place: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in ranges)


def _starts(
    text: str, frame: re.Match[str], taken: Sequence[tuple[int, int]]
) -> list[tuple[int, str, Gender]]:
    """Places where the message may begin, each with the kind of speech and the recipient's pronoun."""
    starts: list[tuple[int, str, Gender]] = []
    begin = frame.start()
    after_that = [
        match
        for match in _THAT.finditer(text, frame.end())
        if not _inside(match.start() + 1, taken)
        and text[frame.end() : match.start()].strip()
        and _CLAUSE.match(text, match.end())  # "meet that plane" is no clause
    ]
    if after_that:
        match = after_that[0]
        starts.append((match.end(), "", _recipient(text, frame.end(), match.start())))
    colons = [match for match in _COLON.finditer(text, begin) if not _inside(match.start(), taken)]
    if colons:
        starts.append((colons[0].end(), "", ""))
    for pattern in (_SAY, _KNOW, _SHOULD_KNOW, _REPLY):
        match = pattern.search(text, begin)
        if match and not _inside(match.start(), taken):
            starts.append((match.end(), "", _recipient(text, match.start(), match.end())))
    if match := _ASK.search(text, begin):
        starts.append((match.end(), match["how"].casefold(), _recipient(text, match.start(), match.end())))
    if match := _ASK_WHAT.search(text, begin):
        starts.append((match.end(), "what", _recipient(text, match.start(), match.end())))
    if match := _THANK.search(text, begin):
        starts.append((match.end(), "thank", _recipient(text, match.start(), match.end())))
    if match := _TELL.search(text, begin):
        if pronoun := _PRONOUN.match(text, match.end()):
            place = _after_that(text, pronoun.end())
            gender = _GENDERS.get(pronoun["who"].casefold(), "")
            starts.append((*_after_to(text, place), gender))
        elif content := _first_content(text, match.end(), taken):
            starts.append((*_after_to(text, content), ""))
    if match := _WRITE.search(text, begin):
        for start, end in sorted(taken, reverse=True):
            if start == match.end() and _CONTENT.match(text, end + 1):
                starts.append((*_after_to(text, _after_that(text, end + 1)), ""))
    if not starts and (match := _COMMA.search(text)) and not _inside(match.end(), taken):
        starts.append((match.end(), "", ""))
    return starts


def _after_that(text: str, place: int) -> int:
    """Where a clause begins that may be introduced by "that"."""
    return place + len("that ") if text[place:].casefold().startswith("that ") else place


def _after_to(text: str, place: int) -> tuple[int, str]:
    """Where a message begins, and the kind of speech: "tell Grace to call" is a plea."""
    return (place + len("to "), "to") if text[place:].casefold().startswith("to ") else (place, "")


def _first_content(text: str, begin: int, taken: Sequence[tuple[int, int]]) -> int | None:
    """The place after the recipient, where a clause begins: "tell my brother | yes to seven"."""
    names = [end for start, end in taken if start == begin and text[end : end + 1] == " "]
    if names:
        begin = max(names) + 1
        while (match := _AND.match(text, begin - 1)) and (
            ends := [end for start, end in taken if start == match.end() and text[end : end + 1] == " "]
        ):
            begin = max(ends) + 1
        return begin + len("that ") if text[begin:].casefold().startswith("that ") else begin
    for match in re.finditer(r"(?<= )", text[begin:]):
        place = begin + match.start()
        if place > begin and (content := _CONTENT.match(text, place)) and not _inside(place, taken):
            return content.end() if content.group().casefold() == "that " else place
    return None


def _recipient(text: str, start: int, end: int) -> Gender:
    words = re.findall(r"\w+", text[start:end].casefold())
    genders: list[Gender] = [_GENDERS[word] for word in words if word in _GENDERS]
    return genders[0] if genders else ""


def recipient_gender(relation: str | None) -> Gender:
    """The pronoun of a contact, as far as the relation tells."""
    words = frozenset(re.findall(r"\w+", (relation or "").casefold()))
    if bool(words & _FEMALE) == bool(words & _MALE):
        return ""
    return "she" if words & _FEMALE else "he"


def _sentence(content: str, how: str) -> str:
    """A sentence with a capital and a full stop."""
    content = content.strip().strip('"“”«»').removesuffix(", please").strip()
    content = drop_coordinated_that(content)
    if how == "to":
        content = f"Please {content}"
    elif how == "thank":
        content = f"Thank you {content}"
    elif how == "for":
        content = f"Could I have {content.rstrip(' .!?')}?"
    elif how in ("if", "whether", "what"):
        content = content.rstrip(" .!?")
        content = f"{ask_directly(content) or content}?"
    content = content[:1].upper() + content[1:]
    return content if content[-1:] in ".!?…" else f"{content}."

"""Free text that a request dictates: names, titles, search words, lines to add, text to translate.

"Create a playlist called Asado" → "Asado", "Find a photo studio near Nilkhet" → "photo studio". Each function
returns None if the request does not say the text; messages to people are in `speech`.
"""

import re
from collections.abc import Sequence

from contextune.plan.multi_step.languages import ENGLISH
from contextune.plan.opening_words import OPENING
from contextune.plan.planning_input import PlanningInput
from contextune.plan.pointer.text.event_orders import EVENT_LABEL, EVENT_VERB
from contextune.plan.pointer.text.event_places import said_place
from contextune.plan.pointer.text.reminder_orders import reminder_order
from contextune.plan.pointer.times.event_times import event_time
from contextune.search import tokenize

Ranges = Sequence[tuple[int, int]]

_QUOTED = re.compile(
    r"[\"“«„]([^\"“”«»„]{1,200})[\"”»“]"
    r"|(?<!\w)['‘]([^'‘’]{1,200}(?:['’]\w[^'‘’]{0,200}){0,10})['’](?!\w)"
)
_CALLED = re.compile(
    r"\b(?:called|named|titled|entitled|headed|(?:call|name|title) (?:it|this|that|her|him|them)(?: be)?"
    r"|(?:name|title|heading)(?: of)?(?:: | is | be ))[:,]?\s+",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(r"(?:what|whatever|after|for|like|as|how|so)\b", re.IGNORECASE)
"""A name that is described, not said: "named for whatever's going on"."""
_NAME_END = re.compile(
    r":\s|,\s|\s(?:with(?: the)? (?:text|contents?|words|body)|with|saying|that says)\s|[.!?]\s"
)
_COLON = re.compile(r":\s+(?=\S)")
_RENAME = re.compile(r"\b(?:rename|retitle|change)\b", re.IGNORECASE)
_TO = re.compile(r"\s(?:to|as|into)\s+", re.IGNORECASE)
_OPENING = re.compile(OPENING, re.IGNORECASE)
_TAIL = re.compile(
    r"(?:,?\s+(?:please|for me|again|will you|would you|thanks|thank you|now)){1,8}\s*$", re.IGNORECASE
)
_ARTICLE = re.compile(r"^(?:a|an|the|my|our|some|any|all|more|me)\s+", re.IGNORECASE)
_WHERE = (
    r"(?:notes?|e-?mails?|mail(?:box)?|inbox|web|internet|net|(?:music )?catalogue|music|library|news|papers?"
    r"|maps?|online|history|everything)"
)
_SEARCH = re.compile(
    r"^(?:(?:search|look|check|scan|go)(?: (?:through|in|on|over|up))?(?: (?:my|the|all my|all the|all))?"
    rf" {_WHERE}(?: for| about| on)?|(?:search|look|hunt)(?: for| up)?|google|look up|find|show|pull up"
    r"|bring up|get|give|dig out|open|(?:are there |is there |is there any |have you )?"
    r"(?:any|the latest|latest|new|recent)? ?news (?:about|on|of|from)"
    r"|(?:what(?:['’]?s| is| are) |tell me |any )?(?:the )?(?:latest|newest|news|headlines?|updates?)"
    r"(?: news)? (?:about|on|of|from|with|regarding)"
    r"|what(?:['’]?s| is) (?:going on|happening|new|up) (?:with|at|in|about)|any|are there|is there"
    r"|what(?:['’]d| did| have|['’]ve) i (?:search|searched|google|googled|look up|looked up)"
    r"(?: for| about| on)*)\s+(?:me\s+)?",
    re.IGNORECASE,
)
_SEARCHED = re.compile(
    r"\b(?:searche[sd]|googled|looked up|search history|searched) (?:about|on|for|of)\s+", re.IGNORECASE
)
_CONTAINER = re.compile(
    r"^(?:(?:anything|something|more|the word|new|some|live|all|labelled)\s+)*"
    r"(?:songs?|music|records?|tracks?|tunes|videos?|clips?|pictures?|photos?|images?|pics|articles?|news|stuff"
    r"|anything|more|everything|words?)"
    r"\s+(?:of|by|about|on|from|for)\s+|^the word\s+",
    re.IGNORECASE,
)
_SENDER = re.compile(
    r"(?:(?:all|any|every|everything|anything|the|me|my|of|(?:e-?)?mails?|messages?|letters?) )*(?:from|by) ",
    re.IGNORECASE,
)
_WHETHER = re.compile(r"(?:any|are there|is there|have you)\b", re.IGNORECASE)
_NEAR = re.compile(r"\s(?:near|nearby|in|around|close to|by|at|next to|along|beside)\s", re.IGNORECASE)
_SENDERS = frozenset(["sender", "from", "author"])
_PLACES = frozenset(["near", "location", "place", "where", "city", "area"])
_REFERRING = frozenset(
    tokenize("""
    it that this these those them him her his he she they one ones there here same something anything more
    a an the my me of for about some any all again and or to in on is was i
    """)
)
_WHEN = frozenset(
    tokenize(
        "recently lately today yesterday earlier before tonight last night this morning afternoon week so far"
    )
)
_THEN = re.compile(r",?\s+(?:and\s+)?then\s+(?P<verb>\w+)", re.IGNORECASE)
_WAKE = re.compile(r"\b(?:wake me|get me up)\b", re.IGNORECASE)
_CALENDAR = re.compile(r"\b(?:calendar|diary|agenda)\b", re.IGNORECASE)
_BARE_EVENT = re.compile(
    r"(?!(?:i|we|he|she|it|they|you|what|when|where|who|how|which|why|is|are|am|do|does|did|will|can|remind|wake"
    r"|the|that|this|move|push|call|ring|play|tell|ask|send|show|set|cancel)\b)[^\W\d_][^.,;:!?]{1,40}\s",
    re.IGNORECASE,
)
"""The name of an event right before its time: "Dentist on Monday at ten"."""
_EVENT_END = re.compile(
    r"\s(?:down\b|(?:on|in|into|to) (?:my|the) (?:calendar|diary|agenda|schedule|book))|,\s", re.IGNORECASE
)
_LOOSE_END = re.compile(
    r"(?:[\s,;:-]+(?:on|at|for|in|from|by|around|about|to|down|and|this|next"
    r"|the)){0,8}[\s,;:-]*$",
    re.IGNORECASE,
)
_TOPIC = re.compile(r"\babout (?!(?:\d|noon|midnight|half|quarter|an? )\b)[^\W\d][^.,;:!?]*", re.IGNORECASE)
_FOR = re.compile(r"\bfor (?P<what>[^\W\d][^.,;:!?]*)", re.IGNORECASE)
_ADD = re.compile(r"^(?:add|write|put|append|note|jot(?: down)?|log)\s+", re.IGNORECASE)
_INTO = re.compile(r"\s(?:to|in|into|on|onto|under|against|at the end of)\s", re.IGNORECASE)
_INTO_NOTE = re.compile(
    r"(?P<line>\S.{0,1000}?)\s(?:to|on|onto|in|into|under)\s(?:the|my|our|that|this)\s(?!.{0,300}\s(?:to|into)\s(?:the|my)\s)[^.,:;]{1,300}\W*$",
    re.IGNORECASE,
)
_NOTE_THAT = re.compile(
    r"(?:to|on|in|into)\s(?:the|my|our|that|this)\s.{0,300}?\b(?:notes?|list|log|page|file)\b,?\s(?:that\s)?(?P<line>.+)",
    re.IGNORECASE,
)
_NOTE_DOWN = re.compile(
    r"(?:(?:take|make|write|create|add|start)(?: me)? a (?:new )?(?:quick )?note|note(?: down)?"
    r"|write down|jot down)"
    r"(?:,? (?:that|saying|to say)\s+|(?<=note) to (?!(?:the|my|our|that|this)\b)"
    r"|(?<=down)\s+(?!(?:that|this|it)\W*$))(?=\S)",
    re.IGNORECASE,
)
_TRANSLATE = re.compile(r"^(?:translate|put|turn|say|render)\s+(.+?)\s+(?:in)?to\s+\w+", re.IGNORECASE)
_REFERS = re.compile(r"(?:it|this|that|these|those|them|mine|my|his|her|their|the|what|our)\b", re.IGNORECASE)
_HOW_SAY = re.compile(r"^how\b.{0,300}?\bsay\s+(.{1,300}?)\s+in\s+\w+", re.IGNORECASE)


def quoted_text(text: str, taken: Ranges = ()) -> str | None:
    """The first text in quotation marks that is no other argument."""
    for match in _QUOTED.finditer(text):
        group = 1 if match[1] else 2
        if not _overlaps(match.span(group), taken):
            return match[group].strip()
    return None


def new_name(text: str, taken: Ranges = (), *, colon: bool = False) -> str | None:
    """A name to give: "called Asado", "rename formulas to Colour book"; with `colon` also after a colon."""
    if name := said_name(text):
        return name
    if (verb := _RENAME.search(text)) is not None:
        begin = max([end for start, end in taken if start >= verb.start()], default=verb.end())
        if match := _TO.search(text, begin):
            return _clean(text[match.end() :]) if not quoted_text(text, taken) else quoted_text(text, taken)
    return quoted_text(text, taken) or (_after_colon(text, taken) if colon else None)


def said_name(text: str) -> str | None:
    """The name that a request says for something new: "called Asado"."""
    match = _CALLED.search(text)
    if match is None or _DESCRIBED.match(text, match.end()):
        return None
    rest = text[match.end() :]
    quoted = _QUOTED.match(rest)
    end = _NAME_END.search(rest)
    return (quoted[1] or quoted[2]) if quoted else _clean(rest[: end.start()] if end else rest)


def _after_colon(text: str, taken: Ranges) -> str | None:
    match = next((m for m in _COLON.finditer(text) if not _overlaps(m.span(), taken)), None)
    return _clean(text[match.end() :]) if match else None


def note_content(text: str, taken: Ranges = ()) -> str | None:
    """What a new note says, after its name or a colon."""
    if content := _after_colon(text, taken):
        return content
    if match := _CALLED.search(text):
        end = _NAME_END.search(text, match.end())
        return _clean(text[end.end() :]) if end else None
    stripped, offset = _strip_filler(text)
    match = _NOTE_DOWN.match(stripped)
    return _clean(text[offset + match.end() :]) if match else None


def line_to_add(text: str, taken: Ranges = ()) -> str | None:
    """A line for an existing note: "Add 31:37 to Frío log" → "31:37"."""
    if line := _after_colon(text, taken) or quoted_text(text, taken):
        return line
    stripped, offset = _strip_filler(text)
    if match := _NOTE_DOWN.match(stripped):
        return _clean(stripped[match.end() :])
    verb = _ADD.match(stripped)
    if verb is None:
        return None
    begin = offset + verb.end()
    places = [start for start, _ in taken if start > begin]
    gaps = [m for m in _INTO.finditer(text, begin) if not places or m.start() < min(places)]
    if gaps and places:
        return _clean(text[begin : gaps[-1].start()])
    ends = [end for _, end in taken if end > begin]
    if ends and (that := re.compile(r"\s+that\s+", re.IGNORECASE).match(text, max(ends))):
        return _clean(text[that.end() :])
    if match := _INTO_NOTE.match(text, begin):
        return _clean(match["line"])
    match = _NOTE_THAT.match(text, begin)
    return _clean(match["line"]) if match else None


def search_words(text: str, parameters: frozenset[str], taken: Ranges = ()) -> str | None:
    """What to search for; `parameters` are the words of the tool's other arguments."""
    if quoted := quoted_text(text, taken):
        return quoted
    stripped, offset = _strip_filler(text)
    if match := _SEARCHED.search(stripped) or _SEARCH.match(stripped):
        begin = offset + match.end()
    else:
        return None
    end = len(text)
    if parameters & _PLACES:
        places = [start for start, _ in taken if start > begin]
        gap = _NEAR.search(text, begin)
        if gap and (not places or gap.start() < min(places)):
            end = gap.start()
    said = text[begin:end].strip()
    if parameters & _SENDERS and _SENDER.match(said):
        return None
    words = _clean(_CONTAINER.sub("", said, count=1), articles=True)
    words = _clean(_CONTAINER.sub("", words or "", count=1), articles=True)
    return words if words and frozenset(tokenize(words)) - _REFERRING - _WHEN else None


def searched_sender(text: str) -> tuple[int, int] | None:
    """Where an order says whose messages to find: "the school" in "show me the mails from the school".

    A question whether there are any is not answered by mails that mention the sender.
    """
    stripped, offset = _strip_filler(text)
    match = None if _WHETHER.match(stripped) else _SEARCH.match(stripped)
    sender = _SENDER.match(stripped, match.end()) if match else None
    return None if sender is None else (offset + sender.end(), len(text))


def sender_topic(text: str, taken: Ranges = ()) -> str | None:
    """The words for a sender as a text to search; None if they are a value of another argument."""
    place = searched_sender(text)
    if place is None or _overlaps(place, taken):
        return None
    return _clean(text[slice(*place)], articles=True)


def task_to_remember(inputs: PlanningInput) -> str | None:
    """What a reminder is about: "Remind me at four to stretch my back" → "Stretch my back"."""
    text, order = inputs.request.text, reminder_order(inputs)
    if order is None or not order.has_task:
        return "Wake up" if _WAKE.search(text) else None
    begin, end = order.task
    times = [(phrase.first, phrase.last) for phrase in inputs.time_phrases if not order.keeps_times]
    if (event := event_time(inputs)) is not None:
        times.append((event.start, event.end))
    for following in _THEN.finditer(text, begin, end):
        if ENGLISH.verb(following["verb"]):  # "…, then play N17" is another order
            end = following.start()
            break
    stop = end
    for start, last in sorted(times, reverse=True):
        if last >= end and start > begin:
            end = start
    # "to check in" ends with its own word, "to pack on" with one of the time
    words = _clean(_LOOSE_END.sub("", text[begin:end]) if end < stop else text[begin:end])
    if words is None or frozenset(tokenize(words)) <= _REFERRING:  # "remind me about it"
        return None
    return words[:1].upper() + words[1:]


def event_to_plan(inputs: PlanningInput, taken: Ranges = ()) -> str | None:
    """The name of a new event: "Schedule a haircut on Saturday at four" → "haircut"."""
    text = inputs.request.text
    stripped, offset = _strip_filler(text)
    verb = EVENT_LABEL.match(stripped) or EVENT_VERB.match(stripped)
    times = [phrase.first for phrase in inputs.time_phrases]
    is_bare = bool(times) and _BARE_EVENT.fullmatch(text[offset : times[0]]) is not None
    if verb is None and not is_bare and not (times and _CALENDAR.search(text)):
        return None
    begin = offset + (verb.end() if verb else 0)
    ends = [start for start in times if start >= begin]
    if match := _EVENT_END.search(text, begin):
        ends.append(match.start())
    end = min(ends, default=len(text))
    words, place = text[begin:end], said_place(inputs)
    if place is not None and begin < place.begin < end and _overlaps((place.start, place.end), taken):
        words = f"{text[begin : place.begin].rstrip()}{text[place.end : end]}"
    words = _LOOSE_END.sub("", words)
    words = _clean(words, articles=True)
    if words is None and (later := _FOR.search(text, begin)):  # "Block Friday afternoon for painting"
        words = _clean(later["what"], articles=True)
    elif words is not None and ends and (topic := _TOPIC.search(text, end)):
        # "a meeting with Bo on Friday at two about the roof", but not "at about two"
        clocks = [(clock.start, clock.end) for clock in inputs.times.clocks]
        if not _overlaps(topic.span(), clocks):
            words = f"{words} {_clean(topic.group())}"
    return words if words and frozenset(tokenize(words)) - _REFERRING else None


def text_to_translate(text: str, taken: Ranges = ()) -> str | None:
    """The text to translate, if the request says it: "How do you say 'break a leg' in Italian?"."""
    if words := quoted_text(text, taken) or _after_colon(text, taken):
        return words
    stripped, _ = _strip_filler(text)
    match = _HOW_SAY.match(stripped) or _TRANSLATE.match(stripped)
    words = _clean(match[1]) if match else None
    return words if words and not _REFERS.match(words) else None


def _strip_filler(text: str) -> tuple[str, int]:
    match = _OPENING.match(text)
    offset = match.end() if match else 0
    return text[offset:], offset


def _clean(words: str, *, articles: bool = False) -> str | None:
    words = words.strip(" \t\n.,;:!?…")
    quoted = _QUOTED.fullmatch(words)
    words = (quoted[1] or quoted[2]) if quoted else _TAIL.sub("", words).strip(" .,;!?")
    while articles and (match := _ARTICLE.match(words)):
        words = words[match.end() :]
    return words or None


def _overlaps(span: tuple[int, int], ranges: Ranges) -> bool:
    return any(span[0] < end and start < span[1] for start, end in ranges)

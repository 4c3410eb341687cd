"""A model's answer → the lines in it that can be searched for.

Models number and quote what they were asked to list, greet before it and wish well behind it, write
JSON, go on with the talk by themselves, or answer the request. What is left when all that is gone is a query.
"""

import json
import re
from collections.abc import Iterator
from typing import cast

from contextune._internal.untrusted import neutralize
from contextune.tools.querygen.prompts import DESCRIBE, INTENTS

MOST = 5
"""Queries in an answer."""
WORDS = 19
"""In a query; what is longer is cut, since a description says most at its beginning."""
_LONGEST = 240
"""Characters in a query, for languages that write no spaces."""
_READ, _LINE = 20_000, 1_000
"""Characters of an answer, and of one line of it, that are looked at."""

_QUOTES = "\"'“”„‘’«»`*_"
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_OWN_TURN = re.compile(
    r"\A(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>)\s*(?:assistant|model)?(?:<\|end_header_id\|>)?"
)
_END = re.compile(
    r"<\|[^|\n]{1,40}\|>|</?s>|\[/?INST\]|<(?:end|start)_of_turn>"  # of a turn, in the templates of models
    r"|\n[^\w\n]{0,8}(?:human|user|assistant|system)[^\w\n:]{0,4}:",  # the talk goes on without us
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z][^<>\n]{0,80}>", re.IGNORECASE)
_RUN_ON = re.compile(r"(?<=\S)[ \t]+(?=\(?[1-9][.)][ \t]+\S)")
"""Where a list that was written into one line goes on."""
_MARK = re.compile(
    r"\(?#?\d{1,2}(?:[.):](?!\d)|\s+:|\s[-–—]\s)|[-–—•‣·●○▪◦+](?=\D)|\*(?=[^\d*])|#{1,6}\s|>\s"
)
_LABEL = re.compile(
    r"(?:(?:api |tool |search |user )?(?:quer(?:y|ies)|descriptions?|intents?|intentions?|aims?)"
    r"|answer|assistant|output|tools?|apis?)\s*#?\d{0,2}[\"']?\s*(?::|[-–—]\s)\s*"
    r"|(?:api|tool|line|step)\s*#?\d{1,2}\s*[.)]\s*",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"(?:(?:sure|certainly|of course|ok(?:ay)?|absolutely|great|yes)"
    r"(?:\W*$|[,!.]|\s?—|\s[-–]\s|(?=:)|\s+(?:i|here|thing)\b)"
    r"|(?:here (?:is|are)|here's|below (?:is|are)|the following|thank(?:s| you) for"
    r"|i can help|i(?: woul|')d be|i(?:'| wi)ll (?:help|list|describe|provide|generate))\b)"
    r"[^:]*(?P<colon>:)?",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"let me know|i hope|hope (?:this|that|it)|feel free|please (?:note|let|provide|feel)|note(?: that|:)"
    r"|these (?:\w+ ){0,3}(?:apis?|tools?|lines?|descriptions?|intents?|aims?|queries|are|can|will|should)\b"
    r"|(?:this|the above) (?:list|set|covers|should|will|would)|(?:each|all|any) of these"
    r"|is there (?:any|some)thing|would you like|do you (?:want|need)|if you (?:need|have|want|would)"
    r"|i(?: am|'m) (?:sorry|glad|happy|ready|here to|unable|not able|an? (?:ai|language|assistant|text))"
    r"|i apologi|i(?:'d| would) love to (?:help|hear)|can you (?:provide|tell|give)|what(?: i|')s your"
    r"|i (?:can ?not|can't|do not|don't) (?:help|assist|answer|provide|access|have|know|understand|see)"
    r"|as an? (?:ai|language)|sorry|unfortunately|in (?:summary|conclusion)|overall,|with these"
    r"|(?:human|user)\s*:|(?:none|n/a|null|nothing)\W*$",
    re.IGNORECASE,
)


def parse(answer: str, text: str) -> tuple[str, ...]:
    """At most five queries, each once and under twenty words; the request's `text` where there are none."""
    found: dict[str, str] = {}
    for line in _lines(answer[:_READ].strip()):
        query = " ".join(neutralize(line).split()[:WORDS])[:_LONGEST].strip()
        said = _bare(query)
        if any(map(str.isalpha, said)) and said != _bare(text) and not _echoed(said):
            found.setdefault(said, query)
        if len(found) == MOST:
            break
    return tuple(found.values()) or (text,)


def _lines(answer: str) -> Iterator[str]:
    answer = _OWN_TURN.sub("", _THINKING.sub("", answer).lstrip())
    answer = _END.split(answer, maxsplit=1)[0]
    if listed := _json(answer):
        yield from (_unwrapped(line)[0] for line in listed)
        return
    rows = [row for row in answer.splitlines() if row.strip() and not re.match(r"\s*(?:```|<request)", row)]
    if len(rows) == 1:
        rows = _RUN_ON.split(rows[0])
    unwrapped = [_unwrapped(_TAG.sub(" ", row[:_LINE])) for row in rows]
    # where there is a list, what stands before and behind it is about the list
    listing = sum(marked for _, marked in unwrapped) > 1
    any_said = False
    for line, marked in unwrapped:
        if (listing and not marked) or line.endswith((":", "：")):
            continue
        plain = line.replace("’", "'")
        if _REMARK.match(plain):
            if any_said:
                return
            continue
        if opening := _OPENING.match(plain):
            line = _unwrapped(line[opening.end() :])[0] if opening["colon"] else ""
        any_said = any_said or bool(line)
        yield line


def _unwrapped(line: str) -> tuple[str, bool]:
    """Without numbers, bullets, labels, quotes and bold type, however nested; whether it was marked so."""
    line, marked, quoted = line.replace("**", "").strip(), False, False
    while True:
        before = line
        if mark := _MARK.match(line):
            line, marked = line[mark.end() :].lstrip(), True
        bare = line.lstrip("[" + _QUOTES)
        quoted, line = quoted or bare != line, bare
        if label := _LABEL.match(line):
            line, marked = line[label.end() :], marked or any(map(str.isdigit, label[0]))
        if line == before:
            break
    line = line.rstrip(" ,;*")
    return line.rstrip(" ,;]" + _QUOTES) if quoted else line, marked


def _json(answer: str) -> list[str]:
    """The strings of a JSON list, or of the lists in an object, wherever in the answer it stands."""
    start, end = re.search(r"[\[{]", answer), max(answer.rfind("]"), answer.rfind("}"))
    if not start or end < start.start():
        return []
    try:
        return list(_strings(json.loads(answer[start.start() : end + 1])))
    except (ValueError, RecursionError):
        return []


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value[:_LINE]
        case list():
            for one in cast("list[object]", value):
                yield from _strings(one)
        case dict():
            inside = list(cast("dict[str, object]", value).values())
            if words := [one for one in inside if isinstance(one, str)]:
                yield ": ".join(words)[:_LINE]  # a name and what it does are one tool
            for one in inside:
                if isinstance(one, list):
                    yield from _strings(cast("object", one))
        case _:
            return


def _bare(text: str) -> str:
    """What two texts must share to say the same: their letters and digits."""
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


_ASKED = tuple(map(_bare, (DESCRIBE, INTENTS)))


def _echoed(said: str) -> bool:
    """Whether the model gives back what it was told; three words may be in there by chance."""
    return said.count(" ") > 2 and any(said in asked for asked in _ASKED)

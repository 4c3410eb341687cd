"""Parse a language model's answer into search queries.

Models add numbers, quotes, greetings and remarks, write JSON, continue the conversation or answer the
request; all of that is removed.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import cast

from contextune._internal.untrusted import neutralize
from contextune.tools.querygen.prompts import DESCRIBE_PROMPT, INTENT_PROMPT

MAX_QUERIES = 5
"""Per answer."""
MAX_WORDS = 19
"""Per query; longer ones are cut, as a description says most at its beginning."""
_MAX_QUERY_LENGTH = 240
"""Characters, for languages without spaces."""
_MAX_ANSWER_LENGTH, _MAX_LINE_LENGTH = 20_000, 1_000
"""Characters; the rest is ignored."""

_QUOTES = "\"'“”„‘’«»`*_"
_THINKING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_OWN_TURN = re.compile(
    r"\A(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>)\s*(?:assistant|model)?(?:<\|end_header_id\|>)?"
)
_END = re.compile(
    r"<\|[^|\n]{1,40}\|>|</?s>|\[/?INST\]|<(?:end|start)_of_turn>"  # end-of-turn tokens of chat templates
    r"|\n[^\w\n]{0,8}(?:human|user|assistant|system)[^\w\n:]{0,4}:",  # the model continues the conversation
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z][^<>\n]{0,80}>", re.IGNORECASE)
_RUN_ON = re.compile(r"(?<=\S)[ \t]+(?=\(?[1-9][.)][ \t]+\S)")
"""The next number of a list written on one line."""
_BULLET = re.compile(
    r"\(?#?\d{1,2}(?:[.):](?!\d)|\s+:|\s[-–—]\s)|[-–—•‣·●○▪◦+](?=\D)|\*(?=[^\d*])|#{1,6}\s|>\s"
)
_LABEL = re.compile(
    r"(?:(?:api |tool |search |user )?(?:quer(?:y|ies)|descriptions?|intents?|intentions?|aims?)"
    r"|answer|assistant|output|tools?|apis?)\s*+#?\d{0,2}[\"']?\s*+(?::|[-–—]\s)\s*"
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


def parse_queries(answer: str, text: str) -> tuple[str, ...]:
    """At most five distinct queries of under twenty words; the request's `text` if there are none."""
    queries: dict[str, str] = {}
    for line in _lines(answer[:_MAX_ANSWER_LENGTH].strip()):
        query = " ".join(neutralize(line).split()[:MAX_WORDS])[:_MAX_QUERY_LENGTH].strip()
        key = _normalize(query)
        if any(map(str.isalpha, key)) and key != _normalize(text) and not _is_echo(key):
            queries.setdefault(key, query)
        if len(queries) == MAX_QUERIES:
            break
    return tuple(queries.values()) or (text,)


def combine_queries(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Distinct queries of two answers in turn, at most five, as each query takes up space in the results."""
    queries: dict[str, str] = {}
    for pair in zip_longest(first, second):
        for query in pair:
            if query:
                queries.setdefault(_normalize(query), query)
    return tuple(queries.values())[:MAX_QUERIES]


def _lines(answer: str) -> Iterator[str]:
    answer = _OWN_TURN.sub("", _THINKING.sub("", answer).lstrip())
    answer = _END.split(answer, maxsplit=1)[0]
    if strings := _json_strings(answer):
        yield from (_strip_markup(line)[0] for line in strings)
        return
    rows = [row for row in answer.splitlines() if row.strip() and not re.match(r"\s*(?:```|<request)", row)]
    if len(rows) == 1:
        rows = _RUN_ON.split(rows[0])
    stripped = [_strip_markup(_TAG.sub(" ", row[:_MAX_LINE_LENGTH])) for row in rows]
    # with a list, the lines before and after it are remarks
    is_list = sum(bulleted for _, bulleted in stripped) > 1
    any_line = False
    for line, bulleted in stripped:
        if (is_list and not bulleted) or line.endswith((":", "：")):
            continue
        plain = line.replace("’", "'")
        if _REMARK.match(plain):
            if any_line:
                return
            continue
        if opening := _OPENING.match(plain):
            line = _strip_markup(line[opening.end() :])[0] if opening["colon"] else ""
        any_line = any_line or bool(line)
        yield line


def _strip_markup(line: str) -> tuple[str, bool]:
    """The line without numbers, bullets, labels, quotes and bold type; whether it had a number or bullet."""
    line, bulleted, quoted = line.replace("**", "").strip(), False, False
    while True:
        before = line
        if bullet := _BULLET.match(line):
            line, bulleted = line[bullet.end() :].lstrip(), True
        bare = line.lstrip("[" + _QUOTES)
        quoted, line = quoted or bare != line, bare
        if label := _LABEL.match(line):
            line, bulleted = line[label.end() :], bulleted or any(map(str.isdigit, label[0]))
        if line == before:
            break
    line = line.rstrip(" ,;*")
    return line.rstrip(" ,;]" + _QUOTES) if quoted else line, bulleted


def _json_strings(answer: str) -> list[str]:
    """The strings of a JSON list, or of the lists in an object, anywhere in the answer."""
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
            yield value[:_MAX_LINE_LENGTH]
        case list():
            for element in cast("list[object]", value):
                yield from _strings(element)
        case dict():
            members = list(cast("dict[str, object]", value).values())
            if texts := [member for member in members if isinstance(member, str)]:
                yield ": ".join(texts)[:_MAX_LINE_LENGTH]  # name and description of one tool
            for member in members:
                if isinstance(member, list):
                    yield from _strings(cast("object", member))
        case _:
            return


def _normalize(text: str) -> str:
    """Letters and digits only, to compare texts."""
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


_PROMPTS = tuple(map(_normalize, (DESCRIBE_PROMPT, INTENT_PROMPT)))


def _is_echo(text: str) -> bool:
    """Whether the model repeats its prompt; up to three words may match by chance."""
    return text.count(" ") > 2 and any(text in prompt for prompt in _PROMPTS)

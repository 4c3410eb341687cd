"""Stretches of a text that hold no times of the user's: quotations, addresses, phone numbers, prices."""

import re

from contextune.time_phrases.phrase import ParseInput, TimeAtom

_BLOCKED = re.compile(
    r"\"[^\"]{0,300}\"|“[^”]{0,300}”|«[^»]{0,300}»|‘[^’]{0,300}’"
    r"|(?<![\w])['](?!til\b|tis\b|em\b|\d\d\b)[^']{1,300}(?:'(?=\w)[^']{1,300}){0,20}'(?!\w)"
    r"|https?://\S+|\bwww\.\S+|[^\s@]{1,64}@[^\s@]{1,255}\.\w+"
    r"|(?<![\w-])\+?(?!\d{4}-\d\d-\d\d)\(?\d{2,5}\)?(?:[ -]\d{2,5}){0,8}[ -]\d{3,}\b"
    r"|(?<!\w)\+\d[\d ()-]{5,}\d|\b\d{5,}\b"
    r"|[$€£¥]\s?\d[\d.,]*"
    r"|\b\d[\d.,:]{0,30}\s?(?:[%€£$]|(?:percent|euros?|eur|dollars?|usd|bucks|pounds?|quid|cents|degrees|km|kg|miles|metres"
    r"|meters|litres|people|persons|guests|points|pages|songs|copies|stars|calories|grams)\b)"
    r"|\b(?:version|v|chapter|page|room|gate|platform|flight|bus|line|floor|number|no\.|track|season|episode|step|level"
    r"|section|article|option|size|route|apartment|flat|seat|row) ?\d[\d.]*\b"
)
_ADDRESS = re.compile(r" [A-Z]\w+ (?:Street|St|Road|Rd|Avenue|Ave|Lane|Square|Drive)\b")


def blocked_ranges(source: ParseInput) -> list[tuple[int, int]]:
    """Ranges of characters in which no time is to be recognised."""
    return [match.span() for match in _BLOCKED.finditer(source.text)]


def is_blocked(atom: TimeAtom, source: ParseInput, ranges: list[tuple[int, int]]) -> bool:
    """Whether an atom lies in such a range, or is the number of a house."""
    if any(first <= atom.first and atom.last <= last for first, last in ranges):
        return True
    if any(first < atom.last and atom.first < last for first, last in ranges) and atom.form in (
        "clock",
        "year",
    ):
        return True
    return atom.form == "clock" and bool(_ADDRESS.match(source.text, atom.last))

"""Numbers in words up to ninety-nine, cardinal and ordinal, as regular expressions and values."""

_SMALL = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]


def _longest_first(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


HOUR_WORDS: dict[str, int] = {word: number for number, word in enumerate(_SMALL[:12], 1)}
"""One to twelve."""
ORDINAL_WORDS: dict[str, int] = {
    **{word: number for number, word in enumerate(_ORDINALS, 1)},
    "twentieth": 20,
    "thirtieth": 30,
    **{f"twenty-{word}": 20 + number for number, word in enumerate(_ORDINALS[:9], 1)},
    "thirty-first": 31,
}
"""First to thirty-first."""
_VALUES: dict[str, float] = {
    **{word: number for number, word in enumerate(_SMALL, 1)},
    **{word: 10.0 * number for number, word in enumerate(_TENS, 2)},
    "a": 1,
    "an": 1,
    "a couple": 2,
    "couple": 2,
    "a few": 3,
    "few": 3,
    "several": 4,
    "half a dozen": 6,
    "a dozen": 12,
}
VAGUE_NUMBERS = frozenset(["a couple", "couple", "a few", "few", "several"])
CARDINAL_WORDS = rf"(?:{'|'.join(_TENS)})(?:[- ](?:{_longest_first(_SMALL[:9])}))?|{_longest_first(_SMALL)}"
"""A number in words, without "a"."""
CARDINAL = rf"(?:\d{{1,4}}(?:[.,]\d{{1,2}})?|{CARDINAL_WORDS})"
"""A number in digits or words, without "a"."""
COUNT = (
    rf"(?:\d{{1,4}}(?:[.,]\d{{1,2}})?|{CARDINAL_WORDS}|half a dozen|(?:a )?(?:couple|few)(?: of)?|a dozen"
    "|several|an?)"
)
"""A number before a unit: "two weeks", "a month", "a couple of days"."""
HOUR = rf"(?:\d{{1,2}}|{_longest_first(_SMALL[:12])})"
ORDINAL = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{_longest_first([w.replace('-', '[- ]') for w in ORDINAL_WORDS])})"


def parse_number(words: str) -> float:
    """The value of what `CARDINAL` or `COUNT` matches."""
    words = words.removesuffix(" of")
    if words in _VALUES:
        return _VALUES[words]
    if words[0].isdigit():
        return float(words.replace(",", "."))
    tens, ones = words.replace("-", " ").split()
    return _VALUES[tens] + _VALUES[ones]


def parse_ordinal(words: str) -> int:
    """The value of what `ORDINAL` matches."""
    digits = words.rstrip("stndrh")
    return int(digits) if digits.isdigit() else ORDINAL_WORDS[words.replace(" ", "-")]

"""Bytes to text, by the name of a character set that may be missing, unknown or wrong."""

import codecs
import re

WESTERN = "contextune-western"
"""How UTF-8 is to be decoded that may be none: bytes that cannot be are read as Western European."""
_TRUSTED = re.compile(
    r"(?i)(?:utf|iso|windows|cp\d|us-ascii|ascii|koi8|big5|gb|euc|shift|ks_c|tis|mac|latin|hz)[\w-]*$"
)
"""Python knows codecs that are no character sets, and slow."""
_WIDER = {
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "ks_c_5601-1987": "cp949",
    "euc-kr": "cp949",
    "shift_jis": "cp932",
}
"""What is meant, for names that stand for less than people write under them."""


def _western(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(WESTERN, _western)


def decode(content: bytes, charset: str = "") -> str:
    """The text, read as well as can be: as it says, else as UTF-8, else as Western European."""
    if content.isascii() and not charset:
        return content.decode("ascii")
    name = charset.strip("\"' ").lower()
    names = [_WIDER.get(name, name)] if _TRUSTED.match(name) else []
    for encoding in (*names, "utf-8"):
        try:
            return content.decode(encoding).removeprefix("\ufeff")
        except (LookupError, ValueError):
            continue
    return content.decode("cp1252", "replace")


def decode_text(content: bytes) -> str:
    """The text of a file, by its byte order mark or else as UTF-8 or Western European."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[2:].decode(encoding, "replace")
    return decode(content)

"""Decode bytes whose declared charset may be missing, unknown or wrong."""

import codecs
import re

CP1252_FALLBACK = "contextune-western"
"""Error handler for UTF-8: invalid bytes are decoded as Windows-1252."""
_CHARSET_NAME = re.compile(
    r"(?i)(?:utf|iso|windows|cp\d|us-ascii|ascii|koi8|big5|gb|euc|shift|ks_c|tis|mac|latin|hz)[\w-]*$"
)
"""Charset names; Python also has codecs that are slow or not charsets."""
_SUPERSETS = {
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
"""The superset that is meant by the name of a smaller charset."""


def _decode_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(CP1252_FALLBACK, _decode_cp1252)


def decode(content: bytes, charset: str = "") -> str:
    """Decode with the declared charset, else as UTF-8, else as Windows-1252."""
    if content.isascii() and not charset:
        return content.decode("ascii")
    name = charset.strip("\"' ").lower()
    names = [_SUPERSETS.get(name, name)] if _CHARSET_NAME.match(name) else []
    for encoding in (*names, "utf-8"):
        try:
            return content.decode(encoding).removeprefix("\ufeff")
        except (LookupError, ValueError):
            continue
    return content.decode("cp1252", "replace")


def decode_text(content: bytes) -> str:
    """Decode a file by its byte order mark, else as UTF-8 or Windows-1252."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if content.startswith(mark):
            return content[2:].decode(encoding, "replace")
    return decode(content)

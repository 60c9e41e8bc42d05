"""Format tokens of PDIs and media types (2.5, 3.4.1).

    text = text/plain, header = message/header; else the minor type if it is unique,
    otherwise major+minor. Text in a multi-octet character set has the set as its token.

Reserved characters within a type are encoded: ``svg%2bxml``.
"""

import re
from mimetypes import MimeTypes
from typing import Final
from urllib.parse import unquote

from archives.regex_compat import compiled

_TABLE: Final = MimeTypes()
# Without the tables of the operating system, which differ.
_BY_ENDING: Final = {**_TABLE.types_map[False], **_TABLE.types_map[True]}
_SPECIAL: Final = {"text": "text/plain", "header": "message/header", "xml": "text/xml"}
_OTHERS: Final = ("text/sgml", "audio/basic", "audio/wav", "text/markdown", "image/webp")
_TYPES: Final = frozenset({*_BY_ENDING.values(), *_SPECIAL.values(), *_OTHERS})
_MAJORS: Final = frozenset(
    ["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"]
)
_BY_MINOR: Final[dict[str, list[str]]] = {}
for _each in sorted(_TYPES):
    _BY_MINOR.setdefault(_each.partition("/")[2], []).append(_each)
CHARSETS: Final = frozenset(
    [
        "utf-8",
        "utf-16",
        "utf-16be",
        "utf-16le",
        "utf-32",
        "utf-32be",
        "utf-32le",
        "utf-7",
        "iso-2022-jp",
        "iso-2022-kr",
        "iso-2022-cn",
        "euc-jp",
        "euc-kr",
        "gb2312",
        "gbk",
        "gb18030",
        "big5",
        "big5-hkscs",
        "shift_jis",
        "hz-gb-2312",
    ]
)
"""Multi-octet character sets of the IANA registry."""
_DECODERS: Final = {"utf-7": "utf_7", "hz-gb-2312": "hz"}
_CHARSET: Final = compiled(r";\s*+charset\s*+=\s*+\"?+([A-Za-z0-9_.:-]++)\"?+", re.IGNORECASE)
_PLAIN: Final = compiled(r"[a-z0-9-]")


def token_of(media_type: str) -> str:
    """Return the format token of a media type, with its parameters."""
    base = base_type(media_type)
    charset = charset_of(media_type)
    if base == "text/plain":
        return _encoded(charset) if charset in CHARSETS else "text"
    for token, special in _SPECIAL.items():
        if base == special:
            return token
    major, _, minor = base.partition("/")
    is_unique = _BY_MINOR.get(minor, [base]) == [base] and minor not in _SPECIAL
    if is_unique and minor not in CHARSETS:
        return _encoded(minor)
    return f"{_encoded(major)}+{_encoded(minor)}"


def media_type_of(token: str) -> str | None:
    """Return the media type that *token* stands for; None if it is not known."""
    if token in _SPECIAL:
        return _SPECIAL[token]
    plain = unquote(token)
    if plain in CHARSETS:
        return f"text/plain; charset={plain}"
    major, plus, minor = token.partition("+")
    if plus and major in _MAJORS:
        return f"{major}/{unquote(minor)}"
    known = _BY_MINOR.get(plain, [])
    return known[0] if len(known) == 1 else _BY_ENDING.get(f".{plain}")


def agrees(token: str, media_type: str) -> bool:
    """Whether a resource of *media_type* may have the format *token*."""
    expected = media_type_of(token)
    if expected is None:
        return True
    charset = charset_of(expected)
    base = base_type(media_type)
    if charset is not None:
        return base == "text/plain" and charset_of(media_type) in (None, charset)
    _, _, minor = base.partition("/")
    return base == base_type(expected) or unquote(token) == minor


def base_type(media_type: str) -> str:
    """Return a media type without parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def charset_of(media_type: str) -> str | None:
    """Return the stated character set, in lower case; None if none is stated."""
    found = _CHARSET.search(media_type)
    return found[1].lower() if found else None


def decoder_of(charset: str) -> str:
    """Return the name of a character set in Python."""
    return _DECODERS.get(charset, charset)


def _encoded(text: str) -> str:
    return "".join(
        c if _PLAIN.fullmatch(c) else "".join(f"%{octet:02x}" for octet in c.encode())
        for c in text.lower()
    )

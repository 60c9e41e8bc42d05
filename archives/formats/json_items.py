"""Small pieces of JSON out of documents that are too large to be read at once."""

from typing import Final

import msgspec

from archives.formats.rows import UnreadableItem

_TROUBLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
# An integer of thousands of digits is no status and no length, and slow to write out.
_LARGEST: Final = 10**20


def json_value(text: str) -> object:
    """Read *text*, whose characters stand for bytes: UTF-8 if they can be, Latin-1 if not."""
    try:
        return msgspec.json.decode(text.encode("latin-1"))
    except _TROUBLE as complaint:
        if text.isascii():
            raise UnreadableItem(str(complaint)) from complaint
    try:
        return msgspec.json.decode(text)
    except _TROUBLE as complaint:
        raise UnreadableItem(str(complaint)) from complaint


def text_fields(value: object) -> dict[str, str]:
    """Return the members of an object that are text, numbers, or lists that begin with text."""
    if not isinstance(value, dict):
        raise UnreadableItem("not an object")
    texts = ((name, _text(member)) for name, member in value.items())
    return {str(name): text for name, text in texts if text is not None}


def texts(value: object) -> list[str]:
    """Return the items of an array as text; empty where one is neither text nor number."""
    if not isinstance(value, list):
        raise UnreadableItem("not an array")
    return [_text(item) or "" for item in value]


def _text(value: object) -> str | None:
    match value:
        case str():
            return value
        case int() if -_LARGEST < value < _LARGEST:
            return str(value)
        case [str(first), *_]:  # the uri of a memento at Time Travel
            return first
        case _:
            return None

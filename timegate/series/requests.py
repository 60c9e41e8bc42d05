"""What a writer states about a document, checked: format, media type, unique-id, URI."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.regex_compat import compiled
from archives.uri import check_text
from timegate.identifiers.pdi import Pdi, read_pdi
from timegate.responses.archived_headers import is_media_type
from timegate.series import Content
from timegate.series.formats import (
    CHARSETS,
    agrees,
    base_type,
    charset_of,
    media_type_of,
    token_of,
)

_UNSTATED: Final = ("", "application/x-www-form-urlencoded", "application/octet-stream")
"""What clients send that state no type."""
_FORMAT: Final = compiled(r"(?:[A-Za-z0-9+-]++|%[0-9A-Fa-f]{2})++")
_BARE: Final = compiled(r"[A-Za-z0-9()\-:;$_!']")
_DIGEST: Final = compiled(r"sha256:[0-9a-f]{64}")
_URI: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+:.++", re.DOTALL)
_LONGEST_ID: Final = 2000


class BadStatement(ValueError):
    """A statement that contradicts another, or cannot be read; the message is for people."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


def content_of(parameters: Mapping[str, str], content_type: str | None, body: bytes) -> Content:
    """Return the content of a document. Raises BadStatement.

    *parameters* are ``format``, and ``bind`` with ``digest`` for a URI in place of bytes.
    """
    stated = (content_type or "").strip()
    form = _format(parameters.get("format"))
    if base_type(stated) in _UNSTATED:
        stated = (form and media_type_of(form)) or ""
    if not stated:
        why = f"the media type of {form or 'the document'} is not known: state Content-Type"
        raise BadStatement("format", why)
    if not is_media_type(stated):
        raise BadStatement("content-type", "Content-Type is not a media type")
    bound = parameters.get("bind")
    stated = _with_charset(stated, form, body if bound is None else b"")
    form = form or token_of(stated)
    if not agrees(form, stated):
        raise BadStatement("format", f"{form} is not the format of {base_type(stated)}")
    if bound is None:
        _check_text(form, stated, body)
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        return Content(form, stated, body, digest)
    if body:
        raise BadStatement("bind", "a document is bound to a URI or has bytes, not both")
    return Content(form, stated, b"", _digest(parameters.get("digest")), _uri(bound))


def unique_id_of(text: str, form: str) -> str:
    """Return a unique-id in canonical form; what it may not contain is encoded.

    Raises BadStatement.
    """
    if not text or len(text) > _LONGEST_ID or text == "*":
        raise BadStatement("id", f"a unique-id has 1 to {_LONGEST_ID} characters")
    encoded = "".join(
        c if _BARE.fullmatch(c) else "".join(f"%{octet:02x}" for octet in _utf8(c))
        for c in text
    )
    name = f"pdi://a.us/2000/01/01/{encoded}.{form}.1"
    try:
        found = read_pdi(name, Diagnosis(strict=True))
    except Malformed as complaint:
        raise BadStatement("id", complaint.why) from complaint
    identifier = None if found is None else found.identifier
    if not isinstance(identifier, Pdi):
        raise BadStatement("id", "this is no unique-id")
    return identifier.canonical_id


def _utf8(character: str) -> bytes:
    return character.encode("utf-8", "surrogateescape")


def _format(text: str | None) -> str | None:
    """Return a stated format in canonical form."""
    if text is None:
        return None
    # The + that joins two types is decoded to a space in a query.
    plain = text.strip().replace(" ", "+").lower()
    if plain in CHARSETS:
        return token_of(f"text/plain; charset={plain}")
    if not _FORMAT.fullmatch(plain):
        raise BadStatement("format", "a format is a word such as html, text or image+png")
    return plain


def _with_charset(media_type: str, form: str | None, body: bytes) -> str:
    """Return the type of a text with its character set, if that is known."""
    if not base_type(media_type).startswith("text/") or charset_of(media_type):
        return media_type
    expected = None if form is None else media_type_of(form)
    charset = None if expected is None else charset_of(expected)
    if charset is None and not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            return media_type
        charset = "utf-8"
    return media_type if charset is None else f"{media_type}; charset={charset}"


def _check_text(form: str, media_type: str, body: bytes) -> None:
    """Refuse plain text in a multi-octet character set whose format does not say it (3.4.1)."""
    charset = charset_of(media_type)
    if form == "text" and charset in CHARSETS and not body.isascii():
        why = f"text in {charset} has the format {token_of(media_type)}, not text (3.4.1)"
        raise BadStatement("format", why)


def _digest(text: str | None) -> str | None:
    if text is None:
        return None
    if not _DIGEST.fullmatch(text.lower()):
        raise BadStatement("digest", "digest is sha256: and 64 hexadecimal digits")
    return text.lower()


def _uri(text: str) -> str:
    try:
        check_text(text)
    except Malformed as complaint:
        raise BadStatement("bind", complaint.why) from complaint
    if not _URI.fullmatch(text) or text.lower().startswith(("javascript:", "data:")):
        raise BadStatement("bind", "bind is a URI, such as https://example.org/report")
    return text

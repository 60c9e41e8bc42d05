"""The original URL inside a link into an archive, with the damage undone that front ends do.

Servers merge ``//``, people leave the scheme away, frameworks encode it. A target is decoded
only where its scheme colon is encoded or it is the value of a parameter, and only once:
everywhere else its triplets are its own.
"""

from typing import Final

from archives.diagnostics import Diagnosis

_HEX: Final = frozenset("0123456789abcdefABCDEF")
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SCHEME_CHARACTERS: Final = _LETTERS | frozenset("0123456789+-.")
# What may stand unescaped in a URI as crawled; all else stays a triplet when a target is
# decoded, so that no blank, quote or line break can come to light.
_RAW: Final = frozenset(b"%:/?#[]@!$&'()*+,;=-._~^`{|}") | frozenset(
    each for each in range(128) if chr(each).isalnum()
)
_LONGEST_SCHEME: Final = 24
_WEB: Final = ("http", "https", "ftp")


def plausible(text: str, *, bare: bool) -> bool:
    """Whether *text* can be a target; *bare* if it may lack its scheme.

    Without a scheme, its first segment must look like a host: it has a dot (P-22). Schemes
    other than the web's count only where a target must stand: ``Special:Search`` is a page.
    """
    scheme = _scheme(text)
    if scheme and (bare or scheme.lower() in _WEB):
        return bool(text[_after_colon(text, scheme) :].strip("/"))
    first = _first_segment(text)
    return bare and "." in first.strip(".") and first[0] not in "._-%"


def mended(text: str, position: int, diagnosis: Diagnosis) -> str:
    """Return the target that *text* stands for; *position* is where it begins in the link."""
    text = _with_plain_colon(text)
    scheme = _scheme(text)
    if not scheme:
        diagnosis.repair("scheme-assumed", "the target has no scheme: http is taken", position)
        return f"http://{text}"
    rest = text[len(scheme) + 1 :]
    if scheme.lower() in _WEB and not rest.startswith("//"):
        diagnosis.repair("slash-collapsed", "// after the scheme was merged to /", position)
        return f"{scheme}://{rest.removeprefix('/')}"
    return text


def without_viewer(text: str) -> str:
    """Undo what archive.today adds: escaped ``?`` and ``#``, and what a reader marked."""
    text = text.partition("#selection-")[0]
    for triplet, plain in (("%3F", "?"), ("%3f", "?"), ("%23", "#")):
        text = text.replace(triplet, plain)
    return text


def without_words(text: str) -> str:
    """Return the target in Google's ``cache:[id:]target[+words]``."""
    text = text.partition("+")[0].partition("%20")[0]
    identifier, colon, rest = text.partition(":")
    return rest if colon and len(identifier) == 12 and "." not in identifier else text


def decoded(text: str) -> str:
    """Remove one layer of percent-encoding, but leave what may not stand bare in a URI."""
    parts = text.split("%")
    out = [parts[0]]
    for part in parts[1:]:
        triplet = part[:2]
        value = int(triplet, 16) if len(triplet) == 2 and _HEX.issuperset(triplet) else -1
        out.append(chr(value) + part[2:] if value in _RAW else f"%{part}")
    return "".join(out)


def is_encoded(text: str) -> bool:
    """Whether the scheme colon of *text* is written as a triplet."""
    scheme = _scheme(text)
    return bool(scheme) and text[len(scheme)] == "%"


def _with_plain_colon(text: str) -> str:
    """Decode the whole if its slashes are encoded as well, else the colon alone (NARA)."""
    if not is_encoded(text):
        return text
    scheme = _scheme(text)
    rest = text[len(scheme) + 3 :]
    return f"{scheme}:{rest}" if rest.startswith("/") else decoded(text)


def _scheme(text: str) -> str:
    """Return the scheme, however its colon is written; empty without one.

    ``example.com:80`` has none: a number after the colon is a port.
    """
    head = text[: _LONGEST_SCHEME + 1]
    end = next((at for at, each in enumerate(head) if each not in _SCHEME_CHARACTERS), 0)
    if not end or head[0] not in _LETTERS:
        return ""
    after = text[end : end + 4].lower()
    if after.startswith("%3a"):
        return text[:end]
    if not after.startswith(":") or after[1:2].isdecimal():
        return ""
    return text[:end] if text[:end].lower() in _WEB or "." not in text[:end] else ""


def _after_colon(text: str, scheme: str) -> int:
    return len(scheme) + (3 if text[len(scheme)] == "%" else 1)


def _first_segment(text: str) -> str:
    end = min((at for at in map(text.find, "/?#") if at >= 0), default=len(text))
    return text[:end]

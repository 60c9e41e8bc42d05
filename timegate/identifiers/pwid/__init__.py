"""The PWID and the parts that all of its notations share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.uri import begins_with_host, canonical_uri, check_text, read_uri, scheme_of
from timegate.identifiers.model import UNRESERVED, CanonicalEquality

_REGISTERED: Final = compiled(rf"~[{UNRESERVED}]++")
_UNRESERVED: Final = compiled(rf"[{UNRESERVED}]++")
_SPLIT: Final = compiled(r"([^:]*+):((?:[^:]++|:(?=[0-9]))*+):([^:]*+):")
_LABEL: Final = compiled(r"[a-z0-9][a-z0-9-]{0,62}")
_LONGEST_DOMAIN: Final = 253
_LETTERS: Final = compiled(r"[A-Za-z]*+")


@lru_cache(maxsize=1024)
def is_domain(archive: str) -> bool:
    """Whether *archive*, in lower case, is a host name by RFC 1123, without address or port."""
    return _fault_in_domain(archive) is None


def _fault_in_domain(archive: str) -> int | None:
    """Return the index of the first character that is not allowed in a host name."""
    start = 0
    for label in archive.split("."):
        legal = _LABEL.match(label)
        if legal is None or legal.end() < len(label):
            return start + (legal.end() if legal else 0)
        if label.endswith("-"):
            return start + len(label) - 1
        start += len(label) + 1
    if label.isdecimal():  # the last label: this is an IP address
        return start - len(label) - 1
    return _LONGEST_DOMAIN if len(archive) > _LONGEST_DOMAIN else None


def read_archive(text: str, offset: int) -> str:
    """Return the archive-id in lower case: a domain, or ``~`` and a registered id (P-2)."""
    archive = text.lower()
    if archive[:1] == "~":
        fault = None if _REGISTERED.fullmatch(archive) else _end_of_id(archive)
    else:
        fault = None if is_domain(archive) else _fault_in_domain(archive)
    if fault is None:
        return archive
    why = "an archive-id is a domain name such as archive.org, or ~ followed by a registered id"
    raise Malformed("bad-archive", why, offset + fault)


def _end_of_id(text: str) -> int:
    """Return the index of the first character that is not allowed in a registered id."""
    legal = _UNRESERVED.match(text)
    return legal.end() if legal else 0


def read_precision(text: str, offset: int) -> str:
    """Return the precision-spec in lower case; any word of letters is allowed (P-6)."""
    if text.isascii() and text.isalpha():
        return text.lower()
    why = "a precision is a word of letters such as page or part"
    letters = _LETTERS.match(text)
    raise Malformed("bad-precision", why, offset + (letters.end() if letters else 0))


def read_item_id(text: str, report: Callable[[str, str, int], None], offset: int) -> str | None:
    """Return ``~id`` if the item is an id that the archive assigned, else None.

    An id without ``~`` is passed to *report*: a repair in a URN, a note in other notations.
    """
    if not text:
        raise Malformed("empty-item", "the archived item is missing: write its URL", offset)
    if text.startswith("~"):
        if _REGISTERED.fullmatch(text):
            return text.lower()
        why = "a registered item id is ~ followed by letters, digits, - . _ ~"
        raise Malformed("bad-item", why, offset + _end_of_id(text))
    if _UNRESERVED.fullmatch(text) and not begins_with_host(text):
        report("legacy-item-id", "an item id without ~ is the spelling of draft-02", offset)
        return "~" + text.lower()
    return None


def read_item_uri(text: str, diagnosis: Diagnosis, offset: int) -> str:
    """Return the archived URI; http is assumed if it begins with a host name (P-22)."""
    if scheme_of(text) is None and begins_with_host(text):
        diagnosis.repair("scheme-assumed", "no scheme: http:// is assumed", offset)
        return read_uri("http://" + text, diagnosis, offset - len("http://"))
    return read_uri(text, diagnosis, offset)


def split(text: str, start: int) -> tuple[int, int, int]:
    """Return the ends of archive-id, time and precision (G-10).

    The archive-id ends at the first colon, the time at the first colon not followed by a digit.
    """
    ends = _SPLIT.match(text, start)
    if ends is None:
        why = "a PWID has four parts: archive, time, precision, item"
        raise Malformed("bad-structure", why, len(text))
    return ends.end(1), ends.end(2), ends.end(3)


PRECISIONS: Final = frozenset(
    {"part", "page", "subsite", "site", "collection", "recording", "snapshot"}
)
# Must be encoded in an archived item (P-20). A single pass, so nothing is encoded twice.
_ENCODED: Final = str.maketrans({"%": "%25", "[": "%5B", "]": "%5D", "?": "%3F", "#": "%23"})


@dataclass(frozen=True, slots=True, eq=False)
class Pwid(CanonicalEquality):
    """A PWID. Archive-id, precision and registered item ids are in lower case."""

    archive: str
    time: Moment
    precision: str
    item: str

    @property
    def canonical(self) -> str:
        item = canonical_uri(self.item).translate(_ENCODED)
        when = str(self.time) if len(self.time.digits) > 8 else f"{self.time}Z"
        return f"urn:pwid:{self.archive}:{when}:{self.precision}:{item}"

    def __str__(self) -> str:
        return self.canonical


def minted(original: str, captured: Moment, archive: str, *, raw: bool = False) -> Pwid:
    """Return the PWID of the copy of *original* that *archive* captured at *captured*.

    *archive* is a PWID archive-id. The bytes as they were captured are a ``part``, the replayed
    page is a ``page``. Raises Malformed if the copy cannot be named.
    """
    url = original.partition("#")[0]
    check_text(url)
    item = read_uri(url, Diagnosis())
    return Pwid(read_archive(archive, 0), captured, "part" if raw else "page", item)

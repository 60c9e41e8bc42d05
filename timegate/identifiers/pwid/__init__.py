"""The parts of a PWID that its notations share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.uri import begins_with_host, canonical_uri, read_uri, scheme_of
from timegate.identifiers.model import UNRESERVED, CanonicalEquality

_REGISTERED: Final = compiled(rf"~[{UNRESERVED}]++")
_UNRESERVED: Final = compiled(rf"[{UNRESERVED}]++")
_SPLIT: Final = compiled(r"([^:]*+):((?:[^:]++|:(?=[0-9]))*+):([^:]*+):")
_LABEL: Final = compiled(r"[a-z0-9][a-z0-9-]{0,62}")
_LONGEST_DOMAIN: Final = 253
_LETTERS: Final = compiled(r"[A-Za-z]*+")


@lru_cache(maxsize=1024)
def is_domain(archive: str) -> bool:
    """Whether *archive*, in lower case, is a host name by RFC 1123: no address, no port."""
    return _fault_in_domain(archive) is None


def _fault_in_domain(archive: str) -> int | None:
    """Return the index of the first character that keeps *archive* from being a host name."""
    start = 0
    for label in archive.split("."):
        legal = _LABEL.match(label)
        if legal is None or legal.end() < len(label):
            return start + (legal.end() if legal else 0)
        if label.endswith("-"):
            return start + len(label) - 1
        start += len(label) + 1
    if label.isdecimal():  # the last one: an address
        return start - len(label) - 1
    return _LONGEST_DOMAIN if len(archive) > _LONGEST_DOMAIN else None


def read_archive(text: str, offset: int) -> str:
    """Return the archive-id, a domain or ``~`` and a registered id, in lower case (P-2)."""
    archive = text.lower()
    if archive[:1] == "~":
        fault = None if _REGISTERED.fullmatch(archive) else _end_of_id(archive)
    else:
        fault = None if is_domain(archive) else _fault_in_domain(archive)
    if fault is None:
        return archive
    why = "an archive-id is a domain name such as archive.org, or ~ and a registered id"
    raise Malformed("bad-archive", why, offset + fault)


def _end_of_id(text: str) -> int:
    """Return where the id behind ``~`` ends and something else begins."""
    legal = _UNRESERVED.match(text)
    return legal.end() if legal else 0


def read_precision(text: str, offset: int) -> str:
    """Return the precision-spec in lower case; any word of letters is one (P-6)."""
    if text.isascii() and text.isalpha():
        return text.lower()
    why = "a precision is a word of letters such as page or part"
    letters = _LETTERS.match(text)
    raise Malformed("bad-precision", why, offset + (letters.end() if letters else 0))


def read_item_id(text: str, told: Callable[[str, str, int], None], offset: int) -> str | None:
    """Return ``~id`` where the item is an id that the archive assigned, else None.

    One without ``~`` is *told*: a repair in a URN, and a note where the notation has none.
    """
    if not text:
        raise Malformed("empty-item", "the archived item is missing", offset)
    if text.startswith("~"):
        if _REGISTERED.fullmatch(text):
            return text.lower()
        why = "a registered item id is ~ followed by letters, digits, - . _ ~"
        raise Malformed("bad-item", why, offset + _end_of_id(text))
    if _UNRESERVED.fullmatch(text) and not begins_with_host(text):
        told("legacy-item-id", "an item id without ~ is how draft-02 wrote it", offset)
        return "~" + text.lower()
    return None


def read_item_uri(text: str, diagnosis: Diagnosis, offset: int) -> str:
    """Return the archived URI; one that begins with a host name is taken as http (P-22)."""
    if scheme_of(text) is None and begins_with_host(text):
        diagnosis.repair("scheme-assumed", "no scheme: http:// is assumed", offset)
        return read_uri("http://" + text, diagnosis, offset - len("http://"))
    return read_uri(text, diagnosis, offset)


def split(text: str, start: int) -> tuple[int, int, int]:
    """Return where archive-id, time and precision end (G-10).

    The archive-id ends at the first colon, the time at the first colon that no digit follows.
    """
    ends = _SPLIT.match(text, start)
    if ends is None:
        why = "a PWID has four parts: archive, time, precision, item"
        raise Malformed("bad-structure", why, len(text))
    return ends.end(1), ends.end(2), ends.end(3)


PRECISIONS: Final = frozenset(
    {"part", "page", "subsite", "site", "collection", "recording", "snapshot"}
)
# What must not stand raw in an archived item (P-20). One pass, so nothing is encoded twice.
_ENCODED: Final = str.maketrans({"%": "%25", "[": "%5B", "]": "%5D", "?": "%3F", "#": "%23"})


@dataclass(frozen=True, slots=True, eq=False)
class Pwid(CanonicalEquality):
    """One PWID. Archive-id, precision and a registered item are in lower case."""

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

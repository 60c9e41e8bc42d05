"""Matches a link against the forms of an archive, and returns the value of each field.

A match costs at most the length of the link: every step moves forward in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final

from archives.model import ArchiveEntry
from archives.registry.forms import LinkForm, Segment, compiled
from archives.replay_links.fields import (
    Stamp,
    decoded,
    is_encoded,
    is_target,
    read_stamp,
    without_viewer,
    without_words,
)

_LONGEST_WORD: Final = 256
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_SHORTEST_HASH: Final = 32
_COLONS: Final = ("%3A", "%3a")
_EMPTY_TARGETS: Final = ("http:/", "https:/")
_YEAR: Final = 4
_SECOND: Final = 14


@dataclass(frozen=True, slots=True)
class LinkParts:
    """A link, split into the parts that all forms need."""

    host: str
    text: str
    """The whole link."""
    path: int
    """Index where the path begins, after its first slash."""
    path_end: int
    """Index where the query or the fragment begins."""

    @property
    def parameters(self) -> list[tuple[str, str, int]]:
        """Names, raw values and the positions of the values in the link."""
        if self.text[self.path_end : self.path_end + 1] != "?":
            return []
        found, at = [], self.path_end + 1
        for pair in self.text[at:].split("&"):
            name, _, value = pair.partition("=")
            found.append((name, value, at + len(name) + 1))
            at += len(pair) + 1
        return found


@dataclass(slots=True)
class Match:
    """The values of the fields of a form in a link."""

    collection: list[str] = field(default_factory=list)
    modifier: str | None = None
    id: str | None = None
    stamp: Stamp | None = None
    stamp_at: int = 0
    uri: str | None = None
    uri_at: int = 0


def matched(form: LinkForm, address: LinkParts) -> Match | None:
    """Return the values of the fields of *form* in *address*; None if it does not match."""
    if form.host is not None and not f".{address.host}".endswith(f".{form.host}"):
        return None
    found = Match()
    at = _segments(form, address, found)
    if at is None or not _parameters(form, address, found):
        return None
    if form.target is None:
        rest = address.text[at : address.path_end]
        return found if rest in ("", "/") else None
    found.uri, found.uri_at = _shaped(form.target, address.text[at:]), at
    return found if is_target(found.uri, bare=form.anchored) else None


def lacks_target(form: LinkForm, address: LinkParts) -> bool:
    """Whether *address* has the time of *form*, and no URL after it.

    After a host or a collection, only 14 digits are certainly a time: a number may be a page.
    """
    *before, last = form.segments or (Segment(""),)
    if form.host is not None and not f".{address.host}".endswith(f".{form.host}"):
        return False
    if form.target is None or form.parameters or last.field != "time":
        return False
    found, path = Match(), address.text[: address.path_end].rstrip("/") + "/"
    for scheme in _EMPTY_TARGETS:
        path = path.removesuffix(scheme)
    at = _segments(form, replace(address, text=path, path_end=len(path)), found)
    if at != len(path) or found.stamp is None:
        return False
    if not before or before[-1].field:
        return len(found.stamp.digits) >= _SECOND
    return len(found.stamp.digits) >= _YEAR or found.stamp.kind == "calendar"


def _segments(form: LinkForm, address: LinkParts, found: Match) -> int | None:
    """Match the path up to the target; return where the target begins."""
    at = address.path
    for index, segment in enumerate(form.segments):
        slash = address.text.find("/", at, address.path_end)
        last = index == len(form.segments) - 1 and form.target is None
        if slash < 0 and not last:
            return None
        end = address.path_end if slash < 0 else slash
        if not _word(segment, address.text[at:end], at, found):
            return None
        at = end if last else end + 1
    return at


def _word(segment: Segment, text: str, at: int, found: Match) -> bool:
    if not segment.field:
        return text == segment.before
    if not (text.startswith(segment.before) and text.endswith(segment.after)):
        return False
    word = text[len(segment.before) : len(text) - len(segment.after)]
    if not word or len(word) > _LONGEST_WORD:
        return False
    if segment.field == "time":
        found.stamp, found.stamp_at = read_stamp(segment.shape, word), at + len(segment.before)
        return found.stamp is not None
    return _named(segment, word, found)


def _named(segment: Segment, word: str, found: Match) -> bool:
    shape = segment.shape
    match segment.field:
        case "coll":
            found.collection.append(word)
            return not shape or word == shape
        case "mod":
            found.modifier = word
            return not shape or word == shape
        case "id":
            # Also a collection: the archive looks for the capture under this id (K-7).
            found.id = word
            found.collection.append(word)
            return not shape or _masked(word) == shape
        case "hash":
            found.id = word
            return len(word) >= _SHORTEST_HASH and _HEX.issuperset(word)
        case _:
            return True


def _masked(word: str) -> str:
    return "".join("#" if each.isascii() and each.isalnum() else each for each in word)


def _parameters(form: LinkForm, address: LinkParts, found: Match) -> bool:
    if not form.parameters:
        return True
    given = address.parameters
    names = {name for name, _ in form.parameters}
    for name, segment in form.parameters:
        place = next((index for index, each in enumerate(given) if each[0] == name), None)
        if place is None:
            return False
        _, value, at = given[place]
        if segment.field != "uri":
            if not _word(segment, value, at, found):
                return False
            continue
        end = at + len(value)
        # Programs percent-encode the URL in a query to an index; people paste it as it is.
        if form.kind != "index-query":
            end = _end_of_target(given, place, names)
        if not _target(segment, address.text[at:end], at, found):
            return False
    return True


def _end_of_target(given: list[tuple[str, str, int]], place: int, names: set[str]) -> int:
    """Return the index where a target in a parameter ends.

    That is the next ``&``; or, if the target is not encoded and has parameters of its own, the
    next parameter that the form names.
    """
    _, value, at = given[place]
    end = at + len(value)
    if is_encoded(value) or "?" not in value:
        return end
    for name, following, start in given[place + 1 :]:
        if name in names:
            break
        end = start + len(following)
    return end


def _target(segment: Segment, value: str, at: int, found: Match) -> bool:
    prefixes = (segment.before, *(segment.before.replace(":", each) for each in _COLONS))
    prefix = next(filter(value.startswith, prefixes), None)
    if prefix is None:
        return False
    raw = value.removeprefix(prefix)
    if segment.shape == "cache":
        raw = raw.partition("&")[0]
    shaped = _shaped(segment.shape, raw)
    found.uri, found.uri_at = decoded(shaped), at + len(value) - len(raw)
    return is_target(found.uri, bare=True)


def _shaped(shape: str, text: str) -> str:
    match shape:
        case "escaped":
            return without_viewer(text)
        case "cache":
            return without_words(text)
        case _:
            return text


_DATED: Final = ("{time}{mod}/{uri}", "{time}/{uri}")
_WAYBACK: Final = (
    "{time}{mod}/{uri}",
    "timemap: timemap/{any}/{uri}",
    "timemap: timemap/{uri}",
    "index-query: timemap/cdx?url={uri}",
    "index-query: cdx?url={uri}",
    "timegate/{uri}",
    "{uri}",
)
_USUAL_PREFIXES: Final = ("{host}/", "{host}/web/", "{host}/wayback/")
# Seeds 001 and 002 assume this form at every archive (U-7).
_PWID: Final = "{host}/pwid?time={time:iso}&coverage={mod}&item={uri}"


def forms_of(entry: ArchiveEntry) -> tuple[LinkForm, ...]:
    """Return the forms of links into *entry*, the most specific first."""
    listed = tuple(form.template for form in entry.forms)
    return _forms(listed, tuple(_endpoint_templates(entry)))


@lru_cache(maxsize=512)
def _forms(listed: tuple[str, ...], endpoints: tuple[str, ...]) -> tuple[LinkForm, ...]:
    # The listed forms come first: they name collections, which endpoints do not show.
    from_listed, from_endpoints = _prefixes(listed), _prefixes(endpoints)
    has_collections = any(prefix.startswith("{host}/{coll}") for prefix in from_listed)
    is_wayback = from_listed or from_endpoints
    usual = _USUAL_PREFIXES if is_wayback and not has_collections else ()
    templates = (
        *listed,
        *_derived(from_listed),
        *endpoints,
        *_derived((*from_endpoints, *usual)),
        _PWID,
    )
    return tuple(map(compiled, dict.fromkeys(templates)))


def _derived(prefixes: tuple[str, ...]) -> Iterator[str]:
    """Yield the templates that Wayback software serves below each of *prefixes*."""
    for shape in _WAYBACK:
        kind, colon, rest = shape.rpartition(": ")
        for prefix in prefixes:
            yield f"{kind}{colon}{prefix}{rest}"


def _prefixes(templates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(_prefix, templates))))


def _prefix(template: str) -> str | None:
    """Return the text before the stamp, if only the target follows the stamp."""
    for ending in _DATED:
        if template.endswith(ending):
            return template.removesuffix(ending)
    return None


def _endpoint_templates(entry: ArchiveEntry) -> Iterator[str]:
    for address in entry.timemaps.values():
        yield f"timemap: {_bare(address)}{{uri}}"
    if entry.cdx is not None:
        yield f"index-query: {_bare(entry.cdx)}?url={{uri}}"
    if entry.timegate is not None:
        yield f"{_bare(entry.timegate)}{{time}}{{mod}}/{{uri}}"
        yield f"{_bare(entry.timegate)}{{uri}}"
    if entry.replay is not None and entry.replay.endswith("{time14}/{uri}"):
        yield _bare(entry.replay).replace("{time14}", "{time}{mod}")


def _bare(address: str) -> str:
    return address.partition("://")[2]

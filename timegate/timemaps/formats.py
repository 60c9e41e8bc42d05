"""Formats of TimeMaps, written piece by piece: link-format, MemGator's JSON and CDXJ, linkset.

They are those that MemGator's clients read (A-6), so that these need nothing but another host
name; additions of ours are under the one key ``timegate``. URIs are percent-encoded where they
would break out of their brackets or quotes (L-6): nothing that an archive sent is trusted.
"""

import json
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from typing import Final, NamedTuple, Protocol

from archives.columns import CaptureColumns
from archives.errors import ArchiveError
from archives.formats.httpdate import DAY_NAMES, MINUTES, http_date
from archives.model import Memento
from archives.moment import Moment
from timegate.timemaps.merge import MOST_ITEMS, Merge
from timegate.verdict import header_safe, safe_in_brackets

LINK: Final = "application/link-format"
LINKSET: Final = "application/linkset+json"
_LEAP: Final = "60"


class TimeMapLinks(NamedTuple):
    """The original of a TimeMap, and the URLs of its TimeGate and TimeMaps."""

    original: str
    timegate: str
    timemaps: Mapping[str, str]
    """By format."""

    @classmethod
    def of(cls, original: str, base_url: str) -> "TimeMapLinks":
        """Return the URLs for *original* at *base_url*."""
        target, base = header_safe(original), base_url.rstrip("/")
        timemaps = {name: f"{base}/timemap/{name}/{target}" for name in FORMATS}
        return cls(target, f"{base}/timegate/{target}", timemaps)


class Ends(NamedTuple):
    """The oldest capture and the newest; None as long as the newest is not known."""

    first: Memento
    last: Memento | None


class TimeMapWriter(Protocol):
    """Writes one TimeMap: the head, the first capture, the others, the last, and the tail.

    A single capture is the first and the last at once.
    """

    name: str
    """The name of the format in addresses and options."""
    type: str
    """The media type."""
    description: str
    """One line for people."""
    tells_failures: bool
    """Whether its tail can state what is missing."""

    def __init__(self, names: TimeMapLinks) -> None: ...

    def head(self, ends: Ends) -> str: ...

    def marked(self, capture: Memento, rels: str) -> str: ...

    def plain(self, captures: CaptureColumns) -> str: ...

    def tail(self, ends: Ends, summary: Mapping[str, object]) -> str: ...


class LinkWriter:
    """``application/link-format`` (RFC 7089 5, RFC 6690), one link a line (L-4)."""

    name = "link"
    type = LINK
    description = "links as in RFC 7089, one on each line"
    tells_failures = False

    def __init__(self, names: TimeMapLinks) -> None:
        self._names = names

    def head(self, ends: Ends) -> str:
        extent = f'; from="{http_date(ends.first.stamp)}"'
        if ends.last is not None:
            extent += f'; until="{http_date(ends.last.stamp)}"'
        return (
            f'<{self._names.original}>; rel="original",\n'
            f'<{self._names.timemaps["link"]}>; rel="self"; type="{LINK}"{extent},\n'
        )

    def marked(self, capture: Memento, rels: str) -> str:
        when = http_date(capture.stamp)
        return f'<{header_safe(capture.uri)}>; rel="{rels} memento"; datetime="{when}",\n'

    def plain(self, captures: CaptureColumns) -> str:
        return "".join(
            [
                f'<{uri}>; rel="memento"; '
                f'datetime="{DAY_NAMES[s[:8]]} {MINUTES[s[8:12]]}:{s[12:14]} GMT",\n'
                for uri, s in zip(
                    safe_in_brackets(captures.uris), _stamps(captures), strict=True
                )
            ]
        )

    def tail(self, ends: Ends, summary: Mapping[str, object]) -> str:  # noqa: ARG002
        timemaps = (
            f'<{uri}>; rel="timemap"; type="{FORMATS[name].type}",\n'
            for name, uri in self._names.timemaps.items()
        )
        return "".join(timemaps) + f'<{self._names.timegate}>; rel="timegate"\n'


class JsonWriter:
    """MemGator's JSON; a capture that is dated to a fraction of a second has the fraction."""

    name = "json"
    type = "application/json"
    description = "MemGator's JSON"
    tells_failures = True

    def __init__(self, names: TimeMapLinks) -> None:
        self._names = names

    def head(self, ends: Ends) -> str:  # noqa: ARG002
        return (
            f'{{\n  "original_uri": "{self._names.original}",\n'
            f'  "self": "{self._names.timemaps["json"]}",\n  "mementos": {{\n    "list": [\n'
        )

    def marked(self, capture: Memento, rels: str) -> str:
        lead = "" if "first" in rels else ",\n"
        return f"{lead}      {self._one(capture)}"

    def plain(self, captures: CaptureColumns) -> str:
        return "".join(
            [
                f',\n      {{"datetime": "{s[:4]}-{s[4:6]}-{s[6:8]}T'
                f'{s[8:10]}:{s[10:12]}:{s[12:14]}{s[14:] and "." + s[14:]}Z", "uri": "{uri}"}}'
                for uri, s in zip(
                    safe_in_brackets(captures.uris), _stamps(captures), strict=True
                )
            ]
        )

    def tail(self, ends: Ends, summary: Mapping[str, object]) -> str:
        last = ends.last or ends.first
        timemaps = {f"{name}_format": uri for name, uri in self._names.timemaps.items()}
        return (
            f'\n    ],\n    "first": {self._one(ends.first)},\n    "last": {self._one(last)}\n'
            f'  }},\n  "timemap_uri": {json.dumps(timemaps)},\n'
            f'  "timegate_uri": "{self._names.timegate}",\n'
            f'  "timegate": {json.dumps(summary)}\n}}\n'
        )

    def _one(self, capture: Memento) -> str:
        s = _stamp(capture.stamp)
        return json.dumps({"datetime": str(Moment(s)), "uri": header_safe(capture.uri)})


class CdxjWriter:
    """MemGator's CDXJ: metadata lines beginning with ``!``, then one for each capture (A-4).

    The key has 14 digits, and more for a capture that is dated to a fraction of a second.
    """

    name = "cdxj"
    type = "application/cdxj+ors"
    description = "MemGator's CDXJ, one capture on each line"
    tells_failures = False

    def __init__(self, names: TimeMapLinks) -> None:
        self._names = names

    def head(self, ends: Ends) -> str:  # noqa: ARG002
        timemaps = {f"{name}_format": uri for name, uri in self._names.timemaps.items()}
        return (
            '!context ["https://oduwsdl.github.io/contexts/memento"]\n'
            f'!id {{"uri": "{self._names.timemaps["cdxj"]}"}}\n'
            '!keys ["memento_datetime_YYYYMMDDhhmmss"]\n'
            f'!meta {{"original_uri": "{self._names.original}"}}\n'
            f'!meta {{"timegate_uri": "{self._names.timegate}"}}\n'
            f'!meta {{"timemap_uri": {json.dumps(timemaps)}}}\n'
        )

    def marked(self, capture: Memento, rels: str) -> str:
        stamp = _stamp(capture.stamp)
        uri, when = header_safe(capture.uri), http_date(stamp)
        return f'{stamp} {{"uri": "{uri}", "rel": "{rels} memento", "datetime": "{when}"}}\n'

    def plain(self, captures: CaptureColumns) -> str:
        return "".join(
            [
                f'{s} {{"uri": "{uri}", "rel": "memento", '
                f'"datetime": "{DAY_NAMES[s[:8]]} {MINUTES[s[8:12]]}:{s[12:14]} GMT"}}\n'
                for uri, s in zip(
                    safe_in_brackets(captures.uris), _stamps(captures), strict=True
                )
            ]
        )

    def tail(self, ends: Ends, summary: Mapping[str, object]) -> str:  # noqa: ARG002
        return ""


class LinksetWriter:
    """``application/linkset+json`` (RFC 9264 4.2): a context, its relations, their targets.

    It has no room for additional members, and its ``datetime`` is an array (L-5).
    """

    name = "linkset"
    type = LINKSET
    description = "links as a linkset in JSON; chosen by Accept at the address of link"
    tells_failures = False

    def __init__(self, names: TimeMapLinks) -> None:
        self._names = names

    def head(self, ends: Ends) -> str:
        extent = {"from": [http_date(ends.first.stamp)]}
        if ends.last is not None:
            extent["until"] = [http_date(ends.last.stamp)]
        own = self._names.timemaps["link"]
        itself = {"anchor": own, "self": [{"href": own, "type": LINKSET, **extent}]}
        timemaps = [
            {"href": uri, "type": FORMATS[name].type}
            for name, uri in self._names.timemaps.items()
        ]
        return (
            f'{{"linkset": [\n{json.dumps(itself)},\n{{"anchor": "{self._names.original}",\n'
            f'"original": [{{"href": "{self._names.original}"}}],\n'
            f'"timegate": [{{"href": "{self._names.timegate}"}}],\n'
            f'"timemap": {json.dumps(timemaps)},\n"memento": [\n'
        )

    def marked(self, capture: Memento, rels: str) -> str:
        return ("" if "first" in rels else ",\n") + self._one(capture)

    def plain(self, captures: CaptureColumns) -> str:
        return "".join(
            [
                f',\n{{"href": "{uri}", '
                f'"datetime": ["{DAY_NAMES[s[:8]]} {MINUTES[s[8:12]]}:{s[12:14]} GMT"]}}'
                for uri, s in zip(
                    safe_in_brackets(captures.uris), _stamps(captures), strict=True
                )
            ]
        )

    def tail(self, ends: Ends, summary: Mapping[str, object]) -> str:  # noqa: ARG002
        last = ends.last or ends.first
        return (
            f'\n],\n"first": [{self._one(ends.first)}],\n"last": [{self._one(last)}]}}\n]}}\n'
        )

    def _one(self, capture: Memento) -> str:
        href, when = header_safe(capture.uri), http_date(capture.stamp)
        return json.dumps({"href": href, "datetime": [when]})


def _by_name(*writers: type[TimeMapWriter]) -> Mapping[str, type[TimeMapWriter]]:
    return {writer.name: writer for writer in writers}


FORMATS: Final = _by_name(
    LinkWriter,
    JsonWriter,
    CdxjWriter,
)
"""The formats that have an address of their own, by name."""


def _stamps(captures: CaptureColumns) -> list[str]:
    """Return the stamps; a leap second becomes the second before it, since HTTP has none."""
    stamps = captures.stamps
    if _LEAP in {stamp[12:14] for stamp in stamps}:
        return [_stamp(stamp) for stamp in stamps]
    return stamps


def _stamp(stamp: str) -> str:
    return f"{stamp[:12]}59" if stamp[12:14] == _LEAP else stamp


_SLICE: Final = 500
"""Captures written at once: some 1 ms, in which no other request is served."""


async def written(
    writer: TimeMapWriter, merge: Merge, ends: Ends
) -> AsyncGenerator[bytes, None]:
    """Yield the TimeMap. Raises ArchiveError where it is incomplete and cannot say so."""
    body = _merged(writer, merge, ends)
    if merge.is_whole:
        # All captures are here, so all is written at once: captures take three times as much
        # memory as their text, and need not wait for a client that reads slowly.
        pieces = deque([part async for part in body])
        while pieces:
            yield pieces.popleft()
        return
    async with aclosing(body):
        async for part in body:
            yield part


async def _merged(
    writer: TimeMapWriter, merge: Merge, ends: Ends
) -> AsyncGenerator[bytes, None]:
    announced = frozenset(merge.failures)
    yield writer.head(ends).encode()
    pending = _OneBehind(writer)
    async with aclosing(merge.blocks()) as blocks:
        async for block in blocks:
            for part in _slices(block):
                text = pending.advance(part)
                if text:
                    yield text.encode()
                await merge.turns.next()
            _check(writer, merge, announced)
    _check(writer, merge, announced)
    whole, text = pending.end()
    yield (text + writer.tail(whole, merge_summary(merge))).encode()


class _OneBehind:
    """Holds back one capture: whether it is the last is known only when another comes."""

    def __init__(self, writer: TimeMapWriter) -> None:
        self._writer = writer
        self._held = CaptureColumns([], [], [])
        self._first: Memento | None = None

    def advance(self, captures: CaptureColumns) -> str:
        """Return the text of all captures so far that are not the last."""
        ready = self._held
        ready.extend(captures)
        self._held = ready[-1:]
        if len(ready) < 2:
            return ""
        if self._first is not None:
            return self._writer.plain(ready[:-1])
        self._first = ready[0]
        return self._writer.marked(self._first, "first") + self._writer.plain(ready[1:-1])

    def end(self) -> tuple[Ends, str]:
        """Return the first capture and the last, and the text of the last."""
        (last,) = self._held
        if self._first is None:
            return Ends(last, last), self._writer.marked(last, "first last")
        return Ends(self._first, last), self._writer.marked(last, "last")


def merge_summary(merge: Merge) -> Mapping[str, object]:
    """Return the summary of a merge that has ended, in types that JSON has."""
    missing = {archive: why.why[:300] for archive, why in sorted(merge.failures.items())}
    return {
        "sources": "partial" if missing or merge.cut_short else "complete",
        "count": merge.sent,
        "asked": list(merge.asked),
        "missing": missing,
        "truncated": merge.cut_short,
    }


def _slices(block: CaptureColumns) -> Iterator[CaptureColumns]:
    for start in range(0, len(block), _SLICE):
        yield block[start : start + _SLICE]


def _check(writer: TimeMapWriter, merge: Merge, announced: frozenset[str]) -> None:
    if writer.tells_failures:
        return
    for archive, error in merge.failures.items():
        if archive not in announced:
            raise error
    if merge.cut_short:
        raise ArchiveError("all archives", "", f"list more than {MOST_ITEMS} captures")

"""Citing a copy: its PWID and duri, and references in the usual notations.

A PWID and a duri can be minted without an authority (P-33, D-11). They state the time that the
archive proves, at the granularity that it proves, and the URL that it reports as captured.

Everything an archive reports about a copy is untrusted text. Each notation escapes the
characters that would end its fields: ``|`` in wikitext, ``}`` in BibTeX.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from html import escape
from typing import Final, Literal, get_args
from urllib.parse import quote, urlsplit

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import Registry
from archives.uri import check_text, negotiable, read_uri
from timegate.identifiers import parse
from timegate.identifiers.duri import Duri
from timegate.identifiers.pwid import Pwid, minted
from timegate.identifiers.replay_link import ReplayUrl
from timegate.resolution.model import Resolution
from timegate.text import masked
from timegate.verdict import delivers_raw


@dataclass(frozen=True, slots=True)
class Citation:
    """The two identifiers of one copy: the PWID names the archive, the duri does not."""

    pwid: Pwid
    duri: Duri


def citation(original: str, captured: Moment, archive: str, *, raw: bool = False) -> Citation:
    """Return the identifiers of the copy of *original* that *archive* captured at *captured*.

    *archive* is a PWID archive-id. The bytes as they were captured are a ``part``, the replayed
    page is a ``page``. Raises Malformed if the copy cannot be named.
    """
    pwid = minted(original, captured, archive, raw=raw)
    return Citation(pwid, Duri(captured, pwid.item))


def cited(resolution: Resolution, registry: Registry) -> dict[str, str | None]:
    """Return the identifiers of the memento that was found; None for those it has not."""
    names: dict[str, str | None] = {"pwid": None, "duri": None}
    memento = resolution.memento
    if memento is None:
        return names
    entry = registry.by_id(memento.archive)
    is_raw = delivers_raw(resolution.query, memento, entry)
    try:
        if entry is None or not entry.pwid:
            return {**names, "duri": Duri(memento.captured, _item(memento.original)).canonical}
        found = citation(memento.original, memento.captured, entry.pwid[0], raw=is_raw)
    except Malformed:
        # The archive reports an original that is not a valid URL.
        return names
    return {"pwid": found.pwid.canonical, "duri": found.duri.canonical}


def _item(original: str) -> str:
    url = original.partition("#")[0]
    check_text(url)
    return read_uri(url, Diagnosis())


Form = Literal[
    "pwid", "duri", "link", "robust-link", "cs1", "wikitext", "bibtex", "csl", "iso690"
]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
_LONGEST_TITLE: Final = 300
_NOT_IN_KEY: Final = re.compile(r"[^a-z0-9]++")
# RFC 3986 without the characters that end a field, a link or a parameter in some notation:
# quotes, braces, brackets, | and backslash. % stays, so that nothing is encoded twice.
_IN_URL: Final = "!#$%&()*+,-./:;=?@_~"


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy to be cited, as a reference describes it."""

    uri: str
    original: str
    captured: Moment
    archive: str
    """Name of the archive for people."""
    archive_id: str | None = None
    """PWID archive-id of the archive; None if it has none."""
    raw: bool = False
    """Whether *uri* is the address of the bytes as they were captured."""
    title: str | None = None
    viewed: date | None = None
    """The day on which the copy was viewed, for notations that ask for it."""


def reference(form: Form, copy: Copy) -> str | None:
    """Return a reference to *copy* in the notation *form*; None if it cannot express it."""
    if not (negotiable(copy.uri) and negotiable(copy.original)):
        return None
    return _WRITERS[form](copy)


def _pwid(copy: Copy) -> str | None:
    if copy.archive_id is None:
        return None
    try:
        names = citation(copy.original, copy.captured, copy.archive_id, raw=copy.raw)
    except Malformed:
        # The archive reports an original that is not a valid URL.
        return None
    return names.pwid.canonical


def _duri(copy: Copy) -> str | None:
    try:
        return Duri(copy.captured, _item(copy.original)).canonical
    except Malformed:
        return None


def _link(copy: Copy) -> str:
    return _url(copy.uri)


def _robust_link(copy: Copy) -> str:
    """Return a Robust Link (robustlinks.mementoweb.org): original, copy and date in one."""
    original, version = escape(_url(copy.original)), escape(_url(copy.uri))
    return (
        f'<a href="{original}" data-originalurl="{original}" data-versionurl="{version}" '
        f'data-versiondate="{_day(copy)}">{escape(_title(copy))}</a>'
    )


def _cs1(copy: Copy) -> str:
    """Return Wikipedia's ``{{cite web}}``, without ``url-status``, which is not known."""
    fields = {
        "title": _wikitext(_title(copy)),
        "url": _url(copy.original),
        "website": _wikitext(_site(copy)),
        "archive-url": _url(copy.uri),
        "archive-date": _day(copy),
    }
    return "{{cite web " + " ".join(f"|{name}={value}" for name, value in fields.items()) + "}}"


def _wiki_link(copy: Copy) -> str:
    captured = f"captured {copy.captured} by {_wikitext(_plain(copy.archive))}"
    return f"[{_url(copy.uri)} {_wikitext(_title(copy))}], {captured}"


def _bibtex(copy: Copy) -> str:
    name = _pwid(copy) or _duri(copy) or ""
    note = f"Captured {copy.captured} by {_plain(copy.archive)}. {name}".strip()
    fields = {
        "title": "{" + _tex(_title(copy)) + "}",
        "year": copy.captured.digits[:4],
        "url": _url(copy.uri),
        "urldate": _day(copy),
        "note": _tex(note),
    }
    key = _key(copy)
    body = "".join(f"  {field} = {{{value}}},\n" for field, value in fields.items())
    return f"@misc{{{key},\n{body}}}"


def _csl(copy: Copy) -> str:
    """Return CSL-JSON. *accessed* is the day of capture: then the page was as cited."""
    digits = copy.captured.digits
    parts = [int(part) for part in (digits[:4], digits[4:6], digits[6:8]) if part]
    item = {
        "id": _key(copy),
        "type": "webpage",
        "title": _title(copy),
        "container-title": _site(copy),
        "URL": _url(copy.original),
        "accessed": {"date-parts": [parts]},
        "archive": _plain(copy.archive),
        "archive_location": _url(copy.uri),
        "note": _pwid(copy) or _duri(copy) or "",
    }
    return json.dumps([item], ensure_ascii=False, indent=2)


def _iso690(copy: Copy) -> str:
    viewed = f" [viewed {copy.viewed.isoformat()}]" if copy.viewed else ""
    name = _pwid(copy) or _duri(copy)
    text = f"{_title(copy)} [online]. Captured {copy.captured}{viewed}. "
    text += f"Archived by: {_plain(copy.archive)}. Available from: {_url(copy.uri)}. "
    text += f"Original: {_url(copy.original)}."
    return f"{text} {name}" if name else text


_WRITERS: Final[Mapping[Form, Callable[[Copy], str | None]]] = {
    "pwid": _pwid,
    "duri": _duri,
    "link": _link,
    "robust-link": _robust_link,
    "cs1": _cs1,
    "wikitext": _wiki_link,
    "bibtex": _bibtex,
    "csl": _csl,
    "iso690": _iso690,
}


def _url(uri: str) -> str:
    """Percent-encode every character of *uri* that is markup in some notation."""
    return quote(uri, safe=_IN_URL, errors="replace")


def _day(copy: Copy) -> str:
    digits = copy.captured.digits
    return "-".join(filter(None, (digits[:4], digits[4:6], digits[6:8])))


def _title(copy: Copy) -> str:
    """Return the title of the page; without one, its address without the scheme.

    CS1 puts references whose title is a whole URL into an error category.
    """
    title = _plain(copy.title or "")
    return title or _plain(copy.original.partition("://")[2])


def _site(copy: Copy) -> str:
    try:
        return _plain(urlsplit(copy.original).hostname or "")
    except ValueError:  # brackets around something that is not an IPv6 address
        return ""


def _key(copy: Copy) -> str:
    site = _NOT_IN_KEY.sub("", _site(copy).lower().removeprefix("www."))
    return f"{site[:40] or 'page'}{copy.captured.digits[:8]}"


def _plain(text: str) -> str:
    """Return *text* on one line, without control characters, cut at a title's length."""
    words = masked(text[: 2 * _LONGEST_TITLE], " ").split()
    return " ".join(words)[:_LONGEST_TITLE]


_WIKITEXT: Final = str.maketrans({c: f"&#{ord(c)};" for c in "&<>[]{|}'~_"})


def _wikitext(text: str) -> str:
    """Return *text* with the markup of wikitext (links, ``''``, ``~~~~``) as entities."""
    return text.translate(_WIKITEXT)


_TEX: Final = str.maketrans(
    {
        **{c: f"\\{c}" for c in "&%$#_{}"},
        "\\": "\\textbackslash{}",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
    }
)


def _tex(text: str) -> str:
    return text.translate(_TEX)


def copy_behind(link: str, registry: Registry) -> Copy:
    """Return the copy that an archive link leads to. Raises Malformed if that is unclear."""
    reading = parse(link, registry)
    identifier = reading.identifier
    if not isinstance(identifier, ReplayUrl):
        raise Malformed("not-a-memento", "not a link to a copy in a known archive", 0)
    if identifier.item is None:
        why = "the link has the archive's own id for the copy, and does not say of what"
        raise Malformed("not-negotiable", why, 0)
    if identifier.time is None or len(identifier.time.digits) < 14:
        why = "the link does not name the second of capture: open it, and cite where it leads"
        raise Malformed("coarse-time", why, 0)
    entry = None if reading.entry is None else registry.by_id(reading.entry)
    return Copy(
        uri=link.strip(),
        original=identifier.item,
        captured=identifier.time,
        archive=identifier.archive or "" if entry is None else entry.name,
        archive_id=identifier.archive,
        raw=identifier.precision == "part",
    )

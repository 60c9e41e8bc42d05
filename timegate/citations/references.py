"""A copy as a reference: for a page, a paper, Wikipedia.

Everything an archive says of a copy is foreign text. Each notation has its own way out of its
fields, closed here: ``|`` ends a parameter in wikitext, ``}`` a field of BibTeX.
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
from archives.uri import check_text, negotiable, read_uri
from timegate.citations.names import citation
from timegate.identifiers.duri import Duri
from timegate.text import masked

Form = Literal[
    "pwid", "duri", "link", "robust-link", "cs1", "wikitext", "bibtex", "csl", "iso690"
]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
_LONGEST_TITLE: Final = 300
_NOT_IN_KEY: Final = re.compile(r"[^a-z0-9]++")
# RFC 3986 without what ends a field, a link or a parameter somewhere: quotes, braces, brackets,
# the bar and the backslash. Percent signs stay: triplets are not encoded twice.
_IN_URL: Final = "!#$%&()*+,-./:;=?@_~"


@dataclass(frozen=True, slots=True)
class Copy:
    """What a reference says of a copy."""

    uri: str
    original: str
    captured: Moment
    archive: str
    """The archive as people call it."""
    archive_id: str | None = None
    """The archive as PWIDs call it; None where they cannot."""
    raw: bool = False
    """Whether the address is one of the bytes as they were harvested."""
    title: str | None = None
    viewed: date | None = None
    """The day of looking at it, where a notation asks for it."""


def reference(form: Form, copy: Copy) -> str | None:
    """Write *copy* as *form*; None where that notation has no way to say it."""
    if not (negotiable(copy.uri) and negotiable(copy.original)):
        return None
    return _WRITERS[form](copy)


def _pwid(copy: Copy) -> str | None:
    if copy.archive_id is None:
        return None
    try:
        names = citation(copy.original, copy.captured, copy.archive_id, raw=copy.raw)
    except Malformed:
        # What the archive calls the original is no URL that a name could hold.
        return None
    return names.pwid.canonical


def _duri(copy: Copy) -> str | None:
    url = copy.original.partition("#")[0]
    try:
        check_text(url)
        return Duri(copy.captured, read_uri(url, Diagnosis())).canonical
    except Malformed:
        return None


def _link(copy: Copy) -> str:
    return _url(copy.uri)


def _robust_link(copy: Copy) -> str:
    """Write a link that survives its target, as robustlinks.mementoweb.org specified it."""
    original, version = escape(_url(copy.original)), escape(_url(copy.uri))
    return (
        f'<a href="{original}" data-originalurl="{original}" data-versionurl="{version}" '
        f'data-versiondate="{_day(copy)}">{escape(_title(copy))}</a>'
    )


def _cs1(copy: Copy) -> str:
    """Write Wikipedia's template; whether the original is dead was not looked at."""
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
    """Write CSL-JSON; *accessed* is when the page was as cited, so the day of capture."""
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
    told = f"{_title(copy)} [online]. Captured {copy.captured}{viewed}. "
    told += f"Archived by: {_plain(copy.archive)}. Available from: {_url(copy.uri)}. "
    told += f"Original: {_url(copy.original)}."
    return f"{told} {name}" if name else told


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
    """Write *uri* so that no notation sees an end or a command in it."""
    return quote(uri, safe=_IN_URL, errors="replace")


def _day(copy: Copy) -> str:
    digits = copy.captured.digits
    return "-".join(filter(None, (digits[:4], digits[4:6], digits[6:8])))


def _title(copy: Copy) -> str:
    """Return what the page is called; its address without a scheme where nobody knows.

    CS1 puts references with a whole URL for a title into a category of errors.
    """
    title = _plain(copy.title or "")
    return title or _plain(copy.original.partition("://")[2])


def _site(copy: Copy) -> str:
    try:
        return _plain(urlsplit(copy.original).hostname or "")
    except ValueError:  # brackets that hold no address
        return ""


def _key(copy: Copy) -> str:
    site = _NOT_IN_KEY.sub("", _site(copy).lower().removeprefix("www."))
    return f"{site[:40] or 'page'}{copy.captured.digits[:8]}"


def _plain(text: str) -> str:
    """Return *text* in one line, without controls, and not longer than a title is."""
    words = masked(text[: 2 * _LONGEST_TITLE], " ").split()
    return " ".join(words)[:_LONGEST_TITLE]


_WIKITEXT: Final = str.maketrans({c: f"&#{ord(c)};" for c in "&<>[]{|}'~_"})


def _wikitext(text: str) -> str:
    """Write what wikitext would act upon as entities: links, templates, ``''``, ``~~~~``."""
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

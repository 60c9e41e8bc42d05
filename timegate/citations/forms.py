"""References to a copy in the usual notations.

Everything an archive reports about a copy is untrusted text. Each notation escapes the
characters that would end its fields: ``|`` in wikitext, ``}`` in BibTeX.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from html import escape
from typing import Final, Literal, get_args
from urllib.parse import quote, urlsplit

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.uri import negotiable
from timegate.citations import Copy, PageDescription, citation, item_of
from timegate.identifiers.duri import Duri
from timegate.text import MONTH_NAMES, masked

Form = Literal[
    "pwid",
    "duri",
    "pasted",
    "link",
    "robust-link",
    "cs1",
    "wikitext",
    "apa",
    "mla",
    "chicago",
    "iso690",
    "bibtex",
    "ris",
    "csl",
]
FORMS: Final[tuple[Form, ...]] = get_args(Form)
FORMS_OF_COPIES: Final = tuple(form for form in FORMS if form != "pasted")
"""The forms that need nothing but the copy."""
LABELS: Final[Mapping[Form, str]] = {
    "pwid": "PWID",
    "duri": "duri",
    "pasted": "Your citation",
    "link": "Archive link",
    "robust-link": "Robust Link",
    "cs1": "Wikipedia",
    "wikitext": "Wiki link",
    "apa": "APA",
    "mla": "MLA",
    "chicago": "Chicago",
    "iso690": "ISO 690",
    "bibtex": "BibTeX",
    "ris": "RIS",
    "csl": "CSL-JSON",
}
"""The name of each form for people."""
OF_DESCRIPTION: Final[tuple[Form, ...]] = (
    *("cs1", "apa", "mla", "chicago", "iso690", "bibtex", "ris", "csl"),
)
"""The forms that state author, year, title and day of access."""
_OF_NOTATION: Final[Mapping[str, Form]] = {
    "wikitext": "cs1",
    "bibtex": "bibtex",
    "prose": "pasted",
}
"""The form in which a pasted citation comes back."""
_LONGEST_TITLE: Final = 300
_NOT_IN_KEY: Final = re.compile(r"[^a-z0-9]++")
# RFC 3986 without the characters that end a field, a link or a parameter in some notation:
# quotes, braces, brackets, | and backslash. % stays, so that nothing is encoded twice.
_IN_URL: Final = "!#$%&()*+,-./:;=?@_~"


def reference(form: Form, copy: Copy) -> str | None:
    """Return a reference to *copy* in the notation *form*; None if it cannot express it."""
    if not (negotiable(copy.uri) and negotiable(copy.original)):
        return None
    return _WRITERS[form](copy)


def pasted_words(copy: Copy, difference: str) -> str:
    """Return where the pasted citation is, and what was done to it; empty if there is none.

    *difference* is how the copy differs from the one that is cited; empty if it does not.
    """
    pasted = copy.pasted
    if pasted is None:
        return ""
    begin = f"The citation from your text is under {LABELS[_OF_NOTATION[pasted.notation]]}"
    if pasted.is_unchanged:
        return f"{begin}, unchanged: its own archive link was not checked"
    if not pasted.has_archive_link:
        return f"{begin}, with the copy added"
    other = f". The new copy: {difference}" if difference else ""
    return f"{begin}, with a new archive link in place of its own{other}"


def description_words(described: PageDescription) -> str:
    """Return what the other styles take over from a text; empty if there is none."""
    if not described.taken_over:
        return ""
    pasted = described.pasted
    own = None if pasted is None else _OF_NOTATION[pasted.notation]
    *first, last = (LABELS[form] for form in OF_DESCRIPTION if form != own)
    styles = f"{', '.join(first)} and {last}"
    return f"{styles} take over from your text: {described.taken_over}. Add what is missing"


def comes_back(form: Form, copy: Copy) -> bool:
    """Whether the reference in the notation *form* is the pasted citation itself."""
    pasted = copy.pasted
    return pasted is not None and form in ("pasted", _OF_NOTATION[pasted.notation])


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
        return Duri(copy.captured, item_of(copy.original)).canonical
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


def _pasted(copy: Copy) -> str | None:
    """Return the citation that the user pasted, with the copy added."""
    return None if copy.pasted is None else _completed(copy, copy.pasted.notation)


def _completed(copy: Copy, notation: str) -> str | None:
    if copy.pasted is None or copy.pasted.notation != notation:
        return None
    # Here, because most citations are of identifiers.
    from timegate.citations.pasted import with_copy  # noqa: PLC0415

    return with_copy(copy.pasted, copy.uri, copy.captured, copy.url_status)


def _cs1(copy: Copy) -> str:
    """Return Wikipedia's ``{{cite web}}``, or the template that the user pasted."""
    if completed := _completed(copy, "wikitext"):
        return completed
    fields = {
        **_cs1_authors(copy),
        **({"date": copy.year} if copy.year else {}),
        "title": _wikitext(_title(copy)),
        "url": _url(copy.original),
        "website": _wikitext(_site(copy)),
        "archive-url": _url(copy.uri),
        "archive-date": _day(copy),
        "url-status": copy.url_status,
    }
    if copy.accessed:
        fields["access-date"] = copy.accessed.isoformat()
    return "{{cite web " + " ".join(f"|{name}={value}" for name, value in fields.items()) + "}}"


def _cs1_authors(copy: Copy) -> dict[str, str]:
    """Return the parameters for the authors, numbered if there are several."""
    fields: dict[str, str] = {}
    for number, name in enumerate(copy.authors, start=1):
        digit = str(number) if len(copy.authors) > 1 else ""
        family, given = _parts_of(name)
        written = {f"last{digit}": family, f"first{digit}": given}
        names = written if given else {f"author{digit}": family}
        fields |= {name: _wikitext(_plain(value)) for name, value in names.items()}
    return fields


def _parts_of(name: str) -> tuple[str, str]:
    """Return the family name and the given names; several names are one family name."""
    family, comma, given = name.partition(", ")
    is_one = comma and not ("," in given or " and " in given or " et al" in given)
    return (family, given) if is_one else (name, "")


def _authors(copy: Copy, last: str = ", and ") -> str:
    """Return the authors as one text, with a point at its end; empty if none is stated."""
    *others, name = copy.authors or ("",)
    names = f"{', '.join(others)}{last}{name}" if others else name
    return _ended(_plain(names)) if names else ""


def _wiki_link(copy: Copy) -> str:
    return f"[{_url(copy.uri)} {_wikitext(_title(copy))}], {_archived(copy, _wikitext)}"


def _archived(copy: Copy, escaped: Callable[[str], str] = str) -> str:
    """Return when and where the copy was made, and of which URL."""
    holder = escaped(_plain(copy.archive))
    return f"archived {copy.captured} by {holder} from {_url(copy.original)}"


def _note(copy: Copy) -> str:
    """Return what the fields of reference managers have no place for."""
    return _capital(f"{_archived(copy)}. {_pwid(copy) or _duri(copy) or ''}".strip())


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _bibtex(copy: Copy) -> str:
    if completed := _completed(copy, "bibtex"):
        return completed
    fields = {
        **({"author": " and ".join(map(_bibtex_name, copy.authors))} if copy.authors else {}),
        "title": "{" + _tex(_title(copy)) + "}",
        **({"year": copy.year} if copy.year else {}),
        "url": _url(copy.uri),
        **({"urldate": copy.accessed.isoformat()} if copy.accessed else {}),
        "note": _tex(_note(copy)),
    }
    key = _key(copy)
    body = "".join(f"  {field} = {{{value}}},\n" for field, value in fields.items())
    return f"@misc{{{key},\n{body}}}"


def _bibtex_name(name: str) -> str:
    """Return *name*; several names are one in braces, because BibTeX divides at commas."""
    is_one = _parts_of(name)[1] != ""
    return _tex(_plain(name)) if is_one else "{" + _tex(_plain(name)) + "}"


def _csl_name(name: str) -> dict[str, str]:
    family, given = map(_plain, _parts_of(name))
    return {"family": family, "given": given} if given else {"literal": family}


def _csl(copy: Copy) -> str:
    """Return CSL-JSON. The URL is that of the copy, which styles print."""
    day = copy.accessed
    item = {
        "id": _key(copy),
        "type": "webpage",
        **({"author": [*map(_csl_name, copy.authors)]} if copy.authors else {}),
        **({"issued": {"date-parts": [[int(copy.year)]]}} if copy.year else {}),
        "title": _title(copy),
        "container-title": _site(copy),
        "URL": _url(copy.uri),
        **({"accessed": {"date-parts": [[day.year, day.month, day.day]]}} if day else {}),
        "archive": _plain(copy.archive),
        "archive_location": _url(copy.uri),
        "note": _note(copy),
    }
    return json.dumps([item], ensure_ascii=False, indent=2)


def _iso690(copy: Copy) -> str:
    viewed = f" [viewed {copy.accessed.isoformat()}]" if copy.accessed else ""
    name = _pwid(copy) or _duri(copy)
    author = f"{_authors(copy)} " if copy.authors else ""
    year = f". {copy.year}" if copy.year else ""
    text = f"{author}{_title(copy)} [online]{year}{viewed}. Archived {copy.captured} by "
    text += f"{_plain(copy.archive)}. Available from: {_url(copy.uri)}. "
    text += f"Original: {_url(copy.original)}."
    return f"{text} {name}" if name else text


def _apa(copy: Copy) -> str:
    """Return a reference in the style of APA 7; a page without an author begins with its title.

    Without a known year of publication, it is ``n.d.``
    """
    original = _url(copy.original)
    if copy.accessed:
        original = f"Retrieved {_american_day(copy.accessed)}, from {original}"
    year, title = f"({copy.year or 'n.d.'}).", _ended(_title(copy))
    begin = f"{_authors(copy, ', & ')} {year} {title}" if copy.authors else f"{title} {year}"
    return (
        f"{begin} {_ended(_site(copy))} {original}; archived "
        f"{_american(copy.captured)}, by {_plain(copy.archive)}, {_url(copy.uri)}"
    )


def _mla(copy: Copy) -> str:
    """Return a reference in the style of MLA 9: the page, then the archive that contains it."""
    accessed = f" Accessed {_mla_day(copy.accessed)}." if copy.accessed else ""
    author = f"{_authors(copy)} " if copy.authors else ""
    year = f"{copy.year}, " if copy.year else ""
    return (
        f"{author}“{_ended(_title(copy))}” {_site(copy)}, {year}{_url(copy.original)}. "
        f"{_plain(copy.archive)}, archived {_mla_date(copy.captured)}, "
        f"{_url(copy.uri)}.{accessed}"
    )


def _chicago(copy: Copy) -> str:
    """Return an entry of a bibliography in the style of Chicago 17."""
    accessed = f" Accessed {_american_day(copy.accessed)}." if copy.accessed else ""
    title, site = f"“{_ended(_title(copy))}”", _site(copy)
    begin = f"{_authors(copy)} {title} {site}." if copy.authors else f"{site}. {title}"
    year = f" {copy.year}." if copy.year else ""
    return (
        f"{begin}{year}{accessed} {_url(copy.original)}. Archived "
        f"{_american(copy.captured)}, by {_plain(copy.archive)}. {_url(copy.uri)}."
    )


def _ris(copy: Copy) -> str:
    """Return a record for reference managers; ``Y2`` is the day of access."""
    name = _pwid(copy) or _duri(copy)
    lines = [
        ("TY", "ELEC"),
        *(("AU", _plain(name)) for name in copy.authors),
        ("TI", _title(copy)),
        *([("PY", copy.year)] if copy.year else []),
        ("T2", _site(copy)),
        *([("Y2", copy.accessed.strftime("%Y/%m/%d"))] if copy.accessed else []),
        ("UR", _url(copy.uri)),
        ("DB", _plain(copy.archive)),
        ("N1", _capital(_archived(copy))),
        *([("N1", name)] if name else []),
        ("ER", ""),
    ]
    return "\n".join(f"{tag}  - {value}" for tag, value in lines)


_SHORT_MONTHS: Final = (
    *("Jan.", "Feb.", "Mar.", "Apr.", "May", "June", "July"),
    *("Aug.", "Sept.", "Oct.", "Nov.", "Dec."),
)


def _american(moment: Moment) -> str:
    """Return the day of *moment* as ``January 22, 2016``, no more precise than it is."""
    year, month, day = _parts(moment)
    if month is None:
        return year
    name = MONTH_NAMES[month - 1]
    return f"{name} {year}" if day is None else f"{name} {day}, {year}"


def _american_day(day: date) -> str:
    return _american(Moment(f"{day:%Y%m%d}"))


def _mla_date(moment: Moment) -> str:
    """Return the day of *moment* as ``22 Jan. 2016``, no more precise than it is."""
    year, month, day = _parts(moment)
    name = None if month is None else _SHORT_MONTHS[month - 1]
    return " ".join(str(part) for part in (day, name, year) if part is not None)


def _mla_day(day: date) -> str:
    return _mla_date(Moment(f"{day:%Y%m%d}"))


def _parts(moment: Moment) -> tuple[str, int | None, int | None]:
    digits = moment.digits
    month, day = digits[4:6], digits[6:8]
    return digits[:4], int(month) if month else None, int(day) if day else None


def _ended(text: str) -> str:
    """Return *text* with one mark at its end."""
    return text if text.endswith((".", "?", "!", "…")) else f"{text}."


_WRITERS: Final[Mapping[Form, Callable[[Copy], str | None]]] = {
    "pwid": _pwid,
    "duri": _duri,
    "pasted": _pasted,
    "link": _link,
    "robust-link": _robust_link,
    "cs1": _cs1,
    "wikitext": _wiki_link,
    "apa": _apa,
    "mla": _mla,
    "chicago": _chicago,
    "iso690": _iso690,
    "bibtex": _bibtex,
    "ris": _ris,
    "csl": _csl,
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
    return title or _plain(copy.original.partition("://")[2].rstrip("/"))


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


# A tag, an entity, italics, a signature, a magic word: a single one of '~_ is only itself.
_WIKITEXT: Final = compiled(
    r"[<>\[\]{|}]|&(?=#?[^\W_]{1,40};)|'(?=')|(?<=')'|~(?=~)|(?<=~)~|_(?=_)|(?<=_)_"
)


def _wikitext(text: str) -> str:
    """Return *text* with the markup of wikitext (links, ``''``, ``~~~~``) as entities."""
    # Without an opening bracket, a closing one ends no tag.
    kept = ">" if "<" not in text else None
    return _WIKITEXT.sub(
        lambda found: kept if found[0] == kept else f"&#{ord(found[0])};", text
    )


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

"""The links of a text as references, before dates are assigned: what each of them is.

An archive link and the link to its page beside it are one reference, as are a link and the DOI
of the same citation.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.regex_compat import compiled
from archives.registry import Registry, bare_host
from archives.replay_links import read_link
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.references import FoundKind, TextSpan
from timegate.references.links import TextLink, video_address
from timegate.references.mistyped_pwids import MistypedPwid, mistyped_pwid
from timegate.references.own_lines import are_items, is_divided
from timegate.text.written_dates import find_dates

_ARCHIVE_WORD: Final = compiled(
    r"archiv|arkiv|arquiv|perma|backup|snapshot|wayback|copy|kopie|webcite|saved|cache",
    re.IGNORECASE,
)
_TO_CAPTURE: Final = "The link asks an archive for a new copy and does not name one"
_AS_ONE: Final = "{} and {}, on another line, were taken for one reference"
_CAPTURES: Final = "The link is a list of captures and does not name one of them"
_COPY: Final = compiled(r"/([0-9]{14})(?:[a-z]{2}_)?/(?=https?://)")
_STAMPED: Final = compiled(
    r"^https?://[^/?#]{1,255}/(?:[\w.-]{1,40}/){0,4}([0-9]{4,14})(?:[a-z]{2}_)?/(?=https?://)"
)
"""An archive link up to the URL of its page."""
_LONGEST_PREFIX: Final = 400
_NO_URL: Final = "the archive link does not contain the URL of the page"
_ONCE_MORE: Final = compiled(
    r"[^\w\n]{0,6}(?:\b(?:available|at|from|url|link|see|online|in|web|retrieved|verfügbar|unter|abrufbar"
    r"|disponible|en|disponível|em|sur|à)[\s:]{1,3}){0,3}[^\w\n]{0,6}",
    re.IGNORECASE,
)
"""Between a link and the same link once more."""
_BLANKS: Final = compiled(r"[ \t]++")
_VERSION: Final = compiled(r"v[0-9]{1,2}$")
"""The version at the end of a number of arXiv."""
_CONTINUED: Final = 60
"""Characters between a link and the archive link of the same page."""
_ADJACENT: Final = 3
_SAME_CITATION: Final = 160
_NUMBERS: Final = ("https://doi.org/10.", "https://arxiv.org/abs/", "https://hdl.handle.net/")


class LinkPlace(NamedTuple):
    """A link that was read, before dates are assigned."""

    link: TextLink
    kind: FoundKind
    identifier: str
    end: int
    """Where the last link of the reference ends."""
    own: Moment | None = None
    """The time that the reference itself states."""
    page: str | None = None
    """The URL of the page; None if it is not known."""
    notes: tuple[str, ...] = ()
    trouble: str = ""
    others: tuple[str, ...] = ()
    archived: Moment | None = None
    """The time of an archive link that does not contain the page's URL."""
    last: int = 0
    """Where the last of several links begins."""
    first: int = 0
    """Where the first of several links ends."""
    names_copy: bool = False
    """Whether it names one copy, whose time the link does not state."""
    is_nested: bool = False
    """Whether the link is a copy of an archive link, which may be meant or not."""
    is_undated_copy: bool = False
    """Whether it is a link into an archive that states no time."""
    is_redirect: bool = False
    """Whether the link is one of a mail filter or a search engine, with the page in it."""

    @property
    def start(self) -> int:
        """Where the link begins."""
        return self.link.span.start

    @property
    def shown(self) -> str:
        """The link as it is written, without line breaks."""
        return "".join(self.link.written.split())


def read_place(link: TextLink, registry: Registry) -> LinkPlace:
    """Return what *link* is: a reference, a list of captures, or an id of an archive."""
    text = link.identifier
    try:
        reading = parse(text, registry)
    except Malformed as complaint:
        return _unreadable(link, registry, complaint)
    return _of_target(link, registry) or _readable(link, reading, registry)


def _readable(link: TextLink, reading: ParsedIdentifier, registry: Registry) -> LinkPlace:
    text, end = link.identifier, link.span.end
    identifier = reading.identifier
    if page := page_to_capture(text, registry):
        return LinkPlace(link, "reference", page, end, page=page, notes=(_TO_CAPTURE,))
    if is_plain_url(reading) and (place := _of_other_form(link, registry)):
        return place
    if reading.kind.is_archive_link and (inner := inner_copy(identifier.item, registry)):
        note = f"The link is an archived copy of another archive link, {inner}"
        place = read_place(link._replace(identifier=inner), registry)
        return place._replace(notes=(note, *place.notes), is_nested=True)
    if identifier.item is not None or not reading.kind.is_archive_link:
        time = identifier.time
        # A TimeGate is no copy: the time beside it is the one that it is asked for.
        is_copy = reading.kind.is_archive_link and "/timegate/" not in text
        place = LinkPlace(link, "reference", text, end, own=time, page=identifier.item)
        return place._replace(is_undated_copy=is_copy and time is None)
    place = LinkPlace(
        link, "opaque", text, end, trouble=_NO_URL, archived=identifier.time, names_copy=True
    )
    video = video_address(text)
    if video is None:
        return place
    return place._replace(
        kind="reference",
        identifier=video,
        page=video,
        notes=(f"The link to Ghostarchive is a copy of {video}",),
        trouble="",
        others=(text,),
        # The address of the page is not in the link; that it is of YouTube may be.
        is_nested="/youtube/" not in text,
    )


def _of_target(link: TextLink, registry: Registry) -> LinkPlace | None:
    """Return the place of a link to a resolver, a mail filter or a cache; else None."""
    text = link.identifier
    if inner := pwid_in(text):
        place = read_place(link._replace(identifier=inner), registry)
        note = f"The link leads to the PWID {inner}"
        return place._replace(notes=(note, *place.notes)) if place.kind == "reference" else None
    page = wrapped_page(text)
    if page is None:
        return None
    return LinkPlace(
        link,
        "reference",
        page,
        link.span.end,
        page=page,
        notes=(f"The link {text} leads to {page}, which is searched for",),
        others=(text,),
        is_nested=not is_redirect(text),
        is_redirect=is_redirect(text),
    )


def inner_copy(page: str | None, registry: Registry) -> str | None:
    """Return *page* if it is an archive link with the URL of its page; else None."""
    if page is None or not page.startswith(("http://", "https://")):
        return None
    try:
        reading = parse(page, registry)
    except Malformed:
        return None
    is_copy = reading.kind.is_archive_link and reading.identifier.item is not None
    return page if is_copy else None


def page_to_capture(link: str, registry: Registry) -> str | None:
    """Return the page that *link* asks an archive to capture; None if it is another link."""
    if not link.startswith(("http://", "https://")):
        return None
    read = read_link(link, registry, Diagnosis())
    if read.kind != "not-a-memento" or not read.uri:
        return None
    return read.uri if "://" in read.uri else f"http://{read.uri}"


def is_other_page(link: str, reading: ParsedIdentifier, registry: Registry) -> bool:
    """Whether *link*, which can be read, stands for the page whose address is in it."""
    if reading.kind.is_archive_link:
        return inner_copy(reading.identifier.item, registry) is not None
    return (
        pwid_in(link) is not None
        or wrapped_page(link) is not None
        or page_to_capture(link, registry) is not None
        or (is_plain_url(reading) and _leads_elsewhere(link, registry))
    )


def is_plain_url(reading: ParsedIdentifier) -> bool:
    """Whether it is a URL, which states no time and no archive."""
    return not reading.kind.is_archive_link and reading.identifier.time is None


def _leads_elsewhere(link: str, registry: Registry) -> bool:
    return (
        unknown_copy(link) is not None
        or page_in(link, registry) is not None
        or glued_at(link, registry) is not None
    )


_INNER: Final = compiled(
    r"^https?://(?P<host>[^/?#\s]{1,255})/[^\s]{0,400}?"
    r"(?:/(?P<rest>https?://[^\s/]{1,255}\S*+)"
    r"|[?&][a-z]{1,12}=(?P<value>https?(?::|%3A)(?:/|%2F){2}[^\s&#]{1,8000}))",
    re.IGNORECASE,
)
_GLUED: Final = compiled(r"^https?://(?P<host>[^/?#\s@]{1,255})/(?=https?://)", re.IGNORECASE)


def page_in(link: str, registry: Registry) -> str | None:
    """Return the page in a link to an archive that is not of a known form; None if none."""
    match = _INNER.match(link)
    if match is None or registry.by_host(bare_host(match["host"])) is None:
        return None
    return match["rest"] or unquote(match["value"])


def glued_at(link: str, registry: Registry) -> int | None:
    """Return where a second link begins right after a host, which is no archive; else None."""
    match = _GLUED.match(link)
    if match is None or wrapped_page(link) is not None:
        return None
    is_archive = registry.by_host(bare_host(match["host"])) is not None
    return None if is_archive else match.end()


_INNER_PWID: Final = compiled(
    r"^https?://[^/?#]{1,255}[^\s]{0,400}?[=/?](urn(?::|%3A)pwid(?::|%3A)\S{1,8000})$",
    re.IGNORECASE,
)


def pwid_in(link: str) -> str | None:
    """Return the PWID that a link to a resolver contains; None if there is none."""
    match = _INNER_PWID.match(link)
    if match is None:
        return None
    return unquote(match[1]) if "%3a" in match[1][:10].lower() else match[1]


_WRAPPERS: Final = compiled(
    r"^https?://(?:"
    r"(?:[\w-]{1,40}\.)?safelinks\.protection\.outlook\.com/[^?#]{0,80}\?(?:[^#]{0,2000}&)?url="
    r"|(?:www\.|news\.)?google\.[a-z.]{2,6}/url\?(?:[^#]{0,2000}&)?(?:q|url)="
    r"|(?:lm?\.(?:facebook|instagram|messenger|threads)\.com/(?:l\.php)?|(?:www\.|m\.)?facebook\.com/l\.php)\?(?:[^#]{0,2000}&)?u="
    r"|(?P<proxy>(?:[\w-]{1,40}\.){0,4}[\w-]{0,20}proxy[\w-]{0,20}(?:\.[\w-]{1,40}){1,4}(?::[0-9]{2,5})?/login\?(?:[^#]{0,400}&)?q?url=)"
    r"|(?:www\.)?(?:youtube\.com/redirect|duckduckgo\.com/l/|steamcommunity\.com/linkfilter/"
    r"|slack-redir\.net/link|linkedin\.com/redir/redirect|vk\.com/away\.php|out\.reddit\.com/[\w]{1,20}"
    r"|t\.umblr\.com/redirect|deref-mail\.com/mail/client/\w{1,40}/dereferrer/|anon\.to/|getpocket\.com/redirect"
    r"|bing\.com/ck/a|urldefense\.proofpoint\.com/v1/url)"
    r"\?(?:[^#]{0,2000}&)?(?:q|url|u|uddg|to|z|redirectUrl)="
    r"|(?P<reader>(?:www\.)?(?:12ft\.io|r\.jina\.ai|outline\.com|txtify\.it|freedium\.cfd|removepaywalls?\.com)/))"
    r"(?P<page>https?(?:%3A|:)(?:%2F|/){2}[^\s&#]{1,8000})",
    re.IGNORECASE,
)
"""Links of mail filters, search engines and networks that lead to another page."""
_TRANSLATED: Final = compiled(
    r"^https?://(?:translate\.google(?:usercontent)?\.[a-z.]{2,6}|(?:www\.)?(?:microsofttranslator|translatetheweb)\.com"
    r"|(?:[\w-]{1,20}\.)?bing\.com/translat|babel(?:fish)?\.(?:altavista|yahoo)\.com|translate\.yandex\.[a-z]{2,3}"
    r"|(?:www\.)?freetranslation\.com)[^?#]{0,80}\?(?:[^#]{0,2000}&)?(?:u|a|url|urltext|trurl)="
    r"(?P<page>https?(?:%3A|:)(?:%2F|/){2}[^\s&#]{1,8000}|[\w-]{1,63}\.[\w.-]{2,200}(?:(?:/|%2F)[^\s&#]{0,8000})?(?=[&#]|$))",
    re.IGNORECASE,
)
"""A page in a translation service: the page or its translation may be meant."""
_TRANSLATED_HOST: Final = compiled(
    r"^(?P<scheme>https?://)(?P<host>[a-z0-9-]{3,200})\.translate\.goog(?P<path>/[^\s#?]{0,8000})?"
    r"(?P<query>\?[^\s#]{0,8000})?",
    re.IGNORECASE,
)
_OF_TRANSLATION: Final = compiled(r"&?_x_tr_\w{1,12}=[^&]{0,400}")
_CACHE: Final = compiled(
    r"^https?://[^/?#]{1,255}/search\?(?:[^#]{0,400}&)?q=cache(?::|%3A)"
    r"(?:[\w-]{6,24}(?::|%3A))?(?P<page>(?:https?://)?[^\s+&#:]{1,255}[^\s+&#]{0,8000})",
    re.IGNORECASE,
)
"""A page in the cache of Google."""
_AMP: Final = compiled(
    r"^https?://(?:(?:www\.)?(?:google\.[a-z.]{2,6}|bing\.com)/amp|(?:[\w-]{1,200}\.)?cdn\.ampproject\.org/[acv])"
    r"/(?P<secure>s/)?(?P<page>(?:[\w-]{1,63}\.){1,6}[a-z][\w-]{1,62}(?:[:/?]|%3f|$)[^\s#]{0,8000})",
    re.IGNORECASE,
)
"""A page for phones in the cache of Google or Bing."""
_ENCODED_QUERY: Final = compiled("%3f", re.IGNORECASE)
_OF_VIEWER: Final = compiled(r"[?&](?:amp_js_v|amp_gsa|usqp)=[^&]{0,400}")
_AROUND_PICTURE: Final = compiled(
    r"^https?://(?:www\.)?google\.[a-z.]{2,6}/imgres\?(?:[^#]{0,2000}&)?imgrefurl="
    r"(?P<page>https?(?:%3A|:)(?:%2F|/){2}[^\s&#]{1,8000})",
    re.IGNORECASE,
)
"""The page around a picture that Google found."""
_IN_HOST: Final = compiled(
    r"^(?P<scheme>https?://)(?P<host>[a-z0-9](?:[a-z0-9.-]{1,200}?)(?:-|\.)[a-z]{2,18})"
    r"\.[\w-]{0,20}(?:ezproxy|libproxy)[\w-]{0,20}(?:\.[\w-]{1,40}){1,4}"
    r"(?::[0-9]{2,5})?(?P<path>/[^\s]{0,8000})?$",
    re.IGNORECASE,
)
"""A page whose host is a part of that of the proxy of a library."""


_PROOFPOINT: Final = compiled(
    r"^https?://urldefense\.(?:proofpoint\.)?com/v2/url\?(?:[^#]{0,2000}&)?u=(?P<coded>https?-3A__[^&#\s]{1,8000})"
    r"|^https?://urldefense\.(?:proofpoint\.)?com/v3/__(?P<plain>https?:/{1,2}[^\s]{1,8000}?)__;[^!\s]{0,2000}!!",
    re.IGNORECASE,
)


def _filtered_page(link: str) -> str | None:
    """Return the page in a link of Proofpoint's mail filter; None if it is another link."""
    match = _PROOFPOINT.match(link)
    if match is None:
        return None
    if match["coded"]:
        return unquote(match["coded"].replace("-", "%").replace("_", "/"))
    # An asterisk stands for a character that is elsewhere in the link.
    return None if "*" in match["plain"] else match["plain"]


def wrapped_page(link: str) -> str | None:
    """Return the page to which a link of a mail filter or a search engine leads; else None."""
    if (
        (page := _amp_page(link))
        or (page := _page_in_host(link))
        or (page := _filtered_page(link))
    ):
        return page
    forms = (_WRAPPERS, _TRANSLATED, _CACHE, _AROUND_PICTURE)
    match = next(filter(None, (form.match(link) for form in forms)), None)
    if match is None:
        return None
    page = unquote(match["page"])
    return page if page.lower().startswith("http") else f"http://{page}"


def _amp_page(link: str) -> str | None:
    """Return the page in a link to its version for phones in a cache; None if none."""
    match = _AMP.match(link)
    if match is None:
        return None
    # In the path of the cache, the query is percent-encoded.
    path, sign, query = match["page"].partition("?")
    encoded = _ENCODED_QUERY.search(path)
    if encoded:
        path, sign, query = path[: encoded.start()], "?", unquote(path[encoded.end() :])
    rest = _OF_VIEWER.sub("", f"{sign}{query}")
    rest = rest if rest.startswith("?") else rest.replace("&", "?", 1)
    return f"{'https' if match['secure'] else 'http'}://{path}{rest}"


def _page_in_host(link: str) -> str | None:
    """Return the page whose host is a part of another one; None if there is none."""
    if translated := _TRANSLATED_HOST.match(link):
        query = _OF_TRANSLATION.sub("", translated["query"] or "").replace("?&", "?", 1)
        page = f"{_dotted(translated['host'])}{translated['path'] or '/'}"
        return f"{translated['scheme']}{page}{query.rstrip('?')}"
    match = _IN_HOST.match(link)
    if match is None:
        return None
    host = match["host"] if "." in match["host"] else _dotted(match["host"])
    return f"{match['scheme']}{host}{match['path'] or ''}"


def _dotted(host: str) -> str:
    """Return ``www-museum-example`` with dots; a hyphen of the host itself is written twice."""
    return host.replace("--", "\0").replace("-", ".").replace("\0", "-")


def is_redirect(link: str) -> bool:
    """Whether *link* is one of a mail filter, a search engine or a network to another page."""
    match = _WRAPPERS.match(link)
    # A proxy serves the page itself: it or the page may be meant.
    is_wrapper = match is not None and not (match["reader"] or match["proxy"])
    return is_wrapper or any(form.match(link) for form in (_AMP, _PROOFPOINT))


class UnknownCopy(NamedTuple):
    """A link like those into archives, at a host that is not known."""

    page: str
    time: Moment


def unknown_copy(link: str) -> UnknownCopy | None:
    """Return the page and the time in a link into an archive that is not known."""
    match = _COPY.search(link, 0, _LONGEST_PREFIX)
    if match is None or not link.startswith(("http://", "https://")):
        return None
    if "?" in link[: match.start()] or "://" in link[len("https://") : match.start()]:
        return None
    try:
        return UnknownCopy(link[match.end() :], Moment(match[1]))
    except Malformed:
        return None


def _of_other_form(link: TextLink, registry: Registry) -> LinkPlace | None:
    """Return the place of a link into an archive that is not of a known form; else None."""
    text, end = link.identifier, link.span.end
    if copy := unknown_copy(text):
        return _of_unknown_archive(link, copy)
    page = page_in(text, registry)
    if page is None:
        return None
    notes = (f"The link into an archive, {text}, cannot be read, but has the URL {page} in it",)
    place = LinkPlace(link, "reference", page, end, page=page, notes=notes, others=(text,))
    return place._replace(is_nested=True)


def _of_unknown_archive(link: TextLink, copy: UnknownCopy) -> LinkPlace:
    note = f"The link {link.identifier} is like those into archives, but is of no known one"
    return LinkPlace(
        link,
        "reference",
        copy.page,
        link.span.end,
        page=copy.page,
        notes=(note,),
        archived=copy.time,
        names_copy=True,
    )


def _unreadable(link: TextLink, registry: Registry, complaint: Malformed) -> LinkPlace:
    end = link.span.end
    if page := wrapped_page(link.identifier):
        note = f"The link {link.identifier} leads to {page}, which is searched for"
        return LinkPlace(link, "reference", page, end, page=page, notes=(note,), is_nested=True)
    if complaint.code == "timemap-url":
        page = (read_link(link.identifier, registry, Diagnosis()).uri or "").rstrip("*")
        if page and "*" not in page:
            notes = [_CAPTURES]
            if link.identifier.endswith("*"):
                notes.append(f"It lists all pages whose URL begins with {page}")
            why = complaint.why
            place = LinkPlace(link, "captures", page, end, page=page, trouble=why)
            return place._replace(notes=tuple(notes))
    if stamped := _STAMPED.search(link.identifier, 0, _LONGEST_PREFIX):
        page = link.identifier[stamped.end() :]
        note = f"The time {stamped[1]} in the archive link cannot be used: {complaint.why}"
        return LinkPlace(
            link, "reference", page, end, page=page, notes=(note,), names_copy=True
        )
    if named := mistyped_pwid(link.identifier):
        return _of_mistyped_pwid(link, named, complaint)
    return LinkPlace(link, "faulty", link.identifier, end, trouble=complaint.why)


def _of_mistyped_pwid(link: TextLink, named: MistypedPwid, complaint: Malformed) -> LinkPlace:
    complaints = f"The PWID {link.identifier} cannot be read as it is: {complaint}"
    corrected = named.corrected and f"Perhaps {named.corrected} is meant"
    notes = tuple(filter(None, (complaints, corrected)))
    end, page = link.span.end, named.page
    place = LinkPlace(link, "reference", page, end, page=page, notes=notes)
    return place._replace(archived=named.time, names_copy=True, is_nested=True)


def merged_places(text: str, places: Sequence[LinkPlace]) -> Iterator[LinkPlace]:
    """Yield *places*, an archive link and the page beside it as one."""
    last: LinkPlace | None = None
    for place in places:
        if last is None:
            last = place
            continue
        joined = None if _are_items(text, last, place) else _joined(last, place, text)
        if joined is None:
            yield last
            last = place
        else:
            last = joined
    if last is not None:
        yield last


def _are_items(text: str, one: LinkPlace, other: LinkPlace) -> bool:
    """Whether two neighbours are two items of a list, each on its own line."""
    first = TextSpan(one.start, one.end)
    plain = next((each for each in (one, other) if each.own is None), None)
    dated = None if plain is None else other.link.span if plain is other else first
    # A duri states a page and a time, and no copy of the page above it.
    is_copy = not other.identifier.lower().startswith(("duri:", "urn:duri:"))
    return are_items(text, first, other.link.span, dated=dated, is_copy=is_copy)


def _joined(one: LinkPlace, other: LinkPlace, text: str) -> LinkPlace | None:
    """Return two neighbours as one reference; None if they are two."""
    gap = text[one.end : other.start]
    joined = _of_citation(one, other, gap)
    if joined is None or "\n" not in gap:
        return joined
    return joined._replace(notes=(*joined.notes, _AS_ONE.format(one.shown, other.shown)))


def _of_citation(one: LinkPlace, other: LinkPlace, gap: str) -> LinkPlace | None:
    if is_divided(gap) or len(gap) > _SAME_CITATION:
        return None
    if one.kind == other.kind == "reference" and _is_same(one, other):
        return _of_same_page(one, other, gap)
    is_broken = one.kind == "faulty" and not one.identifier.startswith("http")
    is_near = len(gap) <= _ADJACENT or (len(gap) <= _CONTINUED and "\n" not in gap)
    if is_broken and other.kind == "reference" and is_near:
        return _after_faulty(one, other)
    opaque, plain = (one, other) if one.kind == "opaque" else (other, one)
    if opaque.kind == "opaque" and plain.kind == "reference" and plain.own is None:
        return _with_opaque(one, other, gap)
    return _with_doi(one, other, gap)


def _is_same(one: LinkPlace, other: LinkPlace) -> bool:
    """Whether both are of one page; a copy may have another scheme, or a slash at the end."""
    if one.page is None or other.page is None:
        return False
    if one.page == other.page or (one.own is None) == (other.own is None):
        return one.page == other.page
    first, second = (_core(page) for page in (one.page, other.page))
    return first == second


def other_page(places: Sequence[LinkPlace]) -> str | None:
    """Return the page of a citation if its archive link is of another one; else None."""
    copy = next((place for place in places if place.own is not None and place.page), None)
    if copy is None or copy.page is None:
        return None
    pages = [place.page for place in places if place.own is None and not _is_doi(place)]
    others = (page for page in pages if page and _core(page) != _core(copy.page))
    return next(others, None)


def _core(page: str) -> str:
    return page.partition("://")[2].removeprefix("www.").rstrip("/")


def _after_faulty(one: LinkPlace, other: LinkPlace) -> LinkPlace:
    """Return a link right after an identifier that cannot be read, which may be its date."""
    note = f"{one.identifier} cannot be read: {one.trouble}"
    return other._replace(notes=(note, *other.notes), names_copy=True, is_nested=True)


def _of_same_page(one: LinkPlace, other: LinkPlace, gap: str) -> LinkPlace | None:
    """Return a link and the archive link to the same page as one reference."""
    if (one.own is None) != (other.own is None):
        first, second = (other, one) if other.own else (one, other)
        return _as_one(one, other, first, second)
    if one.is_nested != other.is_nested:
        # The page that a copy without its address implies stands beside it.
        first, second = (other, one) if other.archived else (one, other)
        is_copy = (one if one.is_nested else other).archived is not None
        return _as_one(one, other, first, second)._replace(is_nested=not is_copy)
    if one.own != other.own or "\n" in gap:
        return None
    # The address as the words of a link to it, or once more in one citation.
    # Tags between them are blanks.
    words = _BLANKS.sub(" ", gap)
    is_beside = len(words) <= _ADJACENT or _ONCE_MORE.fullmatch(words) is not None
    is_same = is_beside or (_is_doi(one) and next(find_dates(gap), None) is None)
    return _as_one(one, other, one, other) if is_same else None


def _with_opaque(one: LinkPlace, other: LinkPlace, gap: str) -> LinkPlace | None:
    """Return a link and an id of an archive beside it as one reference."""
    opaque, plain = (one, other) if one.kind == "opaque" else (other, one)
    is_marked = _ARCHIVE_WORD.search(gap) is not None
    is_near = len(gap) <= _CONTINUED and ("\n" not in gap or gap.lstrip().startswith("["))
    if not (is_marked or is_near):
        return None
    note = f"The archive link {opaque.identifier} does not contain the URL of its page"
    return _as_one(one, other, plain, opaque)._replace(
        notes=(note,), archived=plain.archived or opaque.archived, names_copy=True
    )


def _with_doi(one: LinkPlace, other: LinkPlace, gap: str) -> LinkPlace | None:
    """Return a link and the DOI of the same citation as one reference."""
    if "\n" in gap or one.kind != "reference" or other.kind != "reference":
        return None
    dois = [place for place in (one, other) if _is_doi(place)]
    if len(dois) == 2 and _are_of_one_work(one, other, gap):
        first = other if _is_short(one) else one
        return _as_one(one, other, first, one if first is other else other)
    if len(dois) != 1:
        return None
    doi = dois[0]
    return _as_one(one, other, other if doi is one else one, doi)


def _are_of_one_work(one: LinkPlace, other: LinkPlace, gap: str) -> bool:
    """Whether two numbers are of one work: arXiv's or a DOI beside the address of either.

    One of them is written as a number and the other as an address, or they are of two kinds.
    """
    if len(gap) > _CONTINUED or next(find_dates(gap), None) is not None:
        return False
    if _number(one) == _number(other):
        return True
    return _kind_of(one) != _kind_of(other)


def _is_short(place: LinkPlace) -> bool:
    """Whether a number is written without the address at which it is resolved."""
    return "://" not in place.link.written


def _number(place: LinkPlace) -> str:
    """Return a number in small letters, without its version."""
    return _VERSION.sub("", place.identifier.lower())


def _kind_of(place: LinkPlace) -> str:
    return place.identifier.split("/")[2]


def _is_doi(place: LinkPlace) -> bool:
    """Whether it is a DOI, or a number of arXiv or of the Handle System."""
    return place.identifier.startswith(_NUMBERS)


def _as_one(one: LinkPlace, other: LinkPlace, first: LinkPlace, second: LinkPlace) -> LinkPlace:
    others = dict.fromkeys((*first.others, second.identifier, *second.others))
    others.pop(first.identifier, None)
    return first._replace(
        others=tuple(others),
        end=max(one.end, other.end),
        last=other.start,
        first=one.first or one.link.span.end,
        names_copy=one.names_copy or other.names_copy,
        archived=first.archived or second.archived,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
    )

"""Templates that cite, as the encyclopedias have them: what they cite, and where its copy is.

The names of parameters are those of the citation templates of the English, German, French,
Danish, Swedish, Norwegian, Dutch, Spanish, Italian and Portuguese Wikipedia.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from timegate.bulk.item import Item
from timegate.bulk.months import in_digits
from timegate.bulk.place import ReferencePlace, TextSpan
from timegate.bulk.unfolding import unreadable

_LINKS: Final = (
    *("archive-url", "archiveurl", "archiv-url", "archivurl", "arkivurl", "arkiv-url"),
    *("archiefurl", "archief-url", "urlarchivo", "url-archivo", "urlarchivio", "arquivourl"),
)
_LINK_DATES: Final = (
    *("archive-date", "archivedate", "archiv-datum", "archivdatum", "arkivdato", "arkiv-dato"),
    *("arkivdatum", "archiefdatum", "fechaarchivo", "fecha-archivo", "dataarchivio"),
    "arquivodata",
)
_DATES: Final = (
    *_LINK_DATES,
    *("access-date", "accessdate", "abruf", "zugriff", "consulté le", "besøgsdato"),
    *("besøksdato", "hämtdatum", "bezochtdatum", "fechaacceso", "fecha-acceso", "accesso"),
    *("acessodata", "date", "datum", "dato", "fecha", "year"),
)
_DEAD: Final = {
    *(("url-status", "dead"), ("url-status", "usurped"), ("dead-url", "yes")),
    *(("deadurl", "yes"), ("offline", "1"), ("offline", "ja")),
}
_WEBARCHIVE: Final = ("webarchive", "wayback")
_STAMPED: Final = {"webarchiv": "wayback", "lien archive": "horodatage archive"}
"""Templates that name a copy in the Wayback Machine by the digits of its time."""
_MISSING: Final = {
    "internetquelle": (" |archiv-url=", " |archiv-datum="),
    "kilde www": (" |arkivurl=", " |arkivdato="),
}


class Field(NamedTuple):
    """A parameter of a template: its value, and where that stands."""

    value: str
    span: TextSpan


class Template(NamedTuple):
    """A template as a page uses it."""

    name: str
    fields: Mapping[str, Field]

    def first(self, names: Sequence[str]) -> Field | None:
        """Return the first of the fields called so; None where there is none."""
        return next((self.fields[name] for name in names if name in self.fields), None)

    def value(self, *names: str) -> str:
        """Return the first value of the fields called so that is not empty."""
        values = (self.fields[name].value for name in names if name in self.fields)
        return next(filter(None, values), "")


Found = tuple[int, ReferencePlace]
"""Where in the page a reference stands, and its place."""


def cited_by(template: Template) -> Found | None:
    """Return what *template* cites and has an archive link for, or wants one."""
    if template.name in _WEBARCHIVE:
        return _webarchive(template)
    if template.name in _STAMPED:
        return _stamped(template, _STAMPED[template.name])
    link, date = template.first(_LINKS), template.first(_LINK_DATES)
    archive_link, url = link.value if link else "", template.value("url")
    if not archive_link and not (url and _is_dead(template)):
        return None
    references = tuple(filter(None, (archive_link, url)))
    dates = tuple(filter(None, (in_digits(template.value(name)) for name in _DATES)))
    item = Item(0, references[0], references, dates, unreadable(references[0]))
    if link is not None:
        return link.span.start, ReferencePlace(item, link.span, date.span if date else None)
    end = template.fields["url"].span.end
    return end, _missing(template.name, item, TextSpan(end, end), date)


def _is_dead(template: Template) -> bool:
    said = any(template.value(name).lower() == value for name, value in _DEAD)
    return said or bool(template.value("brisé le"))


def _missing(name: str, item: Item, place: TextSpan, date: Field | None) -> ReferencePlace:
    """Return the place for a link that is not there yet, in the words of the template."""
    link, new_date = _MISSING.get(name, (" |archive-url=", " |archive-date="))
    if date is not None:
        return ReferencePlace(item, place, date.span, link)
    return ReferencePlace(item, place, place, link, new_date)


def _webarchive(template: Template) -> Found | None:
    link, date = template.first(("url",)), template.first(("date",))
    if link is None or not link.value:
        return None
    dates = (in_digits(date.value),) if date and date.value else ()
    item = Item(0, link.value, (link.value,), dates, unreadable(link.value))
    return link.span.start, ReferencePlace(item, link.span, date.span if date else None)


def _stamped(template: Template, name: str) -> Found | None:
    url, stamp = template.first(("url",)), template.value(name)
    if url is None or not url.value or not stamp:
        return None
    link = f"https://web.archive.org/web/{stamp}/{url.value}"
    item = Item(0, link, (link, url.value), (), unreadable(link))
    return url.span.start, ReferencePlace(item, None)

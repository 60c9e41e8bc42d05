"""What the front page offers to try: a reference of each kind."""

from typing import Final, NamedTuple

from archives.registry import Registry
from timegate.web.site.inquiry import FormFields


class Example(NamedTuple):
    """One reference."""

    kind: str
    form: FormFields

    @property
    def text(self) -> str:
        """The reference as people read it."""
        return ", ".join(filter(None, self.form))


WEB: Final = (
    Example(
        "PWID", FormFields("urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk")
    ),
    Example("duri", FormFields("duri:2005:http://www.w3.org/")),
    Example("Archive link", FormFields("https://web.archive.org/web/2005/http://example.org/")),
    Example("URL and date", FormFields("http://example.org/", "June 2005")),
)
_MUSEUM: Final = "http://museum.example/"
DEMO: Final = (
    Example(
        "PWID", FormFields(f"urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:{_MUSEUM}")
    ),
    Example("duri", FormFields(f"duri:2016-01:{_MUSEUM}")),
    Example(
        "Archive link", FormFields(f"https://web.archive.org/web/20120601000000/{_MUSEUM}")
    ),
    Example("URL and date", FormFields(_MUSEUM, "November 2010")),
)


def examples(registry: Registry) -> tuple[Example, ...]:
    """Return references that the archives in use may know.

    No archive but one of the demo has a name in ``.example`` (RFC 2606).
    """
    harbour = registry.by_pwid("harbour.example")
    return DEMO if harbour is not None and harbour.use else WEB

"""What the front page offers to try: a reference of each kind."""

from typing import Final, NamedTuple

from archives.registry import Registry
from timegate.web.site.inquiry import Form


class Example(NamedTuple):
    """One reference."""

    kind: str
    form: Form

    @property
    def text(self) -> str:
        """The reference as people read it."""
        return ", ".join(filter(None, self.form))


WEB: Final = (
    Example("PWID", Form("urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk")),
    Example("duri", Form("duri:2005:http://www.w3.org/")),
    Example("Archive link", Form("https://web.archive.org/web/2005/http://example.org/")),
    Example("URL and date", Form("http://example.org/", "June 2005")),
)
_MUSEUM: Final = "http://museum.example/"
DEMO: Final = (
    Example("PWID", Form(f"urn:pwid:harbour.example:2009-06-15T18:30:12Z:page:{_MUSEUM}")),
    Example("duri", Form(f"duri:2016-01:{_MUSEUM}")),
    Example("Archive link", Form(f"https://web.archive.org/web/20120601000000/{_MUSEUM}")),
    Example("URL and date", Form(_MUSEUM, "November 2010")),
)


def examples(registry: Registry) -> tuple[Example, ...]:
    """Return references that the archives in use may know.

    No archive but one of the demo has a name in ``.example`` (RFC 2606).
    """
    harbour = registry.by_pwid("harbour.example")
    return DEMO if harbour is not None and harbour.use else WEB

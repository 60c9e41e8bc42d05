"""Writing: the PWID and the duri of a copy at hand.

Neither needs an authority to be minted (P-33, D-11). The time is the one that the archive
proves, at the granularity it proves; the URL is the one it says it captured.
"""

from dataclasses import dataclass

from archives.moment import Moment
from archives.reading import Diagnosis
from archives.uri import check_text, read_uri
from timegate.identifiers.duri import Duri
from timegate.identifiers.pwid.name import read_archive
from timegate.pwid import Pwid


@dataclass(frozen=True, slots=True)
class Citation:
    """How to cite one copy: where it is held, and what it is a copy of."""

    pwid: Pwid
    duri: Duri


def citation(original: str, captured: Moment, archive: str, *, raw: bool = False) -> Citation:
    """Return the names of the copy of *original* that *archive* took at *captured*.

    *archive* is its PWID archive-id. The bytes as they were harvested are a ``part``, what
    replay makes of them is a ``page``. Raises Malformed where a name cannot be written.
    """
    url = original.partition("#")[0]
    check_text(url)
    item = read_uri(url, Diagnosis())
    precision = "part" if raw else "page"
    return Citation(
        Pwid(read_archive(archive, 0), captured, precision, item), Duri(captured, item)
    )

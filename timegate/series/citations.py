"""Citations ``A@103=B#37,51``: whether the fragment of B stands in A at that position (3.5)."""

from typing import Final, Literal, NamedTuple

from archives.regex_compat import compiled
from timegate.series.fragments import (
    BadFragment,
    DocumentPart,
    OutOfRange,
    Unextracted,
    extracted,
    read_fragment,
)
from timegate.series.fragments.text import canonical_text, decoded

_NUMBER: Final = compiled(r"[0-9]{1,18}")


class CitationCheck(NamedTuple):
    """What is known about a citation."""

    origin: str
    """The position in the citing document."""
    result: Literal["quoted", "differs", "unknown"]
    why: str = ""


def compared(  # noqa: PLR0913, PLR0917 -- two documents
    origin: str,
    citing_type: str,
    citing: bytes,
    fragment: str | None,
    cited_type: str,
    cited: bytes,
) -> CitationCheck:
    """Compare the citing text at *origin* with the cited fragment, or the whole cited text."""
    if not _NUMBER.fullmatch(origin):
        return CitationCheck(origin, "unknown", "the position is not a number of characters")
    here = decoded(citing_type, citing)
    if isinstance(here, Unextracted):
        return CitationCheck(origin, "unknown", here.why)
    there = _quoted(fragment, cited_type, cited)
    if isinstance(there, Unextracted):
        return CitationCheck(origin, "unknown", f"of the cited document: {there.why}")
    text, start = canonical_text(here[0]), int(origin)
    if text.startswith(there, start) and start <= len(text):
        return CitationCheck(origin, "quoted")
    return CitationCheck(origin, "differs", "other characters stand at this position")


def _quoted(fragment: str | None, media_type: str, body: bytes) -> str | Unextracted:
    """Return the text of the fragment; of the whole document if there is none."""
    part: DocumentPart | Unextracted = DocumentPart(body, media_type, "")
    if fragment is not None:
        try:
            part = extracted(read_fragment(fragment, media_type), media_type, body)
        except (OutOfRange, BadFragment) as error:
            return Unextracted(str(error))
    if isinstance(part, Unextracted):
        return part
    text = decoded(part.media_type, part.body)
    return text if isinstance(text, Unextracted) else canonical_text(text[0])

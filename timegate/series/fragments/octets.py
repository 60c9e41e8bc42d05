"""``byte``: octets, half-open (3.4.6)."""

from timegate.series.formats import base_type
from timegate.series.fragments import DocumentPart, FragmentSpecifier, OutOfRange, Unextracted


def octets(
    fragment: FragmentSpecifier, media_type: str, body: bytes
) -> DocumentPart | Unextracted:
    """Return the octets from the first position up to the second."""
    start, end = fragment.range()
    size = f"{len(body)} octets"
    if end > len(body):
        raise OutOfRange(size)
    is_text = base_type(media_type).startswith("text/")
    return DocumentPart(
        body[start:end], media_type if is_text else "application/octet-stream", size
    )

"""Values of HTTP header fields that come from elsewhere."""

from typing import Final

LONGEST_VALUE: Final = 2000


def is_clean(value: str) -> bool:
    """Whether *value* can be sent in a header unchanged."""
    return len(value) <= LONGEST_VALUE and value.isascii() and value.isprintable()


def etag_of(digest: str | None) -> str | None:
    """Return the digest of a payload as an ETag; None if it is not known, or not clean."""
    text = (digest or "").replace(":", "-")
    return f'"{text}"' if text and is_clean(text) and '"' not in text else None

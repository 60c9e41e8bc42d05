"""What a page calls itself: the text of its first ``title``."""

from html import unescape

from timegate.cite.markup import page_text, small, tag_from


def title_in(octets: bytes, content_type: str) -> str | None:
    """Return the title of the page that begins with *octets*; None where it has none."""
    if "html" not in content_type.lower():
        return None
    found = _title(page_text(octets, content_type))
    return " ".join(unescape(found).split()) or None if found is not None else None


def _title(text: str) -> str | None:
    lower = small(text)
    at = 0
    while tag := tag_from(lower, at):
        if tag.name == "title":
            return _between(text, lower, tag.start)
        at = tag.onward
    return None


def _between(text: str, lower: str, at: int) -> str | None:
    start = lower.find(">", at)
    end = lower.find("</title", start)
    return text[start + 1 : end] if 0 <= start < end else None

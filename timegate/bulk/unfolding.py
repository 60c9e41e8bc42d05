"""What MediaWiki makes of a link or date in wikitext before anybody sees it."""

from typing import Final

from archives.possessive import compiled
from timegate.cite.markup import with_signs

# Signs that a template would take for its own have templates of their own.
_FOLDED: Final = compiled(r"\{\{\s{0,9}([=!])\s{0,9}\}\}|</?nowiki\s{0,9}/?>")
_SIGNS: Final = {"=": "=", "!": "|", None: ""}
# A note behind a link, such as {{dead link}}.
_NOTE: Final = compiled(r"\s++\{\{")


def unfolded(text: str) -> str:
    """Return *text* without comments and notes, with signs for what stands for them."""
    plain = _FOLDED.sub(lambda fold: _SIGNS[fold[1]], _without_comments(text))
    note = _NOTE.search(plain)
    return with_signs(plain[: note.start()] if note else plain).strip()


def unreadable(link: str) -> str:
    """Say why *link*, unfolded, is none that can be asked for; nothing where it is one."""
    if "{{" in link or "[[" in link:
        return "a template in the link, whose text nobody here knows"
    return ""


def _without_comments(text: str) -> str:
    kept = []
    at = 0
    while (start := text.find("<!--", at)) >= 0:
        kept.append(text[at:start])
        end = text.find("-->", start)
        at = end + len("-->") if end >= 0 else len(text)
    return "".join([*kept, text[at:]])

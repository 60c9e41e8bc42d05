"""References in a document as absolute URLs, read as browsers read them."""

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urljoin

from archives.diagnostics import Diagnosis, Malformed
from archives.regex_compat import compiled
from archives.uri import check_text, negotiable, read_uri
from timegate.markup.model import Address, EmbeddedUrl, Kind, Role, Steps

_SCHEME: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+:")
_WEB: Final = compiled(r"(https?+):[/\\]{2,}+", re.IGNORECASE)
_NO_HOST: Final = compiled(r"(?:https?+:)?+//(?=[/?#:]|\Z)", re.IGNORECASE)
_NO_SCHEME: Final = compiled(r"[/\\]{2,}+")
_REMOVED: Final = str.maketrans("", "", "\t\n\r")
_ENDS: Final = "".join(map(chr, range(0x21)))
"""C0 controls and the space, which browsers remove at both ends of a URL."""
_SAFE: Final = "!#$%&'()*+,/:;=?@[]~"
# Pictures, fonts and sound inside the document: nothing is requested, nothing runs.
_DATA: Final = compiled(
    r"data:(?:image|font|audio|video|application/(?:x-)?+font)[/\w.+-]*+[;,]", re.IGNORECASE
)
_NO_TRIPLET: Final = compiled(r"%(?![0-9A-Fa-f]{2})")
_STEPS: Final = 15
"""What one URL costs, beside a tag."""
_DATA_KINDS: Final = frozenset({"image", "font", "icon", "media"})


@dataclass(frozen=True, slots=True)
class References:
    """What references of one document are relative to, and what is made of them."""

    base: str
    codec: str
    """The encoding of the document, in which browsers write queries."""
    address: Address
    steps: Steps

    def based_on(self, reference: str) -> "References":
        """Return these with the base that a document states."""
        joined = self._absolute(reference)
        return replace(self, base=joined) if joined else self

    def written(self, reference: str, kind: Kind, role: Role, source: str) -> str | None:
        """Return what stands in the place of *reference*; None if nothing may."""
        text = reference.strip(_ENDS).translate(_REMOVED)
        if not text:
            return None
        if text.startswith("#"):
            return quote(text, safe=_SAFE)
        if text[:5].lower() == "data:":
            inside = role != "link" and kind in _DATA_KINDS and _DATA.match(text)
            return quote(text, safe=_SAFE) if inside else None
        absolute = self._absolute(text)
        if absolute is None:
            return None
        url, sharp, fragment = absolute.partition("#")
        address = self.address(EmbeddedUrl(url, kind, role, source))
        return None if address is None else address + sharp + fragment

    def _absolute(self, reference: str) -> str | None:
        self.steps.take(_STEPS)
        text = reference.strip(_ENDS).translate(_REMOVED)
        text = _slashes(text)
        scheme = _SCHEME.match(text)
        if (scheme and scheme[0].lower() not in {"http:", "https:"}) or _NO_HOST.match(text):
            return None
        try:
            joined = _encoded(urljoin(self.base, text), self.codec)
            check_text(joined)
            uri = read_uri(joined, Diagnosis())
        except (Malformed, ValueError):
            return None
        return uri if negotiable(uri) else None


def _slashes(text: str) -> str:
    """Write backslashes before the query, and too many slashes, as browsers do."""
    ends = [at for at in (text.find("?"), text.find("#")) if at >= 0]
    end = min(ends, default=len(text))
    path = text[:end]
    if web := _WEB.match(path):
        path = f"{web[1]}://{path[web.end() :]}"
    elif leading := _NO_SCHEME.match(path):
        path = "//" + path[leading.end() :]
    if "\\" in path:
        path = path.replace("\\", "/")
    return path + text[end:]


def _encoded(url: str, codec: str) -> str:
    """Percent-encode what is not allowed: the query in the document's encoding."""
    url = _NO_TRIPLET.sub("%25", url)
    head, sharp, fragment = url.partition("#")
    path, mark, query = head.partition("?")
    start = path.find("/", path.find("//") + 2)
    host, path = (path, "") if start < 0 else (path[:start], path[start:])
    return "".join(
        (
            host,
            quote(path, safe=_SAFE, errors="replace"),
            mark,
            quote(query, safe=_SAFE, encoding=codec, errors="xmlcharrefreplace"),
            sharp,
            quote(fragment, safe=_SAFE, errors="replace"),
        )
    )

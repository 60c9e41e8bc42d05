"""Which attributes have URLs, what these are for, and which attributes are left out."""

from html.entities import html5
from typing import Final, NamedTuple

from archives.regex_compat import compiled
from timegate.markup.model import Kind, Role

_REFERENCE: Final = compiled(
    r"&(?:#[xX]([0-9A-Fa-f]++);?+|#([0-9]++);?+|([A-Za-z][A-Za-z0-9]*+)(;|(?![=A-Za-z0-9])))"
)
_NAME: Final = compiled(r"[A-Za-z_][\w:.-]*+")
_MOST_CANDIDATES: Final = 100
_CANDIDATE: Final = compiled(r"[\t\n\f\r ,]*+([^\t\n\f\r ]++)")
_DESCRIPTOR: Final = compiled(r"(?:[^(),]|\([^)]*+\)?+|\))*+")


class UrlAttribute(NamedTuple):
    """What the URL in an attribute is for."""

    kind: Kind
    role: Role


_IMAGE: Final = UrlAttribute("image", "part")
_OTHER_IMAGE: Final = UrlAttribute("image", "variant")
_MEDIA: Final = UrlAttribute("media", "variant")
_LINK: Final = UrlAttribute("other", "link")
BACKGROUND: Final = "background"
"""An attribute of many elements before there was CSS."""

URL_ATTRIBUTES: Final = {
    ("img", "src"): _IMAGE,
    ("img", "lowsrc"): _OTHER_IMAGE,
    ("img", "dynsrc"): _MEDIA,
    ("image", "src"): _IMAGE,
    ("image", "href"): _IMAGE,
    ("image", "xlink:href"): _IMAGE,
    ("feimage", "href"): _IMAGE,
    ("feimage", "xlink:href"): _IMAGE,
    ("use", "href"): _IMAGE,
    ("use", "xlink:href"): _IMAGE,
    ("input", "src"): _IMAGE,
    ("video", "poster"): _IMAGE,
    ("video", "src"): UrlAttribute("media", "part"),
    ("audio", "src"): UrlAttribute("media", "part"),
    ("bgsound", "src"): _MEDIA,
    ("source", "src"): _MEDIA,
    ("track", "src"): _MEDIA,
    ("frame", "src"): UrlAttribute("frame", "part"),
    ("iframe", "src"): UrlAttribute("frame", "part"),
    ("layer", "src"): UrlAttribute("frame", "variant"),
    ("ilayer", "src"): UrlAttribute("frame", "variant"),
    ("object", "data"): UrlAttribute("object", "part"),
    ("embed", "src"): UrlAttribute("object", "part"),
    ("script", "src"): UrlAttribute("script", "part"),
    ("script", "href"): UrlAttribute("script", "part"),
    ("script", "xlink:href"): UrlAttribute("script", "part"),
    ("a", "href"): _LINK,
    ("a", "xlink:href"): _LINK,
    ("area", "href"): _LINK,
    ("form", "action"): _LINK,
}
SRCSETS: Final = frozenset({("img", "srcset"), ("source", "srcset"), ("link", "imagesrcset")})
_STYLES: Final = frozenset(
    {
        *("style", "fill", "stroke", "filter", "mask", "clip-path", "cursor"),
        *("marker", "marker-start", "marker-mid", "marker-end"),
    }
)
# They name URLs, run, reach out, check what was rewritten, or change the document's place.
_LEFT_OUT: Final = frozenset(
    {
        *("src", "href", "xlink:href", "data", "srcset", "imagesrcset", "poster", "lowsrc"),
        *("dynsrc", "action", "formaction", "ping", "integrity", "nonce", "crossorigin"),
        *("manifest", "codebase", "classid", "archive", "code", "longdesc", "cite", "profile"),
        *("background", "icon", "attributionsrc", "referrerpolicy", "download"),
        *("srcdoc", "sandbox", "allow", "csp", "xml:base", "http-equiv", "target", "is"),
        *("autofocus", "accesskey", "method", "enctype", "formtarget", "imagesizes"),
        *("requiredextensions", "definitionurl", "altimg", "pluginspage", "pluginurl"),
        *("blocking", "fetchpriority", "elementtiming", "from", "to", "values", "by"),
    }
)


def is_style(attribute: str) -> bool:
    """Whether the value of *attribute* is CSS."""
    return attribute in _STYLES


def is_kept(attribute: str) -> bool:
    """Whether *attribute* is written back as it is."""
    return (
        attribute not in _LEFT_OUT
        and not attribute.startswith("on")
        and _NAME.fullmatch(attribute) is not None
    )


def decoded_value(value: str) -> str:
    """Decode the character references of an attribute: ``&copy=1`` is not one."""
    if "&" not in value:
        return value
    return _REFERENCE.sub(
        lambda found: _character(found[0], found[1], found[2], found[3], found[4]), value
    )


def _character(
    written: str,
    hexadecimal: str | None,
    decimal: str | None,
    name: str | None,
    end: str | None,
) -> str:
    if name is not None:
        return html5.get(name + (end or ""), written)
    digits, base = (hexadecimal, 16) if hexadecimal is not None else (decimal or "0", 10)
    number = int(digits[:10], base)
    is_scalar = 0 < number < 0xD800 or 0xDFFF < number < 0x110000
    return chr(number) if is_scalar else "\ufffd"


def encoded_value(value: str) -> str:
    """Write *value* so that it can stand between double quotes."""
    return quoted_value(value.replace("&", "&amp;"))


def quoted_value(value: str) -> str:
    """Write a value whose character references are written already."""
    return value.replace('"', "&quot;").replace("<", "&lt;").replace("\x00", "")


def candidates(srcset: str) -> list[tuple[str, str]]:
    """Return the URLs of a srcset, each with its descriptor."""
    found: list[tuple[str, str]] = []
    at = 0
    while len(found) < _MOST_CANDIDATES and (url := _CANDIDATE.match(srcset, at)):
        at = url.end()
        if url[1].endswith(","):
            found.append((url[1].rstrip(","), ""))
            continue
        descriptor = _DESCRIPTOR.match(srcset, at)
        end = descriptor.end() if descriptor else at
        found.append((url[1], " ".join(srcset[at:end].split())))
        at = end
    return found

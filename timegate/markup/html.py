"""The walk over a page: each URL is passed to a function, and the page is written back.

What is written has no scripts, no handlers, no forms that lead anywhere, and no URL but those
that the function returned. Text is written so that it is text wherever it stands.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from archives.regex_compat import compiled
from timegate.markup.attributes import (
    BACKGROUND,
    SRCSETS,
    URL_ATTRIBUTES,
    candidates,
    decoded_value,
    encoded_value,
    is_kept,
    is_style,
    quoted_value,
)
from timegate.markup.css import walk_css
from timegate.markup.model import Kind, Role, TooComplex
from timegate.markup.tokens import Doctype, EndTag, StartTag, Text, html_tokens
from timegate.markup.urls import References

_REFRESH: Final = compiled(
    r"[^;,]{0,20}[;,][\t\n\f\r ]*+(?:[uU][rR][lL][\t\n\f\r ]*+=)?+([\s\S]++)"
)
_CSS_MARKUP: Final = compiled(r"<(?![ =])")
# What is shown as text by browsers is written as text.
_AS_TEXT: Final = frozenset({"xmp", "plaintext"})
# Never written; the content of the second ones is not displayed either.
_LEFT_OUT: Final = frozenset(
    {"base", "param", "layer", "ilayer", "portal", "fencedframe", "bgsound"}
)
_WITHOUT_CONTENT: Final = frozenset({"script", "iframe", "noembed", "noframes"})
_ANIMATIONS: Final = frozenset(
    {"animate", "set", "animatemotion", "animatetransform", "discard"}
)
_METAS: Final = frozenset({"viewport", "color-scheme"})
_EVERY_SCREEN: Final = frozenset({"", "all", "screen"})
_NESTED: Final = 2
"""Levels of documents inside attributes."""

_LINK_KINDS: Final[dict[str, tuple[Kind, Role]]] = {
    "stylesheet": ("stylesheet", "part"),
    "icon": ("icon", "part"),
    "apple-touch-icon": ("icon", "variant"),
    "apple-touch-icon-precomposed": ("icon", "variant"),
    "mask-icon": ("icon", "variant"),
    "fluid-icon": ("icon", "variant"),
    "image_src": ("image", "variant"),
    "manifest": ("other", "variant"),
    "preload": ("other", "variant"),
    "modulepreload": ("script", "variant"),
    "prefetch": ("other", "variant"),
    "import": ("other", "variant"),
}
_AS_KINDS: Final[dict[str, Kind]] = {
    "style": "stylesheet",
    "script": "script",
    "font": "font",
    "image": "image",
    "video": "media",
    "audio": "media",
    "document": "frame",
}


def walk_html(text: str, references: References, *, in_frame: bool = False) -> str:
    """Return the page *text* with its URLs replaced. Raises TooComplex.

    *in_frame*: it is shown in a frame of a page, so that its links open there.
    """
    walk = _Walk(references, in_frame=in_frame)
    return "".join(walk.pieces(text))


@dataclass(slots=True)
class _Walk:
    references: References
    in_frame: bool
    nested: int = 0
    based: bool = False
    target: str = ""
    """Where links open unless they say otherwise."""
    raw: str = ""
    """The element whose content comes next."""

    def pieces(self, text: str) -> Iterator[str]:
        for token in html_tokens(text, self.references.steps):
            match token:
                case StartTag():
                    self.raw = token.name
                    yield self._start(token)
                case EndTag():
                    yield self._end(token.name)
                case Text():
                    yield self._text(token)
                case Doctype():
                    yield token.text

    def _start(self, tag: StartTag) -> str:
        special = _SPECIAL.get(tag.name)
        if special is not None:
            return special(self, tag)
        if tag.name in _LEFT_OUT or tag.name in _ANIMATIONS:
            self._attributes(tag)
            return ""
        return self._written(tag, self._attributes(tag))

    def _written(self, tag: StartTag, attributes: dict[str, str]) -> str:
        name = "pre" if tag.name in _AS_TEXT else tag.name
        inside = "".join(f' {key}="{value}"' for key, value in attributes.items())
        return f"<{name}{inside}{'/' if tag.self_closing else ''}>"

    def _end(self, name: str) -> str:
        if name in _LEFT_OUT or name in _ANIMATIONS or name == "script":
            return ""
        return f"</{'pre' if name in _AS_TEXT else name}>"

    def _text(self, token: Text) -> str:
        text = token.text.replace("\x00", "")
        if not token.raw:
            return text.replace("<", "&lt;")
        if self.raw in _WITHOUT_CONTENT:
            return ""
        if self.raw == "style":
            return _CSS_MARKUP.sub("", walk_css(text, self.references))
        return text.replace("&", "&amp;").replace("<", "&lt;")

    def _attributes(self, tag: StartTag) -> dict[str, str]:
        """Return the attributes that are written, with the URLs in them replaced."""
        written: dict[str, str] = {}
        for name, value in tag.attributes.items():
            new = self._attribute(tag, name, value)
            if new is not None:
                written[name] = new
        return written

    def _attribute(self, tag: StartTag, name: str, value: str) -> str | None:
        meaning = URL_ATTRIBUTES.get((tag.name, name))
        if meaning is not None:
            return self._url(value, meaning.kind, meaning.role, f"{tag.name} {name}")
        if name == BACKGROUND:
            return self._url(value, "image", "part", f"{tag.name} {name}")
        if (tag.name, name) in SRCSETS:
            return self._srcset(value, f"{tag.name} {name}")
        if is_style(name):
            style = walk_css(decoded_value(value), self.references)
            return encoded_value(style)
        return quoted_value(value) if is_kept(name) else None

    def _url(self, value: str, kind: Kind, role: Role, source: str) -> str | None:
        written = self.references.written(decoded_value(value), kind, role, source)
        return None if written is None else encoded_value(written)

    def _srcset(self, value: str, source: str) -> str | None:
        written = []
        for url, descriptor in candidates(decoded_value(value)):
            new = self.references.written(url, "image", "variant", source)
            if new is not None:
                # A comma at the end of a URL would end the candidate.
                written.append(f"{new.replace(',', '%2C')} {descriptor}".rstrip())
        return encoded_value(", ".join(written)) or None

    def start_base(self, tag: StartTag) -> str:
        if "href" in tag.attributes and not self.based:
            self.based = True
            self.references = self.references.based_on(decoded_value(tag.attributes["href"]))
        self.target = self.target or decoded_value(tag.attributes.get("target", ""))
        return ""

    def start_link(self, tag: StartTag) -> str:
        relations = decoded_value(tag.attributes.get("rel", "")).lower().split()
        known = [relation for relation in relations if relation in _LINK_KINDS]
        if not known or "href" not in tag.attributes:
            self._attributes(tag)
            return ""
        kind, role = _LINK_KINDS[known[0]]
        if known[0] in {"preload", "prefetch"}:
            kind = _AS_KINDS.get(tag.attributes.get("as", "").lower(), "other")
        medium = " ".join(decoded_value(tag.attributes.get("media", "")).lower().split())
        if medium not in _EVERY_SCREEN or "alternate" in relations:
            role = "variant"
        source = f"link {' '.join(relations)}"
        href = self._url(tag.attributes["href"], kind, role, source)
        attributes = self._attributes(tag)
        if href is None or kind not in {"stylesheet", "icon"} or known[0] == "preload":
            return ""
        attributes.pop("imagesrcset", None)
        return self._written(tag, {**attributes, "href": href})

    def start_meta(self, tag: StartTag) -> str:
        content = decoded_value(tag.attributes.get("content", ""))
        if tag.attributes.get("http-equiv", "").strip().lower() == "refresh":
            found = _REFRESH.match(content)
            if found:
                url = found[1].strip().strip("\"'")
                self.references.written(url, "other", "link", "meta refresh")
            return ""
        if tag.attributes.get("name", "").strip().lower() in _METAS:
            return self._written(tag, self._attributes(tag))
        return ""

    def start_script(self, tag: StartTag) -> str:
        self._attributes(tag)
        return ""

    def start_form(self, tag: StartTag) -> str:
        attributes = self._attributes(tag)
        attributes.pop("action", None)
        return self._written(tag, attributes)

    def start_input(self, tag: StartTag) -> str:
        if tag.attributes.get("type", "").strip().lower() != "image":
            tag.attributes.pop("src", None)
        return self._written(tag, self._attributes(tag))

    def start_anchor(self, tag: StartTag) -> str:
        name = next((n for n in ("href", "xlink:href") if n in tag.attributes), None)
        if name is None:
            return self._written(tag, self._attributes(tag))
        reference = tag.attributes.pop(name)
        tag.attributes.pop("href", None)
        tag.attributes.pop("xlink:href", None)
        target = decoded_value(tag.attributes.get("target", "")).strip().lower() or self.target
        stays = self.in_frame and target in {"", "_self"}
        kind: Kind = "frame" if stays else "other"
        href = self._url(reference, kind, "link", f"{tag.name} href")
        attributes = self._attributes(tag)
        if href is not None:
            attributes[name] = href
            if not stays and not href.startswith("#"):
                attributes["target"] = "_top"
        return self._written(tag, attributes)

    def start_object(self, tag: StartTag) -> str:
        """Resources of an object are relative to its codebase."""
        outer = self.references
        if "codebase" in tag.attributes:
            codebase = decoded_value(tag.attributes["codebase"])
            self.references = outer.based_on(
                codebase if tag.name == "object" else codebase + "/"
            )
        try:
            if tag.name == "applet":
                self._applet(tag)
            return self._written(tag, self._attributes(tag))
        finally:
            self.references = outer

    def _applet(self, tag: StartTag) -> None:
        code = decoded_value(tag.attributes.get("code", ""))
        if code:
            file = code.removesuffix(".class").replace(".", "/") + ".class"
            self.references.written(file, "object", "part", "applet code")
        for archive in decoded_value(tag.attributes.get("archive", "")).split(",")[:20]:
            self.references.written(archive, "object", "part", "applet archive")

    def start_param(self, tag: StartTag) -> str:
        name = decoded_value(tag.attributes.get("name", "")).lower()
        if name in {"movie", "src", "filename", "url"}:
            self._url(tag.attributes.get("value", ""), "object", "variant", f"param {name}")
        return ""

    def start_frame(self, tag: StartTag) -> str:
        attributes = self._attributes(tag)
        document = tag.attributes.get("srcdoc")
        if tag.name == "iframe" and document is not None:
            attributes.pop("src", None)
            attributes["srcdoc"] = encoded_value(self._nested(decoded_value(document)))
        return self._written(tag, attributes)

    def _nested(self, document: str) -> str:
        if self.nested >= _NESTED:
            raise TooComplex(f"documents inside documents, more than {_NESTED} levels")
        inner = _Walk(self.references, in_frame=True, nested=self.nested + 1)
        return "".join(inner.pieces(document))


_SPECIAL: Final[dict[str, Callable[[_Walk, StartTag], str]]] = {
    "base": _Walk.start_base,
    "link": _Walk.start_link,
    "meta": _Walk.start_meta,
    "script": _Walk.start_script,
    "form": _Walk.start_form,
    "input": _Walk.start_input,
    "a": _Walk.start_anchor,
    "area": _Walk.start_anchor,
    "object": _Walk.start_object,
    "embed": _Walk.start_object,
    "applet": _Walk.start_object,
    "param": _Walk.start_param,
    "iframe": _Walk.start_frame,
    "frame": _Walk.start_frame,
}

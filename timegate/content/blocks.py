"""Blocks: the paragraphs, headings and lists of a page, where they are, and their links.

The extractor of the main text leaves out much of pages that have little text, and keeps lists
of teasers. To tell an error page from an article, the length of running text matters.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from resiliparse.parse.html import DOMContext, DOMNode, HTMLTree

MOST_BLOCKS: Final = 500
_MOST_NODES: Final = 60_000
"""Nodes that are walked; 500 kB of usual HTML have 10,000."""
_MOST_TEXT: Final = 1_500
"""Characters of one block that are kept."""

Place = Literal["main", "navigation", "consent", "noscript", "aside"]
"""Where a block is. ``consent``: in the frame of a question for consent."""
_MOSTLY: Final = 50
"""Percent of a block inside links, from which on it is navigation."""
_SENTENCE: Final = 8


class TextBlock(NamedTuple):
    """One block of a page."""

    text: str
    links: int
    """Percent of its characters that are inside links or buttons."""
    place: Place = "main"
    level: int = 0
    """1 to 3 for a heading; 0 for other blocks."""

    @property
    def is_heading(self) -> bool:
        """Whether it is a heading."""
        return self.level > 0


_TEXT: Final = 3
_ELEMENT: Final = 1
_BLOCKS: Final = frozenset(
    (
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "br",
        "button",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "label",
        "legend",
        "li",
        "main",
        "nav",
        "ol",
        "option",
        "p",
        "pre",
        "section",
        "select",
        "summary",
        "table",
        "tbody",
        "td",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
    )
)
_HEADINGS: Final = {"h1": 1, "h2": 2, "h3": 3}
_SKIPPED: Final = frozenset(
    ("script", "style", "template", "svg", "head", "option", "textarea", "object")
)
_NAVIGATION: Final = frozenset({"nav", "footer", "aside"})
_NAVIGATION_ROLES: Final = frozenset({"navigation", "contentinfo", "complementary", "search"})
_NAVIGATION_WORDS: Final = frozenset(
    (
        "nav",
        "navbar",
        "navigation",
        "menu",
        "sidebar",
        "footer",
        "breadcrumb",
        "breadcrumbs",
        "topbar",
        "related",
        "widget",
        "teaser",
        "teasers",
        "share",
        "social",
        "copyright",
        "skip",
    )
)
_CONSENT_MARKS: Final = (
    *("cookie", "consent", "onetrust", "didomi", "usercentrics", "qc-cmp", "truste", "gdpr"),
    *("sp_message", "cmplz", "iubenda", "klaro", "axeptio", "tarteaucitron", "cybot", "cmp-"),
)


@dataclass
class _Walk:
    """The state of a walk through a page. Depths say where links, places and gaps end."""

    blocks: list[TextBlock] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    linked: int = 0
    """Characters of the pieces that are inside links."""
    hidden: int | None = None
    """The depth of an element that is not shown, while inside of it."""
    link: int | None = None
    places: list[tuple[int, Place]] = field(default_factory=lambda: [(-1, "main")])
    level: int = 0
    nodes: int = 0

    def start(self, context: "DOMContext") -> None:
        """Enter a node."""
        self.nodes += 1
        if self.nodes > _MOST_NODES or len(self.blocks) >= MOST_BLOCKS:
            return
        node, depth = context.node, context.depth
        self._leave(depth)
        if self.hidden is not None:
            return
        if node.type == _TEXT:
            text = node.text or ""
            self.pieces.append(text)
            self.linked += len(text.strip()) if self.link is not None else 0
        elif node.type == _ELEMENT:
            self._open(node, depth)

    def _leave(self, depth: int) -> None:
        """End what does not contain a node at *depth*."""
        if self.hidden is not None and depth <= self.hidden:
            self.hidden = None
        if self.link is not None and depth <= self.link:
            self.link = None
        while depth <= self.places[-1][0]:
            self.flush()
            self.places.pop()

    def _open(self, node: "DOMNode", depth: int) -> None:
        name = node.tag
        if name in _SKIPPED or _is_hidden(node.getattr("style"), node.getattr("hidden")):
            self.hidden = depth
            return
        if name in _BLOCKS or name == "noscript":
            self.flush()
            self.level = _HEADINGS.get(name, 0)
            place = _place(name, node.getattr("role"), node.id, node.class_name)
            if place:
                self.places.append((depth, place))
        if name in ("a", "button") and self.link is None:
            self.link = depth

    def end(self, context: "DOMContext") -> None:
        """Leave a node."""
        node = context.node
        if node.type == _ELEMENT and node.tag in _BLOCKS:
            self.flush()
            self.level = 0

    def flush(self) -> None:
        """End the block."""
        text = " ".join("".join(self.pieces).split())
        if text and len(self.blocks) < MOST_BLOCKS:
            share = min(100, round(100 * self.linked / len(text)))
            place = self.places[-1][1]
            if place == "aside":
                place = "main" if self.level == 1 or _is_prose(text, share) else "navigation"
            self.blocks.append(TextBlock(text[:_MOST_TEXT], share, place, self.level))
        self.pieces.clear()
        self.linked = 0


def _is_prose(text: str, share: int) -> bool:
    return share < _MOSTLY and text.count(" ") >= _SENTENCE


def _is_hidden(style: str | None, hidden: str | None) -> bool:
    if hidden is not None:
        return True
    return bool(style) and "display:none" in (style or "").replace(" ", "").lower()


def _place(name: str, role: str | None, own: str | None, classes: str | None) -> Place | None:
    """Return the place that an element makes; None if it is that of its parent.

    ``aside``: by its name it is navigation, but running text in it may be the page.
    """
    if name == "noscript":
        return "noscript"
    marks = f"{own or ''} {classes or ''}".lower()
    if name not in ("body", "html") and any(mark in marks for mark in _CONSENT_MARKS):
        return "consent"
    if name in _NAVIGATION or (role or "").strip().lower() in _NAVIGATION_ROLES:
        return "navigation"
    if name in ("div", "ul", "td", "section", "table", "ol"):
        pieces = {*marks.replace("-", " ").replace("_", " ").split()}
        if pieces & _NAVIGATION_WORDS:
            return "aside"
    return None


def blocks_of(tree: "HTMLTree") -> tuple[TextBlock, ...]:
    """Return the blocks of a page that are not hidden, in their order."""
    from resiliparse.parse.html import traverse_dom  # noqa: PLC0415 -- an extra

    body = tree.body
    if body is None:
        return ()
    walk = _Walk()
    traverse_dom(body, walk.start, walk.end, elements_only=False)
    walk.flush()
    return tuple(walk.blocks)

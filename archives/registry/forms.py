"""Templates of links into archives, as the files in `archives/known` write them.

    template = [kind ": "] host "/" segments ["?" parameters]

``{host}`` is any host of the archive; a host written out is that host and its subdomains. A
segment is text around at most one field; everything after ``{uri}`` belongs to the target.

    {time}         a stamp: 1 to 17 digits, a dashed date, ``*``; a modifier may follow
    {time:codec}   a time in another notation, see `archives.replay_links.fields`
    {mod}          the modifier after a stamp; {mod:raw} the word ``raw`` as modifier
    {coll}         the name of a collection; {coll:gov} the collection ``gov``
    {id}           the archive's own id of a capture; {id:####-####} letters or digits for ``#``
    {hash}         the digest of a capture in hexadecimal
    {any}          one segment of any text
    {uri}          the target; {uri:escaped} with ``?`` and ``#`` escaped, {uri:cache} Google's,
                   {uri:bare} without a scheme although nothing else identifies the form

The kind is written only where the fields do not imply it: a time and a target are a memento, an
id is an opaque id, a target alone is a TimeGate.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

LinkKind = Literal[
    "memento",
    "timegate",
    "latest",
    "timemap",
    "calendar",
    "opaque-id",
    "index-query",
    "not-a-memento",
    "unknown-host",
]

FIELDS: Final = frozenset({"host", "time", "mod", "coll", "id", "hash", "any", "uri"})
CODECS: Final = frozenset({"", "jst", "base62", "micros", "unix", "named", "iso", "loose"})
_TARGETS: Final = frozenset({"", "escaped", "cache", "bare"})


@dataclass(frozen=True, slots=True)
class Segment:
    """Text around one field, or text alone: ``{coll}-index`` is coll, then ``-index``."""

    before: str
    field: str = ""
    shape: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class LinkForm:
    """A parsed template."""

    kind: LinkKind
    host: str | None
    """None if the link may have any host of the archive."""
    segments: tuple[Segment, ...]
    """The segments of the path, without the target."""
    parameters: tuple[tuple[str, Segment], ...]
    target: str | None
    """Shape of the target at the end of the path; None if the path has no target."""

    @property
    def anchored(self) -> bool:
        """Whether the form is identified by more than free words and the target."""
        return self.target == "bare" or any(
            segment.field not in ("coll", "any") or segment.shape for segment in self.segments
        )


@lru_cache(maxsize=2048)
def compiled(template: str) -> LinkForm:
    """Parse *template*. Raises ValueError."""
    stated, text = _kind_and_rest(template)
    address, _, query = text.partition("?")
    host, slash, path = address.partition("/")
    if not slash:
        raise ValueError(f"the template {template!r} has no path")
    segments = [_segment(each) for each in path.split("/")]
    target = None
    if segments[-1].field == "uri":
        target = segments.pop().shape
    elif segments[-1] == Segment(""):
        segments.pop()
    parameters = tuple(_parameter(each) for each in query.split("&") if each)
    parts = [*segments, *(segment for _, segment in parameters)]
    if any(segment.field == "uri" for segment in segments):
        raise ValueError(f"in the template {template!r} something follows {{uri}}")
    fields = {segment.field for segment in parts} | ({"uri"} if target is not None else set())
    return LinkForm(
        kind=stated or _implied(fields),
        host=None if host == "{host}" else host.partition(":")[0].lower(),
        segments=tuple(segments),
        parameters=parameters,
        target=target,
    )


def _kind_and_rest(template: str) -> tuple[LinkKind | None, str]:
    word, colon, rest = template.partition(": ")
    if not colon:
        return None, template
    for kind in get_args(LinkKind):
        if word == kind:
            return kind, rest
    allowed = ", ".join(get_args(LinkKind))
    raise ValueError(f"{word!r} is not a kind of link; allowed: {allowed}")


def _segment(text: str) -> Segment:
    text = text.replace("}{mod}", "}")
    before, brace, rest = text.partition("{")
    if not brace:
        return Segment(text)
    inside, closed, after = rest.partition("}")
    name, _, shape = inside.partition(":")
    if not closed or "{" in after or name not in FIELDS:
        raise ValueError(f"{text!r} is not a field; allowed: {', '.join(sorted(FIELDS))}")
    shapes = {"time": CODECS, "uri": _TARGETS}.get(name)
    if shapes is not None and shape not in shapes:
        allowed = ", ".join(sorted(shapes - {""}))
        raise ValueError(f"{{{inside}}} has an unknown notation; allowed: {allowed}")
    return Segment(before, name, shape, after)


def _parameter(text: str) -> tuple[str, Segment]:
    key, _, value = text.partition("=")
    return key, _segment(value)


def _implied(fields: set[str]) -> LinkKind:
    if fields & {"id", "hash"} or ("time" in fields and "uri" not in fields):
        return "opaque-id"
    if "uri" not in fields:
        return "not-a-memento"
    return "memento" if "time" in fields else "timegate"

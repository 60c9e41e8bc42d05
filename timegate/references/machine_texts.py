"""Links in the output of programs: logs of wget and curl, HTTP headers and requests.

Such output names hosts and services besides the page, and a request its address in two lines.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from archives.regex_compat import compiled
from timegate.references import TextSpan
from timegate.references.links import TextLink

_LOG: Final = compiled(
    r"^(?:--[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}--  http|\* {1,3}(?:Trying|Connected|Host) )",
    re.MULTILINE,
)
_ABOUT_HOSTS: Final = compiled(
    r"^(?:\* {0,4})?(?:Resolving|Connecting to|Connected to|Trying|Reusing existing connection"
    r"|Host|Closing connection|Connection #[0-9]{1,6} to host|Server certificate)\b[^\n]*+",
    re.MULTILINE,
)
"""Lines of wget and curl that name hosts, and no pages."""
_CAPTURE_PAGE: Final = compiled(
    r"^webpage capture\s{1,4}Saved from\s{1,4}http", re.MULTILINE | re.IGNORECASE
)
_OF_HOST: Final = compiled(r"^All snapshots\s{1,4}from host\b[^\n]*+", re.MULTILINE)
"""On the pages of archive.today: the host of the page, and not a page."""
_COMMAND: Final = compiled(r"(?:^|\n)(?:[^\n]{0,60}[$#%>] )?(?:wget|curl)\b[^\n]{0,200}$")
_LONGEST_COMMAND: Final = 280
_DOTTED: Final = compiled(r"[^\s.|]*+[.|]\S*+")
_REQUEST: Final = compiled(
    r"^(?:> )?(?:GET|HEAD|POST) (?P<path>/[^\s]{0,4000}+) HTTP/[0-9.]{1,3}[ \t]{0,4}\r?\n"
    r"(?:[^\n]{1,4000}+\n){0,40}?(?:> )?Host:[ \t]{0,4}(?P<host>[\w.:-]{3,255}+)",
    re.MULTILINE | re.IGNORECASE,
)
_RELATION: Final = compiled(
    r">[ \t]{0,4};[^,<>\n]{0,200}?\brel=\"?([\w .:/-]{1,80})", re.IGNORECASE
)
_MEMENTO: Final = compiled(r"^(?:< )?memento-datetime:", re.MULTILINE | re.IGNORECASE)
_SERVICES: Final = frozenset(("timemap", "timegate", "self", "license", "type", "up"))


def without_hosts(text: str) -> str:
    """Return *text* with blanks in place of hosts in lines of a program about hosts."""
    if _CAPTURE_PAGE.search(text):
        return _OF_HOST.sub(lambda line: _DOTTED.sub(_blanks, line[0]), text)
    if _LOG.search(text) is None:
        return text
    return _ABOUT_HOSTS.sub(lambda line: _DOTTED.sub(_blanks, line[0]), text)


def _blanks(word: re.Match[str]) -> str:
    return " " * len(word[0])


_TARGET: Final = compiled(
    r"^[ \t]{0,3}(?:\.\. _`?(?P<rst>[^`:\n\[\]]{1,80})`?:|\[(?P<name>[^\]\n^\[]{1,80})\]:)"
    r"[ \t]{1,4}<?(?P<url>https?://[^\s<>]{1,8000}+)>?"
    r"[ \t]{0,4}(?:[\"'(][^\n0-9]{0,200}[\"')])?[ \t]{0,4}\r?$",
    re.MULTILINE,
)
"""The target of a link, which is named elsewhere, in reStructuredText and Markdown."""
_MOST_TARGETS: Final = 100
_MOST_USES: Final = 100


def named_targets(text: str) -> dict[int, tuple[TextSpan, TextSpan]]:
    """Return where each target is named, and the target, by where its address begins.

    A target that is named never, or more than once, is not among them.
    """
    found: dict[int, tuple[TextSpan, TextSpan]] = {}
    if ".. _" not in text and "]:" not in text:
        return found
    for target in islice(_TARGET.finditer(text), _MOST_TARGETS):
        uses = _uses(text, target)
        if len(uses) == 1:
            found[target.start("url")] = uses[0], TextSpan(*target.span("url"))
    return found


def _uses(text: str, target: re.Match[str]) -> list[TextSpan]:
    """Return where the name of *target* stands as a link."""
    if rst := target["rst"]:
        written = [f"`{rst}`_"] if " " in rst else [f"`{rst}`_", f"{rst}_"]
    else:
        written = [f"][{target['name']}]", f"[{target['name']}]"]
    for name in written:
        found = islice(_finds(text, name), _MOST_USES)
        outside = (at for at in found if not target.start() <= at < target.end())
        spans = (TextSpan(at, at + len(name)) for at in outside)
        if free := [span for span in spans if _is_whole(text, span)]:
            return free
    return []


def _finds(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + len(name))


def _is_whole(text: str, span: TextSpan) -> bool:
    """Whether a name ends no word before it, and is no other target or link."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    # "[the page][1]" is a name as a whole.
    before = "" if text.startswith("]", span.start) else before
    return not (
        before.isalnum() or before == "_" or after.isalnum() or after in ("_", ":", "(")
    )


def _where_named(text: str, links: Sequence[TextLink]) -> list[TextLink]:
    """Return *links* where they are named: a date beside a name is that of its target."""
    targets = named_targets(text)
    return [
        link._replace(span=targets[link.span.start][0])
        if link.span.start in targets and link.span.end == targets[link.span.start][1].end
        else link
        for link in links
    ]


def pages_of(text: str, links: Sequence[TextLink]) -> list[TextLink]:
    """Return those of *links* that are pages, and the pages that requests name.

    One whose target stands elsewhere is where it is named.
    """
    requested = _requested(text)
    hosts = {link.span.start for link in requested}
    named = [link for link in _where_named(text, links) if link.span.start not in hosts]
    return sorted([*_originals(text, _logged(text, named)), *requested])


def _logged(text: str, links: Sequence[TextLink]) -> list[TextLink]:
    """Return *links* without those of commands whose output names the same page again."""
    if _LOG.search(text) is None:
        return [*links]
    last = {link.identifier: link.span.start for link in links}
    return [
        link
        for link in links
        if last[link.identifier] == link.span.start
        or not (_is_of_command(text, link) or text.startswith(" [following]", link.span.end))
    ]


def _is_of_command(text: str, link: TextLink) -> bool:
    begin = max(0, link.span.start - _LONGEST_COMMAND)
    return _COMMAND.search(text[begin : link.span.start]) is not None


def _requested(text: str) -> list[TextLink]:
    """Return the addresses of requests; their scheme is not stated."""
    if "Host:" not in text and "host:" not in text:
        return []
    return [
        TextLink(
            TextSpan(*request.span("host")),
            request["host"],
            f"http://{request['host']}{request['path']}",
            incomplete=True,
        )
        for request in _REQUEST.finditer(text)
    ]


def _originals(text: str, links: Sequence[TextLink]) -> list[TextLink]:
    """Return *links* without TimeMaps and other services, if a header names the original."""
    relations = [_relations(text, link) for link in links]
    if not any("original" in each for each in relations):
        return [*links]
    is_of_copy = _MEMENTO.search(text) is not None
    return [
        link
        for link, each in zip(links, relations, strict=True)
        if not each or "original" in each or not (is_of_copy or each & _SERVICES)
    ]


def _relations(text: str, link: TextLink) -> frozenset[str]:
    relation = _RELATION.match(text, link.span.end)
    return frozenset(relation[1].lower().split()) if relation else frozenset()

"""Of which URL the copy is, beside which was asked for (the member uri).

Archives fold what they index: http and https, www, the last slash, the order of a query. Each
of these may be another page, so each is told. What has the same key in their indexes without
one of these rules, such as two dots for one, is called fuzzy. What no folding explains is
where an archived redirect led.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote

from archives.model import Memento
from archives.surt import surt
from timegate.resolution.model import Attempt, Query
from timegate.resolution.query import STRIPPED_FRAGMENT, STRIPPED_USER
from timegate.verdict.model import Member

_STRIPPED: Final = {STRIPPED_FRAGMENT: "fragment", STRIPPED_USER: "userinfo"}
_MILDEST_FIRST: Final = (
    *("fragment", "scheme", "www", "slash", "percent", "case", "query-order"),
    *("userinfo", "fuzzy"),
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_TRIPLET: Final = re.compile(r"%[0-9A-Fa-f]{2}")

Fold = Callable[[str], str]


_SAME: Final = Member("same")


class _Parts(NamedTuple):
    scheme: str
    user: str
    host: str
    port: str
    path: str
    query: str


def uri_member(query: Query, attempt: Attempt, memento: Memento) -> Member:
    """Return whether the copy is one of the URL that was asked for; if not, what differs."""
    asked, got = query.original, memento.original.partition("#")[0]
    if not got:
        return Member("unknown")
    if got == asked and not query.diagnostics:
        return _SAME
    rules = _rules(asked, got, attempt)
    if rules is None:
        return Member("redirected", {"got": got})
    rules = [*(rule for cut, rule in _STRIPPED.items() if cut in query.diagnostics), *rules]
    if rules:
        worst = max(rules, key=_MILDEST_FIRST.index)
        return Member("variant", {"rule": worst, "got": "" if got == asked else got})
    if got == asked:
        return Member("same")
    return Member("normalized", {"rule": _triviality(asked, got), "got": got})


def _rules(asked: str, got: str, attempt: Attempt) -> Sequence[str] | None:
    """Return by which rules the URLs differ; None where they are of different pages.

    A variant that we asked for ourselves explains what the rules alone do not: the literal
    reading of an item (P-21) looks like another page.
    """
    rules = _differences(_parts(asked), _parts(got))
    if rules is not None:
        return rules
    if attempt.variant is not None:
        beyond = _differences(_parts(attempt.original), _parts(got))
        if beyond is not None:
            return [attempt.variant, *beyond]
    return ["fuzzy"] if _filed_as_one(asked, got) else None


def _filed_as_one(asked: str, got: str) -> bool:
    """Whether indexes have one key for both: then it took no redirect to get there.

    The key holds no scheme, so that of what is no page of the web says nothing.
    """
    return got.lower().startswith(("http:", "https:")) and surt(asked) == surt(got)


def _differences(one: _Parts, other: _Parts) -> list[str] | None:
    if one.port != other.port:
        return None
    if one.scheme != other.scheme and {one.scheme, other.scheme} - {"http", "https", ""}:
        return None
    rules = ["userinfo"] if one.user != other.user else []
    rules += ["scheme"] if one.scheme != other.scheme else []
    if one.host != other.host:
        if one.host.removeprefix("www.") != other.host.removeprefix("www."):
            return None
        rules.append("www")
    in_path = list(_needed(one.path, other.path, _PATH_FOLDS))
    if None in in_path:
        return None
    in_query = (rule or "fuzzy" for rule in _needed(one.query, other.query, _QUERY_FOLDS))
    return [*rules, *filter(None, in_path), *in_query]


def _needed(one: str, other: str, folds: Sequence[tuple[str, Fold]]) -> Iterator[str | None]:
    """Yield the folds without which the texts differ; None where they differ even so."""
    if one == other:
        return
    if _folded(one, folds) != _folded(other, folds):
        yield None
        return
    needed = [
        name for name, fold in folds if _folded(one, folds, fold) != _folded(other, folds, fold)
    ]
    # Two folds may do the same for a text; then neither is needed, and the last is blamed.
    yield from needed or [folds[-1][0]]


def _folded(text: str, folds: Sequence[tuple[str, Fold]], without: Fold | None = None) -> str:
    for _, fold in folds:
        if fold is not without:
            text = fold(text)
    return text


def _in_order(query: str) -> str:
    return query[:1] + "&".join(sorted(query[1:].split("&")))


_PATH_FOLDS: Final[tuple[tuple[str, Fold], ...]] = (
    ("percent", unquote),
    ("slash", lambda path: path.rstrip("/")),
    ("case", str.lower),
)
_QUERY_FOLDS: Final[tuple[tuple[str, Fold], ...]] = (
    ("query-order", _in_order),
    ("percent", unquote),
    ("case", str.lower),
)


def _parts(url: str) -> _Parts:
    """Take *url* apart; what RFC 3986 calls equivalent comes out equal (6.2.2.1, 6.2.3)."""
    scheme, separator, rest = url.partition("://")
    if not separator or not scheme.isalpha():  # some archives leave the scheme out
        scheme, rest = "", url
    before, mark, query = rest.partition("?")
    authority, _, path = before.partition("/")
    user, _, host = authority.rpartition("@")
    name, port = _host_and_port(host.lower())
    usual = port in ("", _DEFAULT_PORTS.get(scheme.lower()))
    return _Parts(
        scheme.lower(), user, name, "" if usual else port, "/" + _hex(path), mark + _hex(query)
    )


def _host_and_port(host: str) -> tuple[str, str]:
    name, colon, port = host.rpartition(":")
    if not colon or "]" in port:
        return host, ""
    return name, port


def _hex(text: str) -> str:
    return _TRIPLET.sub(lambda triplet: triplet[0].upper(), text)


def _triviality(asked: str, got: str) -> str:
    """Return which of the differences that make none it is."""
    if asked.lower() == got.lower():
        return "case"
    ports = (f":{port}" for port in _DEFAULT_PORTS.values())
    return "port" if any((port in asked) != (port in got) for port in ports) else "slash"

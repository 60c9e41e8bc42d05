"""Other spellings under which an archive may hold the same page (S-7).

Most archives fold these themselves; some look up the exact string only.
"""

from collections.abc import Iterator

from archives.uri import host_of
from timegate.resolution import Query, Rule


def variants(query: Query) -> Iterator[tuple[Rule, str]]:
    """Yield the variants of the URL in *query*, the likeliest first."""
    if query.literal is not None:
        yield "percent", query.literal
    scheme, _, rest = query.original.partition("://")
    yield "scheme", f"{'https' if scheme == 'http' else 'http'}://{rest}"
    yield from _www(query.original, scheme, rest)
    yield from _slash(query.original, rest)


def _www(original: str, scheme: str, rest: str) -> Iterator[tuple[Rule, str]]:
    userinfo, at, after = (
        rest.rpartition("@") if "@" in rest.partition("/")[0] else ("", "", rest)
    )
    if after.startswith("www."):
        yield "www", f"{scheme}://{userinfo}{at}{after[4:]}"
    elif host_of(original).count(".") == 1:
        yield "www", f"{scheme}://{userinfo}{at}www.{after}"


def _slash(original: str, rest: str) -> Iterator[tuple[Rule, str]]:
    if "?" in rest:
        return
    if "/" not in rest:
        yield "slash", original + "/"
    elif original.endswith("/"):
        yield "slash", original[:-1]
    elif "." not in rest.rpartition("/")[2]:
        yield "slash", original + "/"

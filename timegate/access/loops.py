"""Loops between aggregators, found by ``CDN-Loop`` (RFC 8586).

Each server adds its own name to the field before it asks another aggregator. A request that
names this server has come back to it. The names are checked and bounded, because the field is
the only one of a client that is passed on.
"""

import re
from hashlib import blake2b
from typing import Final

FIELD: Final = "CDN-Loop"
MOST_NAMES: Final = 20
"""Servers that a request may have passed; more are a loop of a server that does not say so."""
LONGEST: Final = 1_000
_WORD: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}"
# RFC 8586 2: a host, perhaps with a port, or a pseudonym; then parameters.
_MEMBER: Final = re.compile(
    rf"([A-Za-z0-9!#$%&'*+.^_`|~:\[\]-]{{1,255}})"
    rf"(?:[ \t]{{0,9}};[ \t]{{0,9}}{_WORD}="
    rf"(?:{_WORD}|\"(?:[\t !#-\[\]-~]|\\[\t -~]){{0,64}}\")){{0,8}}"
    r"[ \t]*+(?:,[ \t,]*+|\Z)"
)


class BadLoopField(ValueError):
    """The field is not valid."""


class Loop(ValueError):
    """The request has passed this server before, or too many servers."""


def name_of(base_url: str) -> str:
    """Return the name of the server at *base_url*: a pseudonym that all its replicas share."""
    return f"timegate-{blake2b(base_url.rstrip('/').encode(), digest_size=8).hexdigest()}"


def checked(value: str, own: str) -> str:
    """Return the names in *value* to pass on. Raises BadLoopField or Loop."""
    if len(value) > LONGEST:
        raise BadLoopField(f"longer than {LONGEST} characters")
    names: list[str] = []
    at = len(value) - len(value.lstrip(" \t,"))
    while at < len(value):
        found = _MEMBER.match(value, at)
        if found is None:
            raise BadLoopField("a name is a host or a token, with parameters after semicolons")
        names.append(found[1])
        at = found.end()
    if own in names:
        raise Loop("this server asked another one, which asked this server again")
    if len(names) > MOST_NAMES:
        raise Loop(f"the request has passed more than {MOST_NAMES} servers")
    return ", ".join(names)


def with_own(passed: str, own: str) -> str:
    """Return the field for a request to another aggregator."""
    return f"{passed}, {own}" if passed else own

"""Hosts that are probably mistyped: ``wwww.``, ``wwwmuseum.org``, ``.cmo``, ``museum,org``.

A comma is replaced; other hosts are searched for as they are written. None of them is certain.
"""

import re
from typing import Final

from archives.regex_compat import compiled

_ODD: Final = compiled(
    r"^https?://(?:[^/?#@]{0,255}@)?(?:(?:wwww{1,4}|ww|w{2,4}(?:\.w{2,4}){1,2}|w\.w\.w)\."
    r"|www[a-z][a-z-]{2,60}\.[a-z]{2,18}(?=[:/?#]|$)"
    r"|(?:[\w-]{1,63}\.){1,6}(?:con|cmo|ocm|comm|coom|ccom|cpm|xom|vom|ogr|orgg|rog|prg|ofg|nte|nett|ent|eud|gvo)"
    r"(?=[:/?#]|$)|(?:[\w-]{1,63}\.){0,6}(?:-|[\w-]{1,62}-\.))",
    re.IGNORECASE,
)
"""Another number of "w", no dot after it, no such domain, or a hyphen at an end of a part."""
_COMMA: Final = compiled(
    r"^((?:https?://)?www[0-9]?),(?=[\w-])|^(https?://(?:www[0-9]?\.)?[\w-]{1,63}),"
    r"(?=[\w.-]{2,80}/)",
    re.IGNORECASE,
)
"""A comma in place of a dot in a host."""


def is_odd_host(link: str) -> bool:
    """Whether the host of *link* is probably another one than is meant."""
    return _ODD.match(link) is not None


def with_dots(link: str) -> str:
    """Return *link* with a dot in place of a comma in its host."""
    return _COMMA.sub(lambda host: f"{host[1] or host[2]}.", link)


def has_comma(link: str) -> bool:
    """Whether the host of *link* has a comma in place of a dot."""
    return _COMMA.match(link) is not None

"""Absolute URIs as archives key them: scheme and host in lower case, the rest unchanged.

No dot segment or default port is removed, no slash added, and no triplet decoded after the
host: the string is the key under which an archive holds the page (N-7). What browsers repair
silently (letters outside ASCII, braces) is repaired here too, with a diagnostic.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import unquote

from archives.diagnostics import Diagnosis, Malformed
from archives.regex_compat import compiled

MAX_OCTETS: Final = 8192
"""RFC 9110 4.1 asks servers to accept URIs of at least 8000 octets."""

# Nearly every URL on the web matches this; it needs neither folding nor repair.
_COMMON: Final = compiled(
    r"https?+://[a-z0-9.-]++(?::[0-9]{1,4})?+(?:[/?](?:[!$&-;=?-Z_a-z~]++|%[0-9A-Fa-f]{2})*+)?+"
)
_SCHEME: Final = compiled(r"([A-Za-z][A-Za-z0-9+.-]*+):")
# A dotted name, perhaps with a port: no scheme in archived URLs looks like that.
_HOST_FIRST: Final = compiled(r"[\w-]++(?:\.[\w-]++)++\.?+(?::[0-9]++)?+(?=[/?#]|\Z)")
_ONE_SLASH: Final = compiled(r"https?+:/(?=[^/])", re.IGNORECASE)
_AUTHORITY: Final = compiled(r"//([^/?#]*+)")
# Without user and backslash: with them, browsers and servers disagree about the host.
_SERVER: Final = compiled(
    r"(https?+)://(\[[0-9a-f:.]++\]|[a-z0-9._-]++)(?::([0-9]{0,5}))?+(?=[/?#]|\Z)",
    re.IGNORECASE | re.ASCII,  # without ASCII, the Kelvin sign is a k
)
WEB: Final = ("http://", "https://")
"""Prefixes of the addresses that a client may be redirected to."""
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PORT: Final = compiled(r"(?::[0-9]{0,5})?")
_FUTURE_ADDRESS: Final = compiled(r"v[0-9A-Fa-f]++\.[!$&-.0-;=A-Z_a-z~]++", re.IGNORECASE)
_TRIPLET: Final = compiled(r"%[0-9A-Fa-f]{2}")
_NO_TRIPLET: Final = compiled(r"%(?![0-9A-Fa-f]{2})")
_UNSAFE: Final = compiled(r"[\^`{|}]")
_SPACE_OR_CONTROL: Final = (
    r"\x00-\x20\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f"
    r"\u205f-\u206f\u3000\ufeff"
)
_FORBIDDEN: Final = compiled(rf'[{_SPACE_OR_CONTROL}\ud800-\udfff<>"\\]')
_CLEAN: Final = compiled(r"[!#$&-;=?-\[\]^-~]*+")
_BLANK: Final = compiled(rf"[{_SPACE_OR_CONTROL}]")


def check_text(text: str) -> None:
    """Reject text that is no identifier: bad characters, bad percent signs, too long."""
    if len(text) <= MAX_OCTETS and _CLEAN.fullmatch(text):
        return
    check_length(text)
    check_characters(text)
    check_percent(text)


def check_characters(text: str) -> None:
    """Reject blanks, controls, quotes and characters that would break a Link header (G-5)."""
    bad = _FORBIDDEN.search(text)
    if bad is None:
        return
    if _BLANK.match(bad[0]):
        code = f"U+{ord(bad[0]):04X}, a blank or control character,"
        why = f"{'a blank' if bad[0] == ' ' else code} is not allowed in an identifier"
        raise Malformed("control-or-space", why, bad.start())
    shown = bad[0] if bad[0].isprintable() else f"U+{ord(bad[0]):04X}"
    raise Malformed("bad-char", f"the character {shown} is not allowed in a URI", bad.start())


def check_length(text: str) -> None:
    """Reject text longer than `MAX_OCTETS` (G-6)."""
    if len(text) > MAX_OCTETS or (
        len(text) * 4 > MAX_OCTETS and len(text.encode(errors="surrogatepass")) > MAX_OCTETS
    ):
        why = f"longer than {MAX_OCTETS} octets"
        raise Malformed("too-long", why, min(len(text), MAX_OCTETS))


def check_percent(text: str) -> None:
    """Reject a percent sign that begins no triplet (RFC 3986 2.1)."""
    lone = lone_percent(text)
    if lone is not None:
        why = "a percent sign must be followed by two hexadecimal digits"
        raise Malformed("bad-percent", why, lone)


def lone_percent(text: str) -> int | None:
    """Return the index of a percent sign that begins no triplet; None if there is none."""
    lone = _NO_TRIPLET.search(text) if "%" in text else None
    return lone and lone.start()


def scheme_of(text: str) -> str | None:
    """Return the scheme of *text* in lower case; None if it has none."""
    if text[:7] == "http://" or text[:8] == "https://":
        return text.partition(":")[0]
    scheme = _SCHEME.match(text)
    if scheme is None or begins_with_host(text):
        return None
    return scheme[1].lower()


def begins_with_host(text: str) -> bool:
    """Whether scheme-less *text* begins with a host name: a dot in its first segment."""
    host = _HOST_FIRST.match(text)
    if host is None:
        return False
    labels = host[0].partition(":")[0].rstrip(".").split(".")
    return not labels[-1].isdecimal() or len(labels) == 4


def read_uri(text: str, diagnosis: Diagnosis, offset: int = 0) -> str:
    """Return the absolute URI in *text* with scheme and host folded.

    *text* has passed `check_characters` and `check_percent`, or was decoded from text that has.
    Positions in errors and diagnostics are counted from *offset*.
    """
    if _COMMON.fullmatch(text):
        return text
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise Malformed(
            "item-not-absolute", "a URI begins with a scheme, such as http:", offset
        )
    if _ONE_SLASH.match(text):
        # Front ends merge slashes, and every http URL has a host (RFC 9110 4.2.1).
        why = "one slash after the scheme: read as two"
        diagnosis.repair("slash-collapsed", why, offset + scheme.end() + 1)
        text = text.replace("/", "//", 1)
        offset -= 1
    return scheme[1].lower() + ":" + _read_rest(text, scheme.end(), diagnosis, offset)


def _read_rest(text: str, start: int, diagnosis: Diagnosis, offset: int) -> str:
    authority = _AUTHORITY.match(text, start)
    if authority is None:
        return _read_path(text, start, diagnosis, offset)
    folded = _fold_authority(authority[1], diagnosis, offset + start + 2)
    return f"//{folded}{_read_path(text, authority.end(), diagnosis, offset)}"


def _fold_authority(authority: str, diagnosis: Diagnosis, offset: int) -> str:
    userinfo, at, hostport = authority.rpartition("@")
    where = offset + len(userinfo) + len(at)
    if hostport.startswith("["):
        host, bracket, port = hostport.partition("]")
        host += bracket
        _check_ip_literal(host, where)
    else:
        host, _, port = hostport.partition(":")
        port = hostport[len(host) :]
        if "[" in host or "]" in host:
            raise Malformed(
                "bad-item", "brackets in a host must enclose an IPv6 address", where
            )
    _check_port(port, where + len(host))
    user = _read_userinfo(userinfo, diagnosis, offset)
    return user + at + _fold_host(host, diagnosis, where) + port


def _read_userinfo(userinfo: str, diagnosis: Diagnosis, offset: int) -> str:
    if "@" in userinfo:
        # The last @ ends the user, for browsers too (URL Standard 4.4, authority state).
        why = "@ in a user name is written as a triplet"
        diagnosis.repair("encoded-unsafe", why, offset + userinfo.index("@"))
        userinfo = userinfo.replace("@", "%40")
    return _quoted(userinfo, diagnosis, offset)


def _check_ip_literal(host: str, offset: int) -> None:
    literal = host[1:-1] if host.endswith("]") else ""
    if _FUTURE_ADDRESS.fullmatch(literal):
        return
    try:
        IPv6Address(literal.encode("ascii", "replace").decode())
    except AddressValueError:
        raise Malformed(
            "bad-item", "brackets in a host must enclose an IPv6 address", offset
        ) from None


def _check_port(port: str, offset: int) -> None:
    if not _PORT.fullmatch(port):
        raise Malformed("bad-item", "a port is a number up to 65535", offset)
    if int(port[1:] or 0) > 65535:
        raise Malformed("bad-item", "a port is at most 65535", offset)


def _fold_host(host: str, diagnosis: Diagnosis, offset: int) -> str:
    name = _name_in_triplets(host) or host
    if name.isascii():
        return _quoted(host, diagnosis, offset).lower()
    report = diagnosis.note if host.isascii() else diagnosis.repair
    report("iri", "a host outside ASCII is written in its ASCII form", offset)
    import idna  # noqa: PLC0415 -- its tables are large, and few hosts need them

    try:
        return idna.encode(name, uts46=True).decode().lower()
    except idna.IDNAError as error:
        raise Malformed("bad-item", f"not a host name: {error}", offset) from error


def _name_in_triplets(host: str) -> str | None:
    """Return *host* with its UTF-8 triplets decoded (RFC 3986 3.2.2); None if it has none.

    Browsers encode the host of a URL that is in the path of another URL, as it is in the paths
    of this server.
    """
    try:
        return unquote(host, errors="strict") if "%" in host else None
    except UnicodeDecodeError:
        return None


def _read_path(text: str, start: int, diagnosis: Diagnosis, offset: int) -> str:
    path = text[start:]
    for bracket in "[]":
        if bracket in path:
            where = offset + start + path.index(bracket)
            diagnosis.repair("brackets", "brackets are legal only around an IPv6 host", where)
            break
    return _quoted(path, diagnosis, offset + start)


def _quoted(text: str, diagnosis: Diagnosis, offset: int) -> str:
    """Write as triplets the characters of crawled URLs that RFC 3986 does not allow."""
    unsafe = _UNSAFE.search(text)
    if unsafe:
        why = f"{unsafe[0]} is written as a triplet"
        diagnosis.repair("encoded-unsafe", why, offset + unsafe.start())
        text = _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)
    if text.isascii():
        return text
    first = next(i for i, character in enumerate(text) if character > "\x7f")
    diagnosis.repair("iri", "characters outside ASCII are written as triplets", offset + first)
    return "".join(
        c if c <= "\x7f" else "".join(f"%{octet:02X}" for octet in c.encode()) for c in text
    )


def canonical_uri(uri: str) -> str:
    """Return *uri*, as returned by `read_uri`, with its triplets in upper case."""
    if "%" not in uri:
        return uri
    return _TRIPLET.sub(lambda triplet: triplet[0].upper(), uri)


def equivalent(one: str, other: str) -> bool:
    """Whether RFC 3986 calls two http(s) URLs the same (6.2.2.1 and 6.2.3).

    They differ at most in the case of triplets, scheme and host, in a port that is the default,
    and in an empty path.
    """
    return one == other or _spelling(one) == _spelling(other)


def _spelling(uri: str) -> str:
    server = _SERVER.match(uri)
    if server is None:
        return uri
    scheme = server[1].lower()
    is_usual = server[3] in (None, "", str(DEFAULT_PORTS[scheme]))
    port = "" if is_usual else f":{server[3]}"
    rest = uri[server.end() :]
    path = rest if rest.startswith("/") else f"/{rest}"
    return f"{scheme}://{server[2].lower()}{port}{canonical_uri(path)}"


def host_of(uri: str) -> str:
    """Return the host of *uri* without user and port; empty if it has none."""
    authority = _AUTHORITY.match(uri, uri.find(":") + 1)
    if authority is None:
        return ""
    hostport = authority[1].rpartition("@")[2]
    if hostport.startswith("["):
        return hostport.partition("]")[0] + "]"
    return hostport.partition(":")[0]


def without_user(uri: str) -> str:
    """Return *uri* without user name and password."""
    authority = _AUTHORITY.match(uri, uri.find(":") + 1) if "@" in uri else None
    if authority is None or "@" not in authority[1]:
        return uri
    return uri[: authority.start(1)] + uri[authority.start(1) + authority[1].rindex("@") + 1 :]


def plain_host(uri: str) -> str:
    """Return the host of an http(s) URL that all clients parse alike; otherwise empty."""
    server = _SERVER.match(uri)
    return server[2].lower().strip("[]") if server else ""


def plain_origin(uri: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an http(s) URL that all clients parse alike.

    The default port is filled in. None for any other text.
    """
    server = _SERVER.match(uri)
    if server is None:
        return None
    scheme = server[1].lower()
    return scheme, server[2].lower().strip("[]"), int(server[3] or DEFAULT_PORTS[scheme])


def negotiable(uri: str) -> bool:
    """Whether *uri* is an original of Memento: http or https, with a host (M-1)."""
    return uri.startswith(("http://", "https://")) and host_of(uri) != ""

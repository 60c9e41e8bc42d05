"""An absolute URI as archives key it: scheme and host folded, the rest octet by octet.

No dot segments are removed, no default port, no slash added, no triplet decoded behind the
host: the string is the key under which an archive holds the page (N-7). What browsers put
right silently (letters outside ASCII, braces) is put right here too, and said.
"""

import re
from ipaddress import AddressValueError, IPv6Address
from typing import Final
from urllib.parse import unquote

import idna

from archives.diagnostics import Diagnosis, Malformed
from archives.regex_compat import compiled

MAX_OCTETS: Final = 8192
"""RFC 9110 4.1 asks servers to take targets of at least 8000 octets."""

# What nearly every URL on the web looks like; needs neither folding nor repair.
_COMMON: Final = compiled(
    r"https?+://[a-z0-9.-]++(?::[0-9]{1,4})?+(?:[/?](?:[!$&-;=?-Z_a-z~]++|%[0-9A-Fa-f]{2})*+)?+"
)
_SCHEME: Final = compiled(r"([A-Za-z][A-Za-z0-9+.-]*+):")
# A port behind a dotted name: no scheme that archives meet looks like that.
_HOST_FIRST: Final = compiled(r"[\w-]++(?:\.[\w-]++)++\.?+(?::[0-9]++)?+(?=[/?#]|\Z)")
_ONE_SLASH: Final = compiled(r"https?+:/(?=[^/])", re.IGNORECASE)
_AUTHORITY: Final = compiled(r"//([^/?#]*+)")
# No user, no backslash: there browsers and servers disagree about where the host is.
_SERVER: Final = compiled(
    r"(https?+)://(\[[0-9a-f:.]++\]|[a-z0-9._-]++)(?::([0-9]{0,5}))?+(?=[/?#]|\Z)",
    re.IGNORECASE,
)
USUAL_PORTS: Final = {"http": 80, "https": 443}
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
    """Refuse what may stand in no identifier: bad characters, lone percent signs, excess."""
    if len(text) <= MAX_OCTETS and _CLEAN.fullmatch(text):
        return
    check_length(text)
    check_characters(text)
    check_percent(text)


def check_characters(text: str) -> None:
    """Refuse blanks, controls, quotes and what would break a Link header (G-5)."""
    bad = _FORBIDDEN.search(text)
    if bad is None:
        return
    if _BLANK.match(bad[0]):
        code = f"U+{ord(bad[0]):04X}, a blank or control character,"
        why = f"{'a blank' if bad[0] == ' ' else code} stands in no identifier"
        raise Malformed("control-or-space", why, bad.start())
    shown = bad[0] if bad[0].isprintable() else f"U+{ord(bad[0]):04X}"
    raise Malformed("bad-char", f"the character {shown} cannot be part of a URI", bad.start())


def check_length(text: str) -> None:
    """Refuse what is longer than `MAX_OCTETS` (G-6)."""
    if len(text) > MAX_OCTETS or (
        len(text) * 4 > MAX_OCTETS and len(text.encode(errors="surrogatepass")) > MAX_OCTETS
    ):
        why = f"longer than {MAX_OCTETS} octets"
        raise Malformed("too-long", why, min(len(text), MAX_OCTETS))


def check_percent(text: str) -> None:
    """Refuse a percent sign that begins no triplet (RFC 3986 2.1)."""
    lone = lone_percent(text)
    if lone is not None:
        why = "a percent sign is followed by two hexadecimal digits"
        raise Malformed("bad-percent", why, lone)


def lone_percent(text: str) -> int | None:
    """Return where a percent sign stands that begins no triplet; None if there is none."""
    lone = _NO_TRIPLET.search(text) if "%" in text else None
    return lone and lone.start()


def scheme_of(text: str) -> str | None:
    """Return the scheme that *text* begins with, in lower case; None if it has none."""
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

    *text* has passed `check_characters` and `check_percent`, or it was decoded from text that
    has. Positions in complaints are counted from *offset*.
    """
    if _COMMON.fullmatch(text):
        return text
    scheme = _SCHEME.match(text)
    if scheme is None:
        raise Malformed(
            "item-not-absolute", "a URI begins with a scheme, such as http:", offset
        )
    if _ONE_SLASH.match(text):
        # Front ends merge slashes, and no http URL is without a host (RFC 9110 4.2.1).
        why = "one slash behind the scheme: two were meant"
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
                "bad-item", "brackets in a host stand around an IPv6 address", where
            )
    _check_port(port, where + len(host))
    user = _read_userinfo(userinfo, diagnosis, offset)
    return user + at + _fold_host(host, diagnosis, where) + port


def _read_userinfo(userinfo: str, diagnosis: Diagnosis, offset: int) -> str:
    if "@" in userinfo:
        # The last one ends it, for browsers too (URL Standard 4.4, authority state).
        why = "@ in a user's name is written as a triplet"
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
        raise Malformed("bad-item", "between brackets stands an IPv6 address", offset) from None


def _check_port(port: str, offset: int) -> None:
    if not _PORT.fullmatch(port):
        raise Malformed("bad-item", "a port is a number up to 65535", offset)
    if int(port[1:] or 0) > 65535:
        raise Malformed("bad-item", "a port is at most 65535", offset)


def _fold_host(host: str, diagnosis: Diagnosis, offset: int) -> str:
    name = _name_in_triplets(host) or host
    if name.isascii():
        return _quoted(host, diagnosis, offset).lower()
    told = diagnosis.note if host.isascii() else diagnosis.repair
    told("iri", "a host outside ASCII is written in its ASCII form", offset)
    try:
        return idna.encode(name, uts46=True).decode().lower()
    except idna.IDNAError as error:
        raise Malformed("bad-item", f"not a host name: {error}", offset) from error


def _name_in_triplets(host: str) -> str | None:
    """Return the name that *host* spells in triplets of UTF-8 (RFC 3986 3.2.2); None if none.

    Browsers write it so when a URL with such a host stands in the path of another one, as all
    of ours do.
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
    """Write as triplets what crawled URLs hold and RFC 3986 does not."""
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
    """Return *uri*, already folded, with the hex of its triplets in upper case."""
    if "%" not in uri:
        return uri
    return _TRIPLET.sub(lambda triplet: triplet[0].upper(), uri)


def host_of(uri: str) -> str:
    """Return the host of *uri* without user and port; empty where it has none."""
    authority = _AUTHORITY.match(uri, uri.find(":") + 1)
    if authority is None:
        return ""
    hostport = authority[1].rpartition("@")[2]
    if hostport.startswith("["):
        return hostport.partition("]")[0] + "]"
    return hostport.partition(":")[0]


def without_user(uri: str) -> str:
    """Return *uri* without the name and the password of a user."""
    authority = _AUTHORITY.match(uri, uri.find(":") + 1) if "@" in uri else None
    if authority is None or "@" not in authority[1]:
        return uri
    return uri[: authority.start(1)] + uri[authority.start(1) + authority[1].rindex("@") + 1 :]


def plain_host(uri: str) -> str:
    """Return the host of an http(s) address that everybody reads alike; else nothing."""
    server = _SERVER.match(uri)
    return server[2].lower().strip("[]") if server else ""


def plain_origin(uri: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of such an address, the usual port filled in; else None."""
    server = _SERVER.match(uri)
    if server is None:
        return None
    scheme = server[1].lower()
    return scheme, server[2].lower().strip("[]"), int(server[3] or USUAL_PORTS[scheme])


def negotiable(uri: str) -> bool:
    """Whether Memento can negotiate *uri*: http or https with a host (M-1)."""
    return uri.startswith(("http://", "https://")) and host_of(uri) != ""

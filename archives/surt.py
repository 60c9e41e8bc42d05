"""SURT: the key by which archives sort and index URLs, ``com,example)/a/b?x=1``.

This is the Internet Archive's form, which pywb, OutbackCDX and MementoMaps use too. It omits
what usually makes no difference to a page (scheme, ``www``, user, default port, case, order of
the query, session ids, escapes), so it is a key for captures and not a URL to request. Every
text has a SURT: nothing here raises, and everything takes linear time.
"""

import socket
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from archives.regex_compat import compiled

# Nearly every URL on the web matches this: it needs no unescaping, escaping or repair.
_COMMON: Final = compiled(
    r"(https?+)://((?:[a-z0-9_-]++\.)++[a-z][a-z0-9-]*+)"
    r"((?:/(?!\.)[!$&-.0-;=@-~]++)*+/?+)(?:\?([!$&-~]*+))?+(?:#.*+)?+"
)
_SCHEME: Final = compiled(r"[A-Za-z][A-Za-z0-9+.-]*+:")
_REPEATED_SCHEME: Final = compiled(r"(?:(https?+://))++")
_PARTS: Final = compiled(r"(?://([^/?#]*+))?+([^?#]*+)(?:\?([^#]*+))?+")
_BREAKS: Final = compiled(r"[\t\n\r]")
_WWW: Final = compiled(r"www[0-9]*+\.")
_NUMERIC: Final = compiled(r"[0-9.]++")
_UNSAFE: Final = compiled(r'[^!"$&-~]')
_HEXADECIMAL: Final = frozenset(b"0123456789abcdefABCDEF")
_LONGEST_NAME: Final = 255
"""RFC 1035 2.3.4. Longer names are not given to Python's IDNA codec, which is not linear."""
_BLANKS: Final = " \t\n\r\x0b\x0c"

# ASP.NET puts the session in a segment: /(S(lit3py55t21z5v55vlm25s55))/orders.aspx
_ASP_SEGMENTS: Final = (
    compiled(r"/(\((?:[a-z]\([0-9a-z]{24}\))++\)/)"),
    compiled(r"/(\([0-9a-z]{24}\)/)"),
)
_SESSION_HINT: Final = compiled(r"sid=|sessionid|cfid=")
# With the length of each match, so that only the end of a parameter is searched.
_SESSION_PARAMETERS: Final = (
    (compiled(r"jsessionid=[0-9a-z]{32}"), 43),
    (compiled(r"phpsessid=[0-9a-z]{32}"), 42),
    (compiled(r"sid=[0-9a-z]{32}"), 36),
    (compiled(r"aspsessionid[a-z]{8}=[a-z]{24}"), 45),
)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}


class _Parts(NamedTuple):
    scheme: str
    authority: str
    path: str
    query: str


def surt(url: str) -> str:
    """Return the SURT of *url*."""
    if common := _COMMON.fullmatch(url):
        scheme, host, path, query = common.groups()
        key = _reversed_labels(host) + ")" + _folded_path(path or "/")
    elif not url or url.startswith("filedesc"):
        return url or "-"
    else:
        scheme, authority, path, query = _split(url)
        if not authority:
            return f"{scheme}:{_folded_path(_minimal(path))}{_folded_query(query)}"
        key = _surt_authority(scheme, authority) + ")" + _folded_path(_normal_path(path))
    return key + _folded_query(query) if query else key


def _split(url: str) -> _Parts:
    text = _BREAKS.sub("", url.strip(_BLANKS))
    if not _SCHEME.match(text):
        text = "http://" + text
    # Address bars make http://https://example.com/ of a pasted address.
    text = _REPEATED_SCHEME.sub(r"\1", text, count=1) if text[:4] == "http" else text
    scheme, _, rest = text.partition(":")
    scheme = scheme.lower()
    found = _PARTS.match(rest)
    authority, path, query = found.groups() if found else ("", rest, "")
    if not authority and scheme.startswith("http"):
        authority, _, path = path.lstrip("/").partition("/")
        path = "/" + path if authority else ""
    return _Parts(scheme, authority or "", path, query or "")


def _surt_authority(scheme: str, authority: str) -> str:
    hostport = authority.rpartition("@")[2]
    if hostport.startswith("["):
        host, _, port = hostport[1:].partition("]")
        port = port.removeprefix(":")
    else:
        host, _, port = hostport.partition(":")
    port = port.lstrip("0")
    shown = "" if port in ("", _DEFAULT_PORTS.get(scheme)) else f":{_escaped(port)}"
    return _reversed_labels(_normal_host(host)) + shown


def _normal_host(host: str) -> str:
    name = _ascii_name(_unescaped(host)).replace("..", ".").strip(".")
    if _NUMERIC.fullmatch(name):
        return _dotted(name)
    return _escaped(name).lower()


def _ascii_name(octets: bytes) -> str:
    if octets.isascii():
        return octets.decode()
    name = octets.decode("utf-8", "ignore")
    if len(name) > _LONGEST_NAME:
        return octets.decode("latin-1")
    try:
        # Archives write their keys in IDNA 2003, in which straße.de is strasse.de.
        return name.encode("idna").decode()
    except UnicodeError:
        return octets.decode("latin-1")


def _dotted(name: str) -> str:
    """Return the dotted form of an IPv4 address written as 127.1 or 2130706433."""
    try:
        return socket.inet_ntoa(socket.inet_aton(name))
    except OSError:
        return name


def _reversed_labels(host: str) -> str:
    if host.startswith("www"):
        www = _WWW.match(host)
        host = host[www.end() :] if www else host
    return host if ":" in host else ",".join(host.split(".")[::-1])


def _normal_path(path: str) -> str:
    segments: list[str] = []
    for segment in _minimal(path).split("/")[1:]:
        if segment == ".." and segments:
            segments.pop()
        elif segment != ".":
            segments.append(segment)
    last = segments.pop() if segments else ""
    return "/" + "".join(f"{segment}/" for segment in segments if segment) + last


def _folded_path(path: str) -> str:
    folded = path.lower()
    if ".aspx" in folded:
        folded = _without_asp_session(folded)
    return _trimmed(folded)


def _trimmed(path: str) -> str:
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def _without_asp_session(path: str) -> str:
    for segment in _ASP_SEGMENTS:
        page = path.partition("?")[0].rfind(".aspx")
        found = [
            match for match in segment.finditer(path, 0, max(page, 0)) if match.end() < page
        ]
        if found:
            path = path[: found[-1].start(1)] + path[found[-1].end(1) :]
    return path


def _folded_query(query: str) -> str:
    if not query:
        return ""
    folded = _minimal(query).lower()
    parameters = folded.split("&")
    if _SESSION_HINT.search(folded):
        _drop_session(parameters)
    if len(parameters) > 1:
        parameters.sort(key=_name_and_value)
    sorted_query = "&".join(parameters)
    return f"?{sorted_query}" if sorted_query else ""


def _name_and_value(parameter: str) -> list[str]:
    return parameter.split("=", 1)


def _drop_session(parameters: list[str]) -> None:
    for pattern, length in _SESSION_PARAMETERS:
        for index in range(len(parameters) - 1, -1, -1):
            if pattern.fullmatch(parameters[index][-length:]):
                _cut(parameters, index, index, len(parameters[index]) - length)
                break
    for index in range(len(parameters) - 1, 0, -1):
        before, _, value = parameters[index - 1].rpartition("cfid=")
        coldfusion = len(parameters[index]) > 8 and parameters[index].startswith("cftoken=")
        if coldfusion and value and "cfid=" in parameters[index - 1]:
            _cut(parameters, index - 1, index, len(before))
            break


def _cut(parameters: list[str], first: int, last: int, length: int) -> None:
    """Remove a session id: parameters *first* to *last*, but *length* letters of the first.

    The Internet Archive removes text, not parameters: text before the name (``xsid=``) is
    joined with the next parameter, and an ampersand before the last one stays.
    """
    prefix = parameters[first][:length]
    following = parameters[last + 1 : last + 2]
    parameters[first : last + 2] = [prefix + "".join(following)]


def _minimal(text: str) -> str:
    """Return *text* with only those characters escaped that must be."""
    if "%" not in text and text.isascii():
        return _escaped(text)
    return _escaped(_unescaped(text).decode("latin-1"))


def _escaped(text: str) -> str:
    """Escape *text*, whose characters stand for one octet each."""
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(lambda unsafe: f"%{ord(unsafe[0]):02x}", text)


def _unescaped(text: str) -> bytes:
    """Unescape repeatedly until no escape is left: ``%2541`` is an ``A``."""
    octets = unquote_to_bytes(text.encode("utf-8", "surrogatepass"))
    return _unescaped_again(octets) if b"%" in octets else octets


def _unescaped_again(octets: bytes) -> bytes:
    # In one pass: repeating until the text stays the same is quadratic for %252525...
    done = bytearray()
    for octet in octets:
        done.append(octet)
        while (
            len(done) > 2
            and done[-3] == 0x25
            and done[-2] in _HEXADECIMAL
            and done[-1] in _HEXADECIMAL
        ):
            done[-3:] = bytes((int(done[-2:], 16),))
    return bytes(done)

"""Request targets: every identifier of the test data, and other text that proxies break."""

import json
import re
from importlib.resources import files
from typing import Final

# What a client cannot write in a request line: a fragment, blanks, controls, other alphabets.
_UNSENDABLE: Final = re.compile(rb"[^!-\"$-~]")
# What RFC 3986 has no place for, though browsers and tools send it, and timegate takes it.
_FORBIDDEN: Final = re.compile(r"[\^`{|}]")

HARD: Final = (
    "http://example.org//a///b",
    "http://example.org/a%2Fb%2fc",
    "http%3A%2F%2Fexample.org%2Fa%252Fb",
    "http:/example.org/one-slash",
    "http://example.org/?q=http://other.example/?r=1&s=%26",
    "http://example.org/?",
    "http://example.org/a?b?c",
    "http://example.org/#section",
    "http://example.org/%23section",
    "http://[2001:db8::1]:8080/a[1]=b",
    "http://example.org/a|b?c|d",
    "http://example.org/a%2Fb|c",
    "http://example.org/$1|${a}$$%24?$1|",
    "http://example.org/(a)!*'|%28b%29",
    'http://example.org/"quoted"<tag>{x}^`\\',
    "http://example.org/a/../b",
    "http://example.org/a/%2E%2E/b/./c/",
    "http://example.org/a;v=1/b,c=$d@e:f&g+h",
    "http://example.org/~user/%7Euser",
    "http://example.org/%e2%82%ac/%E2%82%AC",
    "http://example.org/€/ß",
    "http://user:secret@example.org/",
    "http://example.org/%",
    "http://example.org/%zz",
    "http://example.org/a b",
    "http://example.org/" + "x" * 8000,
    "http://example.org/" + "%2F//" * 1600,
)


def sendable(identifier: str) -> str:
    """Write *identifier* as a client does: only what no request line can hold is encoded."""
    octets = identifier.encode("utf-8", "surrogatepass")
    return _UNSENDABLE.sub(lambda one: b"%%%02X" % ord(one[0]), octets).decode()


def conforming(target: str) -> str:
    """Percent-encode the characters that RFC 3986 does not allow."""
    return _FORBIDDEN.sub(lambda one: f"%{ord(one[0]):02X}", target)


def _inputs() -> list[str]:
    data = files("tests").joinpath("data")
    vectors = json.loads(data.joinpath("vectors.json").read_text())["vectors"]
    replays = json.loads(data.joinpath("replay_urls.json").read_text())["cases"]
    return [*(one["input"] for one in vectors), *(one["url"] for one in replays), *HARD]


TARGETS: Final = tuple(dict.fromkeys(f"/resolve/{sendable(one)}" for one in _inputs()))

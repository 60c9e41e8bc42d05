"""Archives that break HTTP, headers and lists in every way, beside a healthy one.

Each way has an archive of its own, because one that misbehaves is soon left alone. Whatever it
sends, the answer is that of the healthy archive, before the deadline, and never a 500.
"""

import asyncio
import gzip
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from itertools import islice, repeat
from typing import Final, NamedTuple

from tests.attack.rig import DATE, PAGE, STAMP, asking, entry, healthy, response, scripted
from tests.chaos.rig.asking import Answer, statuses
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario

_LATER: Final = "20160122122029"
_DIGITS: Final = "9" * 5000
"""More than Python makes a number of."""
_ABSURD: Final = "Thu, 31 May 2007 20:353535353535:00 GMT"
_LONGEST: Final = 8.0
"""Seconds in which an answer has to be there: the deadline is 5 s, and 60 s for lists."""
_ROUTES: Final = (
    "/timegate/{page}",
    "/resolve/duri:2016-01-22T11:20:29Z:{page}?as=json",
    "/resolve/duri:2016-01-22T11:20:29Z:{page}?as=html",
    f"/web/{STAMP}id_/{{page}}",
    f"/memento/json/{STAMP}/{{page}}",
    f"/api/json/{STAMP}/{{page}}",
    f"/list/{STAMP}/{{page}}",
    "/timemap/link/{page}",
    "/timemap/json/{page}",
    "/timemap/cdxj/{page}",
    "/timemap/html/{page}",
    "/cdx?url={page}",
    "/uri-res/N2Ls?duri:2016-01-22T11:20:29Z:{page}",
    "/parts/duri:2016-01-22T11:20:29Z:{page}",
    f"/diff/duri:2016-01-22T11:20:29Z:{{page}}/{_LATER}",
    f"/reconstruct/{STAMP}/{{page}}",
    "/events?q=duri:2016-01-22T11:20:29Z:{page}",
)
_NAMED: Final = ("/diff/",)
_LISTS: Final = ("/timemap/", "/cdx", "/diff/", "/reconstruct/", "/parts/")


class Way(NamedTuple):
    """A way to answer: octets, how they go on, and the configuration of the archive."""

    octets: bytes
    more: Iterable[bytes] = ()
    """Sent after them, for as long as the client reads."""
    config: str = ""
    """Replaces the usual endpoints; ``{base}`` is the address."""
    head_too: bool = True
    """Whether the same is sent to a HEAD request; otherwise only the head of it."""


def _stated(field: str, status: str) -> bytes:
    """Return a response with *field*; a copy of the page, unless *status* is an error."""
    copy = (f"Memento-Datetime: {DATE}", "Vary: accept-datetime", "Content-Type: text/html")
    own = copy if status in ("200 OK", "302 Found") else ()
    return response(status, *own, field, body=b"text of the page")


def _framed(head: str, body: bytes) -> bytes:
    return f"HTTP/1.1 200 OK\r\nMemento-Datetime: {DATE}\r\n{head}\r\n\r\n".encode() + body


def _chunked(body: bytes) -> bytes:
    return _framed("Transfer-Encoding: chunked", body)


def framings() -> dict[str, Way]:
    """Responses that are no valid HTTP."""
    length = "Content-Length: "
    return {
        "headers without end": Way(b"HTTP/1.1 200 OK\r\n", repeat(b"X-A: b\r\n" * 1000)),
        "a header without end": Way(b"HTTP/1.1 200 OK\r\nX: ", repeat(b"a" * 65536)),
        "interim responses without end": Way(
            b"", repeat(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100)
        ),
        "status line without end": Way(b"HTTP/1.1 200 ", repeat(b"O" * 65536)),
        "empty lines without end": Way(b"", repeat(b"\r\n" * 4096)),
        "status 2000": Way(b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
        "status 099": Way(b"HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"),
        "status of Arabic digits": Way("HTTP/1.1 ٢٠٠ OK\r\n\r\n".encode()),
        "HTTP/9.9": Way(b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
        "no HTTP": Way(b"ICY 200 OK\r\n\r\n"),
        "octets of TLS": Way(bytes.fromhex("15030100020228") * 10),
        "switching protocols": Way(
            b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n" + bytes(99)
        ),
        "a chunk of letters": Way(_chunked(b"zz\r\nabc\r\n0\r\n\r\n")),
        "a negative chunk": Way(_chunked(b"-5\r\nabc\r\n0\r\n\r\n")),
        "a chunk of 2^72 octets": Way(_chunked(b"FFFFFFFFFFFFFFFFFF\r\nabc\r\n")),
        "a chunk extension without end": Way(_chunked(b"5;a="), repeat(b"b" * 65536)),
        "a chunk without its line end": Way(_chunked(b"3\r\nabcdef\r\n0\r\n\r\n")),
        "trailers without end": Way(_chunked(b"0\r\n"), repeat(b"X-A: b\r\n" * 1000)),
        "empty chunks without end": Way(_chunked(b""), repeat(b"1\r\n \r\n" * 1000)),
        "length and chunks": Way(
            _framed("Content-Length: 3\r\nTransfer-Encoding: chunked", b"0\r\n\r\n")
        ),
        "two lengths": Way(_framed("Content-Length: 3\r\nContent-Length: 4", b"abcd")),
        "a length of 5,000 digits": Way(_framed(length + _DIGITS, b"abc")),
        "a negative length": Way(_framed(length + "-1", b"abc")),
        "a length in hex": Way(_framed(length + "0x10", b"abc")),
        "too short a length": Way(_framed(length + "1", b"abcdefgh")),
        "folded headers": Way(_framed("Link: <http://a/>;\r\n rel=memento\r\nX", b"")),
        "spaces before the colon": Way(_framed("Content-Length : 3", b"abc")),
        "a header without a colon": Way(_framed("Memento-Datetime", b"")),
        "NUL in a header": Way(_framed("X: a\0b\r\nContent-Length: 0", b"")),
    }


def header_values() -> dict[str, Way]:
    """Headers with values that no standard has."""
    links = ", ".join(f'<http://a.example/{n}>; rel="memento"' for n in range(20_000))
    named = {
        "Retry-After of 5,000 digits": ("429 Too Many", f"Retry-After: {_DIGITS}"),
        "Retry-After: 1e400": ("503 Busy", "Retry-After: 1e400"),
        "Retry-After: NaN": ("503 Busy", "Retry-After: NaN"),
        "Retry-After: -1": ("429 Too Many", "Retry-After: -1"),
        "Retry-After of Arabic digits": (
            "429 Too Many",
            "Retry-After: \u00d9\u00a1\u00d9\u00a2",
        ),
        "Retry-After in the year 0": ("429 No", "Retry-After: Mon, 01 Jan 0000 00:00:00 GMT"),
        "Retry-After in a zone": ("429 No", "Retry-After: Mon, 01 Jan 2024 00:00:00 +9999"),
        "an absurd Date": ("429 No", f"Date: {_ABSURD}"),
        "an absurd Age": ("200 OK", f"Age: {_DIGITS}"),
        "an absurd Cache-Control": ("200 OK", f"Cache-Control: max-age={_DIGITS}"),
        "an absurd Expires": ("200 OK", f"Expires: {_ABSURD}"),
        "Link of a megabyte": ("200 OK", f"Link: {links[: 1 << 20]}"),
        "Link with open quotes": ("200 OK", 'Link: <http://a/>; rel="' + "a" * 50_000),
        "Link of angle brackets": ("200 OK", "Link: " + "<" * 60_000),
        "Link of commas": ("200 OK", "Link: " + "," * 60_000),
        "Link with an IPv6 host": ("200 OK", 'Link: <http://[::1/>; rel="memento"'),
        "Link with a port": ("200 OK", f'Link: <http://a:{_DIGITS}/>; rel="memento"'),
        "Vary of everything": ("200 OK", "Vary: *"),
        "an unknown coding": ("200 OK", "Content-Encoding: x-none"),
        "codings of codings": ("200 OK", "Content-Encoding: " + ", ".join(["gzip"] * 50)),
        "broken gzip": ("200 OK", "Content-Encoding: gzip"),
        "broken br": ("200 OK", "Content-Encoding: br"),
        "a redirect without Location": ("302 Found", "X: y"),
        "two Locations": ("302 Found", "Location: /a\r\nLocation: /b"),
        "an empty Location": ("302 Found", "Location: "),
        "Location with a tab": ("302 Found", f"Location: /web/{STAMP}/ht\ttp://a/"),
        "Location with letters": ("302 Found", "Location: http://\u00e9.example/"),
        "Location of brackets": ("302 Found", "Location: http://[v1.a]/"),
        "Location with a port": ("302 Found", f"Location: http://127.0.0.1:{_DIGITS}/"),
        "Location: //": ("302 Found", "Location: //"),
        "Location: ///a": ("302 Found", "Location: ///a"),
        "Location: http:": ("302 Found", "Location: http:"),
        "Location of 60 kB": ("302 Found", "Location: /" + "a" * 60_000),
        "300 without choices": ("300 Multiple Choices", "X: y"),
        "a 304": ("304 Not Modified", "X: y"),
        "a 204": ("204 No Content", "X: y"),
        "a 999": ("999 Request denied", "X: y"),
    }
    charsets = (
        "zlib",
        "hex",
        "undefined",
        "idna",
        "unicode_escape",
        "utf-7",
        "\\\\0",
        "a" * 999,
    )
    types = {
        f"charset={name[:20]}": ("200 OK", f"Content-Type: text/html; charset={name}")
        for name in charsets
    }
    dates = (
        "Fri, 22 Jan 99999 11:20:29 GMT",
        "Fri, 22 Jan 2016 11:20:61 GMT",
        "Fri, 31 Feb 2016 11:20:29 GMT",
        "Fri, 22 Jan 0000 11:20:29 GMT",
        _ABSURD,
        "",
        "2016",
        f"{DATE}, {DATE}",
    )
    found = {name: Way(_stated(field, s)) for name, (s, field) in (named | types).items()}
    for date in dates:
        found[f"Memento-Datetime: {date}"] = Way(
            response("200 OK", f"Memento-Datetime: {date}", "Vary: accept-datetime", body=b"x")
        )
    return found


_AS: Final = {
    "JSON": 'timemaps.json = "{base}/timemap/json/"',
    "CDXJ": 'timemaps.cdxj = "{base}/timemap/cdxj/"',
    "link": 'timemaps.link = "{base}/timemap/link/"',
}
_DIALECTS: Final = ("wayback-cdx", "pywb-cdxj", "arquivo", "outbackcdx")


def _of_index(dialect: str) -> str:
    return f'kind = "cdx"\ncdx = "{{base}}/cdx"\ndialect = "{dialect}"\n'


def _of_list(form: str) -> str:
    return f'kind = "wayback"\n{_AS[form]}\n'


def lists() -> dict[str, Way]:
    """Lists of captures that cannot be read."""
    nested = b"[" * 100_000
    texts = {
        "100,000 brackets": nested,
        "100,000 braces": b'{"a":' * 100_000,
        "numbers of 5,000 digits": f'{{"mementos": {{"list": [{_DIGITS}]}}}}'.encode(),
        "surrogates": b'{"original_uri": "\\ud800", "mementos": {"list": [{"datetime": '
        b'"2016-01-22T11:20:29Z", "uri": "http://127.0.0.1/\\ud800"}]}}',
        "other types": b'{"mementos": {"list": {"a": 1}}, "original_uri": 7}',
        "null": b"null",
        "NaN": b'{"mementos": {"list": [{"datetime": NaN, "uri": Infinity}]}}',
        "a line of a megabyte": b"a" * (1 << 20),
        "a stamp that is none": b'com,example)/ 20160229259999 {"url": "http://page.example/"}\n',
        "stamps of digits": f"com,example)/ {_DIGITS} http://a.example/ - 200 - -\n".encode(),
        "NULs": bytes(10_000),
        "octets that are no text": bytes(range(256)) * 40,
        "rows of other lengths": b'[["urlkey","timestamp"],["a"],[],[1,2,3,4,5,6,7,8],{},7]',
        "CDXJ with brackets": b"com,example)/ 20160122112029 " + nested,
        "a next page that is itself": b'<http://page.example/>; rel="original", '
        b'<>; rel="timemap"; type="application/link-format"',
    }
    found: dict[str, Way] = {}
    for name, body in texts.items():
        for config, kind in (
            *((_of_list(form), form) for form in _AS),
            *((_of_index(dialect), dialect) for dialect in _DIALECTS),
        ):
            octets = response("200 OK", "Content-Type: application/json", body=body)
            found[f"{name}, {kind}"] = Way(octets, config=config, head_too=False)
    bomb = gzip.compress(bytes(64 << 20))
    packed = response("200 OK", "Content-Encoding: gzip", body=bomb)
    return found | {
        f"a bomb, {form}": Way(packed, config=_of_list(form), head_too=False) for form in _AS
    }


# Serving


async def _serve(
    ways: list[Way], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split("\r\n")[0].split(" ", 2)
            number = target.split("/")[1][:4]
            if not number.isdecimal():
                return
            way = ways[int(number)]
            octets = way.octets
            if method == "HEAD" and not way.head_too:
                octets = octets[: octets.find(b"\r\n\r\n") + 4]
            writer.write(octets)
            await writer.drain()
            for piece in way.more:
                writer.write(piece)
                await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
        return
    finally:
        writer.transport.abort()


def _entry(number: int, way: Way, base: str) -> str:
    if not way.config:
        return entry(f"h{number}", base)
    replay = f'replay = "{base}/web/{{time14}}/{{uri}}"\n'
    return f'[[archive]]\nid = "h{number}"\n{way.config.replace("{base}", base)}{replay}'


@asynccontextmanager
async def _served(rig: Rig, ways: Mapping[str, Way]) -> AsyncIterator[TimeGate]:
    some = list(ways.values())
    server = await asyncio.start_server(
        lambda reader, writer: _serve(some, reader, writer), "127.0.0.1", 0, limit=1 << 20
    )
    port = server.sockets[0].getsockname()[1]
    try:
        async with scripted(lambda _m, _t: None) as good:
            good.answering = healthy(lambda: good.base, at=_LATER)
            config = "".join(
                _entry(number, way, f"http://127.0.0.1:{port}/{number}")
                for number, way in enumerate(some)
            )
            more = "[reconstruct]\nenabled = true\n"
            with timegate(rig.place("t"), config + entry("good", good.base) + more) as gate:
                yield gate
    finally:
        server.close()


async def _tried(rig: Rig, every: Mapping[str, Way]) -> None:
    ways = dict(islice(every.items(), 0, None, rig.scaled(1, 5)))
    bad: list[str] = []
    answers: list[Answer] = []
    async with _served(rig, ways) as gate:
        for number, name in enumerate(ways):
            client = asking(gate.port, Prefer=f'archives="h{number},good"')
            targets = [route.format(page=f"{PAGE}{number}") for route in _ROUTES]
            some = await client.at_once(targets, 6)
            answers += some
            bad += [f"{name}: {_shown(a)}" for a in some if _is_bad(a)]
        log = gate.running.log_text()
        peak = gate.running.peak
    rig.promise(
        f"{len(ways)} archives at {len(_ROUTES)} routes, beside a healthy one",
        "\n    ".join([f"{statuses(answers)}, {len(bad)} lost or late", *bad[:40]]),
        "all from the healthy archive, in time",
        met=not bad,
    )
    traces = log.count("Traceback")
    rig.promise("errors that a boundary had to contain", traces, "0", met=not traces)
    rig.promise("peak memory", f"{peak:.0f} MB", "300 MB", met=peak < 300)


def _is_bad(answer: Answer) -> bool:
    """Whether an answer is late, an error, or none.

    A copy whose bytes cannot be read cannot be compared; the answer names its archive. Bytes
    that break off, or do not end, are not taken for a whole.
    """
    if answer.target.startswith("/web/") and answer.status == 0:
        return False
    if answer.target.startswith(_NAMED) and answer.status == 502 and b"in h" in answer.body:
        return False
    if answer.status not in (200, 302):
        return True
    return answer.seconds > (65 if answer.target.startswith(_LISTS) else _LONGEST)


def _shown(answer: Answer) -> str:
    said = answer.body[:200].decode(errors="replace")
    return f"{answer.target} {answer.status} {answer.trouble} {answer.seconds:.1f} s {said}"


async def malformed_framings(rig: Rig) -> None:
    """Responses that are no valid HTTP, or never end."""
    await _tried(rig, framings())


async def malformed_headers(rig: Rig) -> None:
    """Headers with values that no standard has."""
    await _tried(rig, header_values())


async def malformed_lists(rig: Rig) -> None:
    """Lists of captures that cannot be read, in each format and dialect."""
    await _tried(rig, lists())


SCENARIOS: Final = (
    Scenario("malformed-framings", "16.1, HU-14", malformed_framings, 600),
    Scenario("malformed-headers", "16.1, HU-14", malformed_headers, 600),
    Scenario("malformed-lists", "16.1, 16.2", malformed_lists, 900),
)

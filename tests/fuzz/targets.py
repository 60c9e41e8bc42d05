"""What is fuzzed: a function of octets, what it may raise, seeds, and the parsers it covers."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Final
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile
from zlib import error as zlib_error

from archives.adapters import ADAPTERS
from archives.addresses import WITHOUT_SERVER
from archives.diagnostics import Diagnosis, Malformed
from archives.errors import ArchiveError
from archives.formats.decoding import decoder_for
from archives.formats.httpdate import read_http_date, read_instant
from archives.formats.linkformat import parse_header
from archives.formats.ukvs import read_frequency
from archives.kinds import KINDS, ORIGINAL
from archives.model import ArchiveEntry, Limits, Rate
from archives.moment import Moment
from archives.registry import from_memgator, load_known
from archives.registry.entry import BadEntry, read_entry
from archives.replay_links import read_link
from archives.source import AdapterSource, Request
from archives.surt import surt
from archives.uri import check_text, read_uri
from archives.warc.captures import captures_in, read_digest
from archives.warc.http import parse_fields, read_plain_http
from archives.warc_index.cdx import read_cdx_file
from timegate.access.networks import read_address
from timegate.batch.model import BadInput, from_line
from timegate.batch.run import BadQueue
from timegate.batch.stream_queue import read_entry as read_page
from timegate.batch.stream_queue import read_job, read_queue_url, read_results
from timegate.cache.encoding import CorruptEntry
from timegate.cache.page_encoding import PackedPage, sealed_page
from timegate.cdx.query import parameters_in, query_from
from timegate.citations import copy_behind
from timegate.citations.prose import read_citation_in_prose
from timegate.cli.given import SeveralFound
from timegate.cli.given import read_page as read_page_in
from timegate.cli.options import read_typed_time
from timegate.content.fragments import read_quote
from timegate.following.feeds import read_event_id
from timegate.identifiers import parse, parse_wrapped
from timegate.markup import TooComplex, embedded_in, rewritten
from timegate.pages.capture_view import CaptureFields
from timegate.redis.address import parse_address
from timegate.references.bibtex import read_bibtex
from timegate.references.formats import REWRITTEN, places_in
from timegate.references.hypertext import read_html
from timegate.references.lines import Columns, read_json, read_jsonl, read_plain, read_table
from timegate.references.office import docx_text
from timegate.references.pasted import read_list, read_pasted
from timegate.references.prose import read_prose
from timegate.references.ris import read_ris
from timegate.references.wikitext import read_wikitext
from timegate.resolution.preferences import BadPreference, preferences_from
from timegate.resolution.query import NotNegotiable, query_for
from timegate.responses.replay_addresses import read_place
from timegate.series.fragments import BadFragment, read_fragment
from timegate.text.html import decode_entities, title_in
from timegate.text.written_dates import find_dates, other_dates
from timegate.upstream.content_coding import BadCoding, ContentDecoder
from timegate.upstream.http1 import BrokenResponse, UpstreamResponse

PAGE: Final = "http://example.org/"
REGISTRY: Final = load_known()
NOW: Final = datetime(2026, 11, 15, tzinfo=UTC)
MOST: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Target:
    """Something that is fuzzed."""

    run: Callable[[bytes], object]
    raises: tuple[type[Exception], ...]
    """The documented errors; anything else is a fault."""
    seeds: tuple[bytes, ...]
    covers: tuple[str, ...]
    """The parsers that it calls, as ``module.function``."""


def _text(octets: bytes) -> str:
    return octets.decode(errors="surrogateescape")


def _documents(octets: bytes) -> None:
    for form in sorted(REWRITTEN):
        for place in places_in(_text(octets), form, REGISTRY, NOW):
            assert place.link is None or 0 <= place.link.start <= place.link.end


def _docx() -> bytes:
    out = BytesIO()
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    with ZipFile(out, "w") as file:
        text = "<w:p><w:r><w:t>http://example.org/</w:t></w:r></w:p>"
        file.writestr("word/document.xml", f'<w:document xmlns:w="{space}">{text}</w:document>')
    return out.getvalue()


def _identifier(octets: bytes) -> None:
    text = _text(octets)
    for read in (parse, parse_wrapped):
        query_for(read(text, REGISTRY), REGISTRY)


def _uri(octets: bytes) -> None:
    text = _text(octets)
    check_text(text)
    surt(read_uri(text, Diagnosis()))


def _cite(octets: bytes) -> None:
    copy_behind(_text(octets), REGISTRY)


def _document(octets: bytes) -> None:
    decoder = decoder_for(octets[:512], "http://archive.example/timemap/")
    for start in range(0, len(octets), 1000):
        decoder.feed(octets[start : start + 1000])
    decoder.close()


def _cdx_query(octets: bytes) -> None:
    parameters = parameters_in(_text(octets))
    for dialect in ("wayback", "pywb"):
        query_from(parameters, dialect)


def _preferences(octets: bytes) -> None:
    text = _text(octets)
    name, _, value = text.partition("=")
    preferences_from({name: value}, text, text)


def _fragment(octets: bytes) -> None:
    for media_type in ("text/plain", "text/html", "image/png", "audio/wav", "application/x"):
        read_fragment(_text(octets), media_type)


def _coding(octets: bytes) -> None:
    for name in ("gzip", "deflate", "br", "zstd", "identity", _text(octets[:8])):
        decoder = ContentDecoder(name, MOST)
        for _ in decoder.decode(octets):
            pass
        decoder.finish()


def _response(octets: bytes) -> None:
    for to_head in (False, True):
        response = UpstreamResponse(to_head=to_head)
        for start in range(0, len(octets), 50):
            response.feed(octets[start : start + 50])
            response.take()
        response.end()


def _registry(octets: bytes) -> None:
    read_entry(_text(octets), "fuzz")


def _table(octets: bytes) -> None:
    list(read_table(BytesIO(octets), Columns(None, ()), lambda text: text.startswith("http")))


def _archived_page(octets: bytes) -> None:
    for content_type in ("text/html", "text/css", ""):
        embedded_in(octets, content_type, PAGE)
        rewritten(octets, content_type, PAGE, lambda url: url.url)


def _replay_place(octets: bytes) -> None:
    place = read_place(_text(octets))
    if place is not None and place.use:
        assert read_place(place.path("view").removeprefix("/view/")) is not None


_RATE: Final = Rate(requests=1000, seconds=1, burst=1000)


def _entry(kind: str) -> ArchiveEntry:
    base = "http://archive.example"
    return ArchiveEntry(
        id="test",
        name="Test",
        kind={**KINDS, ORIGINAL.name: ORIGINAL}[kind],
        use=True,
        because="",
        access="open",
        limits=Limits(memento=_RATE, index=_RATE, at_once=8, source="test"),
        timegate=f"{base}/timegate/",
        timemaps={"link": f"{base}/timemap/link/"},
        cdx=f"{base}/cdx",
        dialect="wayback-cdx",
        replay=base + "/web/{time14}/{uri}",
    )


class _Reply:
    """A reply whose status, headers and body come from the fuzzer."""

    def __init__(self, request: Request, octets: bytes) -> None:
        head, _, self._body = octets.partition(b"\n\n")
        first, *lines = _text(head).split("\n")
        self.url = request.url
        self.status = int(first[:3]) if first[:3].isascii() and first[:3].isdigit() else 200
        pairs = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self._body


def adapter(kind: str) -> Callable[[bytes], None]:
    """Return a function that queries an archive of *kind* which answers with any octets."""

    def run(octets: bytes) -> None:
        @asynccontextmanager
        async def fetch(request: Request) -> AsyncGenerator[_Reply]:
            yield _Reply(request, octets)

        entry = _entry(kind)
        # Without the second way, which needs an event loop.
        now = datetime(2026, 11, 15, tzinfo=UTC)
        queried = ADAPTERS[entry.kind](entry, lambda: now, WITHOUT_SERVER)
        source = AdapterSource(queried, fetch)

        async def listed() -> None:
            async for _ in source.mementos(PAGE):
                pass

        for question in (source.closest(PAGE, Moment("20160122112029")), listed()):
            _done(question)

    return run


def _done(question: Awaitable[object]) -> None:
    """Run a question that never waits; an archive's failure is a documented outcome."""

    async def answered() -> None:
        try:
            await question
        except ArchiveError:
            return

    running = answered()
    try:
        while True:
            running.send(None)
    except StopIteration:
        return
    finally:
        running.close()


_DATE: Final = b"Fri, 22 Jan 2016 11:20:29 GMT"
_PWID: Final = b"urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
_LINK: Final = (
    b'<http://example.org/>; rel="original",\n<http://archive.example/web/20160122112029/'
    b'http://example.org/>; rel="first memento"; datetime="Fri, 22 Jan 2016 11:20:29 GMT"\n'
)
_CDX: Final = (
    b"org,example)/ 20160122112029 http://example.org/ text/html 200 "
    b"VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N 198 0 a.warc.gz\n"
)
_CDXJ: Final = (
    b'org,example)/ 20160122112029 {"url": "http://example.org/", "status": "200", '
    b'"mime": "text/html", "filename": "a.warc.gz", "offset": "0", "length": "198"}\n'
)
_TIMEMAP_JSON: Final = (
    b'{"original_uri": "http://example.org/", "mementos": {"list": [{"datetime": '
    b'"2016-01-22T11:20:29Z", "uri": "http://archive.example/1"}]}}'
)
_ROWS: Final = (
    b'[["urlkey","timestamp","original"],["org,example)/","20160122112029",'
    b'"http://example.org/"],[],["key"]]'
)
_AVAILABLE: Final = (
    b'{"archived_snapshots": {"closest": {"url": "http://archive.example/1", '
    b'"timestamp": "20160122112029", "status": "200", "available": true}}}'
)
_ARC: Final = (
    b"filedesc://a.arc 0.0.0.0 20160122112029 text/plain 3\nabc\n"
    b"http://example.org/ 192.0.2.1 20160122112029 text/html 2\nhi\n"
)
_CHUNKED: Final = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
_WARC: Final = (
    b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/\r\n"
    b"WARC-Date: 2016-01-22T11:20:29Z\r\nContent-Type: application/http\r\n"
    b"Content-Length: 45\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhi\r\n\r\n"
)
_ANSWER: Final = (
    b"302\nLocation: http://archive.example/web/20160122112029/http://example.org/\n"
    b"Vary: accept-datetime\nLink: " + _LINK.replace(b"\n", b"") + b"\n\n"
)
_MEMENTO: Final = (
    b"200\nMemento-Datetime: " + _DATE + b'\nLink: <http://example.org/>; rel="original"\n\n'
)

TARGETS: Final[Mapping[str, Target]] = {
    "archived pages": Target(
        _archived_page,
        (TooComplex,),
        (
            b"<base href=/b/><img src='a.png' srcset='b 1x, c 2x'><a href=\"d?e&amp;f#g\">",
            b"<svg><style>@import 'a';b{c:url( d.png )}</style><script><!--<script>-->",
            b"<meta charset=Shift_JIS><meta http-equiv=refresh content='0;url=a'>\x95\\",
            b"@font-face{src:url(a.woff2)}@media print{a{b:u\\72l(c)}}/* d */",
        ),
        (),
    ),
    "addresses of replay": Target(
        _replay_place,
        (),
        (
            b"2010/http://example.org/",
            b"2010-20100601@mine.im_/http://example.org/a?b",
            b"2010-0161@" + b"`" * 41 + b".im_/x",
        ),
        ("timegate.responses.replay_addresses.read_place",),
    ),
    "identifiers": Target(
        _identifier,
        (Malformed, NotNegotiable),
        (
            _PWID,
            b"duri:2016-01:http://example.org/",
            b"tdb:2016:http://example.org/",
            b"pdi://oma.eop.gov.us/1997/09/01/1.html.1#char=0,10",
            b"https://web.archive.org/web/20160122112029id_/http://example.org/?a=%C3%A9#b",
            b"pwid:archive.org:2016-01-22T11:20:29Z:part:http://example.org/",
            b"example.org/~a/b",
            _DATE,
        ),
        (
            *("timegate.identifiers.parse", "timegate.identifiers.parse_wrapped"),
            "timegate.library.parse",
            *(f"timegate.identifiers.duri.read_{n}" for n in ("common_duri", "duri", "tdb")),
            "timegate.identifiers.pdi.read_pdi",
            *(
                f"timegate.identifiers.pwid.read_{n}"
                for n in ("archive", "precision", "item_id", "item_uri")
            ),
            *(f"timegate.identifiers.pwid.uri.read_pwid_{n}" for n in ("uri", "http")),
            *(f"timegate.identifiers.pwid.urn.read_{n}" for n in ("common_urn", "pwid_urn")),
            "timegate.identifiers.replay_link.read_replay",
            *(f"timegate.identifiers.url.read_{n}" for n in ("url", "accept_datetime")),
            "timegate.endpoints.memento.read_stamp",
            "archives.replay_links.fields.read_stamp",
        ),
    ),
    "citations": Target(
        _cite,
        (Malformed,),
        (b"https://web.archive.org/web/20160122112029/http://example.org/",),
        (),
    ),
    "replay links": Target(
        lambda octets: read_link(_text(octets), REGISTRY, Diagnosis()),
        (Malformed,),
        (
            b"https://web.archive.org/web/2016*/http://example.org/",
            b"http://archive.today/2016.01.22-112029/http://example.org/",
            b"https://webcitation.org/5eWaHRbn4?url=http://example.org/",
        ),
        ("archives.replay_links.read_link",),
    ),
    "URIs": Target(
        _uri,
        (Malformed,),
        (
            b"http://user@EXAMPLE.org:80/a/../b?c=%7e#d",
            b"http://[::1]/",
            "http://bücher.example/".encode(),
        ),
        ("archives.uri.read_uri",),
    ),
    "times": Target(
        lambda octets: read_typed_time(_text(octets)),
        (ValueError,),
        (
            *(b"22 January 2016 11:20", b"2016-01-22T11:20:29+01:00", b"20160122", _DATE),
            *(b"5 novembre 2010", b"03/04/2010"),
        ),
        ("timegate.text.times.read_time", "timegate.cli.options.read_typed_time"),
    ),
    "HTTP dates": Target(
        lambda octets: read_http_date(_text(octets), Diagnosis()),
        (Malformed,),
        (_DATE, b"Thu, 31 May 2007 20:353535353535:00 GMT"),
        ("archives.formats.httpdate.read_http_date",),
    ),
    "instants": Target(
        lambda octets: read_instant(_text(octets)),
        (Malformed,),
        (b"2026-11-17T20:35:00.123456789Z", b"2016-12-31T23:59:60Z"),
        ("archives.formats.httpdate.read_instant",),
    ),
    "Link": Target(
        lambda octets: parse_header(_text(octets)),
        (),
        (_LINK.replace(b"\n", b""),),
        ("archives.formats.linkformat.parse_header",),
    ),
    "lists of captures": Target(
        _document,
        (Malformed,),
        (
            _LINK,
            _CDX,
            _CDXJ,
            _TIMEMAP_JSON,
            _ROWS,
        ),
        (),
    ),
    "UKVS": Target(
        lambda octets: read_frequency(_text(octets)),
        (Malformed,),
        (b"1/2", b"10+/<3"),
        ("archives.formats.ukvs.read_frequency",),
    ),
    "archives of the operator": Target(
        _registry,
        (BadEntry,),
        (b'id = "a"\nkind = "memento"\ntimegate = "https://a.example/"\n',),
        ("archives.registry.entry.read_entry",),
    ),
    "archives of MemGator": Target(
        lambda octets: from_memgator(octets.decode(errors="replace"), "fuzz"),
        (BadEntry,),
        (
            b'[{"id": "a", "name": "A", "timegate": "http://a/", "timemap": "http://a/"}]',
            b"[" * 2000,
        ),
        (),
    ),
    "WARC": Target(
        lambda octets: list(captures_in(BytesIO(octets))),
        (),
        (
            _WARC,
            _ARC,
        ),
        ("archives.warc.records.read_records",),
    ),
    "CDX files": Target(
        lambda octets: list(read_cdx_file(BytesIO(octets), "a.cdx")),
        (),
        (b" CDX N b a m s k S V g\n" + _CDX, _CDXJ),
        (
            "archives.warc_index.cdx.read_cdx_file",
            "archives.warc_index.cdx.read_cdx_line",
        ),
    ),
    "digests": Target(
        lambda octets: read_digest(_text(octets)),
        (),
        (b"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", b"md5:" + b"0" * 32),
        ("archives.warc.captures.read_digest",),
    ),
    "archived heads": Target(
        parse_fields,
        (),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n folded\r\n\r\n",),
        ("archives.warc.http.parse_fields", "archives.warc.http.decode_text"),
    ),
    "archived responses": Target(
        lambda octets: read_plain_http(octets, 0, len(octets)),
        (),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>",),
        ("archives.warc.http.read_plain_http",),
    ),
    "addresses": Target(
        lambda octets: read_address(_text(octets)),
        (),
        (b"192.0.2.1", b"::ffff:192.0.2.1%eth0"),
        ("timegate.access.networks.read_address",),
    ),
    "BibTeX": Target(
        lambda octets: list(read_bibtex(_text(octets), lambda _: True)),
        (BadInput,),
        (b"@misc{a, url = {http://example.org/}, urldate = {2016-01-22}}\n",),
        ("timegate.references.bibtex.read_bibtex",),
    ),
    "wikitext": Target(
        lambda octets: list(read_wikitext(_text(octets), lambda _: True)),
        (BadInput,),
        (b"<ref>{{cite web|url=http://example.org/|access-date=22 January 2016}}</ref>",),
        ("timegate.references.wikitext.read_wikitext",),
    ),
    "HTML lists": Target(
        lambda octets: list(read_html(_text(octets))),
        (BadInput,),
        (b'<p><a href="http://example.org/">a</a><!-- <a href=x> -->',),
        ("timegate.references.hypertext.read_html",),
    ),
    "JSON lists": Target(
        lambda octets: list(read_json(_text(octets))),
        (BadInput,),
        (
            b'["http://example.org/", {"url": "http://example.org/", "date": "2016"}]',
            b'{"url":"a","archived_snapshots":{"closest":{"url":"http://example.org/"}}}',
            b'[["timestamp","original"],["20160122","http://example.org/"]]',
            b'{"startedDateTime":"2016-01-22T11:20:29.1Z","request":{"url":"http://example.org/"}}',
        ),
        ("timegate.references.lines.read_json",),
    ),
    "JSON lines": Target(
        lambda octets: list(read_jsonl(BytesIO(octets))),
        (BadInput,),
        (b'{"url": "http://example.org/"}\n"http://example.org/"\n',),
        ("timegate.references.lines.read_jsonl",),
    ),
    "plain lists": Target(
        lambda octets: list(read_plain(BytesIO(octets))),
        (BadInput,),
        (b"http://example.org/ 2016\n# comment\n",),
        ("timegate.references.lines.read_plain",),
    ),
    "tables": Target(
        _table,
        (BadInput,),
        (b"url,date\nhttp://example.org/,2016\n", b"url\tdate\nhttp://example.org/\t2016\n"),
        ("timegate.references.lines.read_table",),
    ),
    "journal lines": Target(from_line, (ValueError,), (b"{}", b"[]"), ()),
    "pages of a queue": Target(
        lambda octets: read_page("a", "1-0", octets),
        (ValueError,),
        (b'["job", true, ["[0,\\"a\\",[],[],\\"\\",[],\\"\\",false]"]]', b"[" * 2000),
        ("timegate.batch.stream_queue.read_entry",),
    ),
    "results of a queue": Target(
        lambda octets: read_results([b"1-0", [b"results", octets]]),
        (),
        (b'["job", "lane", [["{}", {"a": 1}]]]', b"[" * 2000),
        (),
    ),
    "jobs of a queue": Target(
        read_job,
        (BadQueue,),
        (b'{"id":"a","preferences":{},"archives":"b","lanes":["c"]}',),
        (),
    ),
    "addresses of queues": Target(
        lambda octets: read_queue_url(_text(octets)),
        (BadQueue,),
        (b"redis://127.0.0.1:6379/1#name",),
        ("timegate.batch.stream_queue.read_queue_url",),
    ),
    "cached answers": Target(
        lambda octets: PackedPage("k", sealed_page("k", {"public/a": octets})).get("public/a"),
        (CorruptEntry,),
        (
            b"\x93\x90\x80\x80",
            b"\x91\x91\x93\xcb" + bytes(8) + b"\xa42014\xc0",
            b"\x9c" + b"\xa6" * 90,
        ),
        (),
    ),
    "CDX queries": Target(
        _cdx_query,
        (BadPreference,),
        (
            b"?url=http://example.org/*&filter=~status:2..&collapse=timestamp:6&limit=-5",
            b"?url=example.org&matchType=domain&from=2016&to=2017&sort=closest&closest=2016",
        ),
        (),
    ),
    "preferences": Target(
        _preferences,
        (BadPreference,),
        (b"tolerance=24h", b'precision=day; wait=5, archives="a b"', b"no-cache, max-age=0"),
        (),
    ),
    "titles": Target(
        lambda octets: title_in(octets, "text/html; charset=utf-16"),
        (),
        (b"<html><title>A &amp; B</title>", b"\xff\xfe<\x00t\x00"),
        (),
    ),
    "entities": Target(
        lambda octets: decode_entities(_text(octets)),
        (),
        (b"&amp;&#x26;&#99999999;&copy=1",),
        ("timegate.text.html.decode_entities",),
    ),
    "pasted text": Target(
        lambda octets: read_pasted(_text(octets), REGISTRY, NOW),
        (Malformed,),
        (
            b"{{cite web|url=http://example.org/}}",
            b"Smith (2016) http://example.org/ (accessed 22 January 2016).",
            b"hxxp://example[.]org/ https://perma.cc/AB12-CD34 10.1000/182, 03/04/2010",
            b'<p><a href="http://example.org/">a</a>, accessed 5.11.2010</p>',
            b"url,date\nhttp://example.org/,2016\n",
            b"urn:pwid:archive.org:2016-01-22T11:20:29Z:\npage:http://example.org/",
        ),
        ("timegate.references.pasted.read_pasted",),
    ),
    "pages in pasted text": Target(
        lambda octets: read_page_in(_text(octets), REGISTRY, NOW),
        (Malformed, SeveralFound, NotNegotiable),
        (
            b"https://web.archive.org/web/*/http://example.org/",
            b"See http://example.org/ and http://example.com/.",
            b"https://perma.cc/AB12-CD34",
        ),
        ("timegate.cli.given.read_page",),
    ),
    "citations in prose": Target(
        lambda octets: read_citation_in_prose(_text(octets)),
        (),
        (
            b"Smith, A. (2009). The museum. City Museum. Retrieved May 5, 2010, from http://a.example/",
            b'Smith, Ann. "The Museum." City, 2009, http://a.example/. Accessed 5 May 2010.',
            b"Smith, A 2009, The museum, City Museum, viewed 5 May 2010, <http://a.example/>.",
        ),
        ("timegate.citations.prose.read_citation_in_prose",),
    ),
    "lists in requests": Target(
        lambda octets: read_list(octets, "", REGISTRY, NOW, 1000),
        (BadInput,),
        (
            b"<part>\nurn:pwid:a.example:2016-01-22Z:part:http://example.org/?a&b\n</part>\n",
            b"<?xml version='1.0'?><!-- c --><p href='http://example.org/'><![CDATA[duri:2016:",
            b"urn:pwid:a.example:2016-\n  01-22Z:part:http://example.org/\n  style.css\n",
            b'["http://example.org/", {"pwid": "urn:pwid:a.example:2016-01-22Z:part:~x"}]',
        ),
        ("timegate.references.pasted.read_list",),
    ),
    "prose": Target(
        lambda octets: list(read_prose(_text(octets), REGISTRY)),
        (),
        (
            b"Smith (2016) http://example.org/ (accessed 22 January 2016).",
            b"http://a.example/ [https://archive.ph/AbCdE]; www.b.example 5. Mai 2010",
            b"<http://a.example/b/\n> c.html> http://www.\nd.example/(accessed yesterday)...",
            b"[5/11/2010, 10:20] A: htp//a.example/ http: //www. b. org 11 PM PST l2 Nov 2OO3",
            b"--2010-11-05 10:20:30--  http://a.example/\nGET /b HTTP/1.1\nHost: c.example\n",
            b'Link: <http://d.example/>; rel="original"\n',
            b"urn:pwid:archive.org:2016-01-22T11.20.29:page:http//a.example",
        ),
        ("timegate.references.prose.read_prose",),
    ),
    "RIS": Target(
        lambda octets: list(read_ris(_text(octets))),
        (),
        (b"TY  - ELEC\r\nUR  - http://example.org/\r\nY2  - 2016/01/22/\r\nER  - \r\n",),
        ("timegate.references.ris.read_ris",),
    ),
    "documents in every format": Target(
        _documents,
        (),
        (
            b"<ref>[http://example.org/ a]</ref> {{webarchive|url=x}} \\url{http://a.example/b\\_c}",
            b'<a href="http://example.org/" data-versiondate="2016-01-22">a</a><!-- -->',
        ),
        (),
    ),
    "written dates": Target(
        lambda octets: [*find_dates(_text(octets)), *other_dates(_text(octets))],
        (),
        (
            b"5 November 2010, 2010-11-05T10:15:00Z, 5/11/2010, 5.11.10, 2010, Nov 5",
            b"2010 Nov 5, 2011 Dec 6, 3-5 May 2010, 2010-11-05T10:15+14:00",
            b"2010\xe2\x80\x9311\xe2\x80\x9305",
        ),
        (),
    ),
    "DOCX": Target(
        docx_text,
        (
            BadZipFile,
            ParseError,
            KeyError,
            NotImplementedError,
            RuntimeError,
            OSError,
            ValueError,
            EOFError,
            zlib_error,
        ),
        (_docx(),),
        (),
    ),
    "quotations": Target(
        lambda octets: read_quote(_text(octets)),
        (),
        (b"#:~:text=from%20the-,tide,table,-of%202010", b"\xe2\x80\x9cThe  tide\xe2\x80\x9d"),
        ("timegate.content.fragments.read_quote",),
    ),
    "fragments of documents": Target(
        _fragment,
        (BadFragment,),
        (b"char=37,51", b"sec,23,51", b"rect=0,1,20,30,2", b"elt=p,3,div,1", b"23,57"),
        ("timegate.series.fragments.read_fragment",),
    ),
    "event ids": Target(
        lambda octets: read_event_id(_text(octets)),
        (),
        (b"0123456789abcdef-17-20161122112029", b"a-1-0"),
        ("timegate.following.feeds.read_event_id",),
    ),
    "captures page": Target(
        lambda octets: CaptureFields.of(_text(octets)).filter(),
        (),
        (
            b"http%3A%2F%2Fexample.org%2F?archive=a&status=2xx&from=2005&to=June+2010&page=2",
            b"http://example.org/?from=2005",
        ),
        (),
    ),
    "content codings": Target(
        _coding,
        (BadCoding,),
        (
            b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\xc8\x04\0\xac*\x93\xd8\x02\0\0\0",
            b"x\x9c\x03\0\0\0\0\x01",
        ),
        (),
    ),
    "responses of archives": Target(
        _response,
        (BrokenResponse,),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            b"HTTP/1.1 103 Early\r\n\r\n" + _CHUNKED,
        ),
        (),
    ),
    "Redis": Target(
        lambda octets: parse_address(_text(octets)),
        (ValueError,),
        (b"redis://user:secret@localhost:6379/0?ssl=1", b"unix:///run/redis.sock"),
        ("timegate.redis.address.parse_address",),
    ),
    **{
        f"archives of kind {kind}": Target(
            adapter(kind),
            (ArchiveError,),
            (
                _ANSWER,
                _MEMENTO,
                b"200\nContent-Type: application/json\n\n" + _CDXJ,
                b"200\n\n" + _LINK,
                b"200\n\n" + _AVAILABLE,
                b"404\n\n",
            ),
            (),
        )
        for kind in ("memento", "wayback", "cdx", "original")
    },
}

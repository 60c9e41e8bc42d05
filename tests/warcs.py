"""Small WARC, ARC and WACZ files of every kind, as bytes.

They are written without a library, so that they can be wrong on purpose.
"""

import base64
import gzip
import hashlib
import io
import zipfile
from collections.abc import Callable

DAY = "2020-02-20T20:20:20Z"
PAGE = b"<html><title>A page</title><p>Some text.</p></html>\n" * 8
# "brotli, brotli\n" as the reference encoder writes it at quality 0: a stored block.
BROTLI = b"\x0b\x07\x80brotli, brotli\n\x03"


def digest(payload: bytes) -> str:
    octets = hashlib.sha1(payload, usedforsecurity=False).digest()
    return "sha1:" + base64.b32encode(octets).decode()


def record(  # noqa: PLR0913 - one parameter per line of the head
    block: bytes,
    kind: str = "response",
    url: str | None = "http://example.com/",
    *,
    date: str | None = DAY,
    mime: str | None = "application/http; msgtype=response",
    length: str | None = None,
    version: str = "1.0",
    **fields: str,
) -> bytes:
    """Return a record; *fields* are named like ``payload_digest`` for WARC-Payload-Digest."""
    lines = [f"WARC/{version}", f"WARC-Type: {kind}"]
    lines += [f"WARC-Target-URI: {url}"] if url is not None else []
    lines += [f"WARC-Date: {date}"] if date is not None else []
    lines += [f"Content-Type: {mime}"] if mime is not None else []
    lines += [f"WARC-{_spelled(name)}: {value}" for name, value in fields.items()]
    lines += [f"Content-Length: {len(block) if length is None else length}"]
    return "\r\n".join([*lines, "", ""]).encode() + block + b"\r\n\r\n"


def _spelled(name: str) -> str:
    words = name.replace("_", "-").title()
    return words.replace("Uri", "URI").replace("Id", "ID")


def answer(
    payload: bytes = PAGE, status: str = "200 OK", mime: str = "text/html", **fields: str
) -> bytes:
    """Return an HTTP response; *fields* are named like ``transfer_encoding``."""
    head = [f"HTTP/1.1 {status}", f"Content-Type: {mime}"]
    head += [f"{name.replace('_', '-').title()}: {value}" for name, value in fields.items()]
    return "\r\n".join([*head, "", ""]).encode() + payload


def chunked(payload: bytes, size: int = 100) -> bytes:
    chunks = (payload[at : at + size] for at in range(0, len(payload), size))
    return b"".join(b"%x\r\n%s\r\n" % (len(data), data) for data in chunks) + b"0\r\n\r\n"


def response(url: str = "http://example.com/", date: str = DAY, payload: bytes = PAGE) -> bytes:
    """Return the usual response record: a page, with its payload digest."""
    return record(answer(payload), url=url, date=date, payload_digest=digest(payload))


def warcinfo() -> bytes:
    block = b"software: none\r\nformat: WARC File Format 1.0\r\n"
    return record(block, "warcinfo", None, mime="application/warc-fields")


def request(url: str = "http://example.com/") -> bytes:
    block = b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"
    return record(block, "request", url, mime="application/http; msgtype=request")


def revisit(url: str = "http://example.com/", payload: bytes = PAGE, **fields: str) -> bytes:
    return record(
        answer(b""),
        "revisit",
        url,
        date="2021-02-20T20:20:20Z",
        profile="http://netpreserve.org/warc/1.0/revisit/identical-payload-digest",
        payload_digest=digest(payload),
        **fields,
    )


def arc_line(url: str, length: int | str, date: str = "20140216050221") -> bytes:
    return f"{url} 192.0.2.1 {date} text/html {length}\n".encode()


def arc_header() -> bytes:
    block = b"1 0 Nobody\nURL IP-address Archive-date Content-type Archive-length\n"
    line = f"filedesc://some.arc 0.0.0.0 20140216050221 text/plain {len(block)}\n"
    return line.encode() + block + b"\n"


def arc_record(url: str = "http://example.com/", block: bytes | None = None) -> bytes:
    block = answer() if block is None else block
    return arc_line(url, len(block)) + block + b"\n"


def plain(*records: bytes) -> bytes:
    return b"".join(records)


def gzipped(*records: bytes) -> bytes:
    """Return each record as its own gzip member, as the standard recommends."""
    return b"".join(gzip.compress(data, mtime=0) for data in records)


def wacz(files: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a ZIP file whose entries have a fixed date."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", compression) as archive:
        for name, octets in files.items():
            entry = zipfile.ZipInfo(name, (2020, 2, 20, 20, 20, 20))
            entry.compress_type = compression
            archive.writestr(entry, octets)
    return written.getvalue()


def every_kind() -> dict[str, list[bytes]]:
    """Return the records of intact WARC files, by their peculiarity."""
    coded = gzip.compress(PAGE, mtime=0)
    return {
        "usual": [warcinfo(), response(), request()],
        "revisit": [response(), revisit(refers_to_target_uri="http://example.com/")],
        "revisit without a head": [
            record(b"", "revisit", mime=None, payload_digest=digest(PAGE)),
        ],
        "revisit without a digest": [record(answer(b""), "revisit")],
        "no digest": [record(answer())],
        "sha256": [record(answer(), payload_digest="sha256:" + "a" * 64)],
        "chunked": [record(answer(chunked(PAGE), transfer_encoding="chunked"))],
        "chunked only in name": [record(answer(PAGE, transfer_encoding="chunked"))],
        "chunked, cut off": [
            record(answer(chunked(PAGE)[:150], transfer_encoding="chunked")),
        ],
        "gzip in gzip": [record(answer(coded, content_encoding="gzip"))],
        "chunked gzip": [
            record(answer(chunked(coded), content_encoding="gzip", transfer_encoding="chunked"))
        ],
        "brotli": [record(answer(BROTLI, content_encoding="br"))],
        "wget's brackets": [record(answer(), url="<http://example.com/wget>")],
        "resource": [record(PAGE, "resource", mime="text/html; charset=utf-8")],
        "resource without HTTP": [
            record(PAGE, "resource", "urn:thumbnail:http://example.com/", mime="image/png")
        ],
        "metadata": [
            record(b"outlink: x\r\n", "metadata", mime="application/warc-fields"),
            record(b'{"a": 1}', "metadata", "metadata://example.com/a", mime="text/json"),
        ],
        "conversion": [record(PAGE, "conversion", mime="text/plain")],
        "dns": [
            record(b"20200220\nexample.com. A", "response", "dns:example.com", mime="text/dns")
        ],
        "redirect": [record(answer(b"", "301 Moved", location="http://example.com/b"))],
        "no reason": [record(answer(PAGE, "404"))],
        "no type": [record(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE)],
        "a type with parameters": [record(answer(mime='text/html;charset="utf-8"'))],
        "an empty answer": [record(answer(b"", "204 No Content"))],
        "a head and nothing else": [record(b"HTTP/1.1 200 OK\r\nServer: x\r\n")],
        "lines that end in LF": [
            record(answer().replace(b"\r\n", b"\n")).replace(b"\r\n", b"\n"),
        ],
        "folded lines": [
            record(answer()).replace(b"WARC-Type:", b"X-Long: a\r\n b\r\n\tc\r\nWARC-Type:"),
        ],
        "a blank in the URL": [record(answer(), url="http://example.com/a b")],
        "a URL in UTF-8": [record(answer(), url="http://example.com/é")],
        "WARC 0.18": [record(answer(), version="0.18")],
        "WARC 1.1": [record(answer(), version="1.1", date="2020-02-20T20:20:20.123456Z")],
    }


def every_arc() -> dict[str, list[bytes]]:
    """Return the records of intact ARC files."""
    return {
        "usual": [arc_header(), arc_record(), arc_record("http://example.com/b")],
        "a blank in the URL": [arc_header(), arc_record("http://example.com/a b")],
        "dns": [arc_header(), arc_record("dns:example.com", b"20140216\nexample.com. A")],
    }


LAYOUTS: dict[str, Callable[..., bytes]] = {"plain": plain, "gzip": gzipped}

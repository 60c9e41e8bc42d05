"""Archived sites for replay: made-up pages with all kinds of parts, as records of WARCs."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.warcs import answer, gzipped, record

DAY = "2010-06-01T12:00:00Z"
STAMP = "20100601120000"


@dataclass(frozen=True, slots=True)
class ArchivedPart:
    """One archived file."""

    url: str
    body: bytes
    mime: str = "text/html; charset=utf-8"
    date: str = DAY
    status: str = "200 OK"
    location: str = ""

    @property
    def record(self) -> bytes:
        """The record of a WARC file."""
        fields = {"location": self.location} if self.location else {}
        block = answer(self.body, self.status, self.mime, **fields)
        return record(block, url=self.url, date=self.date)


def png(color: tuple[int, int, int], width: int = 40, height: int = 40) -> bytes:
    """Return a picture of one color."""

    def chunk(name: bytes, data: bytes) -> bytes:
        checked = name + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = b"".join(b"\x00" + bytes(color) * width for _ in range(height))
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", head),
            chunk(b"IDAT", zlib.compress(rows)),
            chunk(b"IEND", b""),
        )
    )


RED, GREEN, BLUE = png((200, 30, 30)), png((30, 160, 60)), png((30, 60, 200))
GOLD, PINK, GREY = png((220, 180, 20)), png((230, 120, 180)), png((120, 120, 120), 8, 8)
IMAGE, CSS = "image/png", "text/css"

STATIC = "http://static.example/"
_STATIC = (
    ArchivedPart(
        STATIC,
        b"""<!doctype html><html><head><title>A static site</title>
<link rel="stylesheet" href="style/site.css"><link rel="icon" href="/icon.png">
<style>@import url("style/extra.css"); h2 { background: url(img/head.png) no-repeat }</style>
</head><body><h1>Lighthouses</h1><h2>of the coast</h2>
<p style="background: url('img/inline.png') repeat-x; height: 40px">inline</p>
<img src="img/one.png" alt="one">
<img src="img/old.png" srcset="img/small.png 1x, img/big.png 2x" alt="two">
<picture><source media="(min-width: 5000px)" srcset="img/huge.png">
<img src="img/pic.png" alt="three"></picture>
<iframe src="frame.html" width="300" height="120"></iframe>
<p><a href="next.html?a=1&amp;b=2#end">Next</a> <a href="http://far.example/">Far</a></p>
<noscript><img src="img/noscript.png" alt=""></noscript></body></html>""",
    ),
    ArchivedPart(
        f"{STATIC}style/site.css",
        b"""@font-face { font-family: Lamp; src: url(lamp.woff2) format("woff2") }
body { background: #eef url( "../img/back.png" ) repeat-y;
  font: 18px Lamp, serif; margin: 10px 60px }
@media print { body { background: url(../img/print.png) } }""",
        CSS,
    ),
    ArchivedPart(
        f"{STATIC}style/extra.css", b"h1{color:#a00;background:url(../img/extra.png)}", CSS
    ),
    ArchivedPart(f"{STATIC}style/lamp.woff2", b"wOF2 not really a font", "font/woff2"),
    ArchivedPart(
        f"{STATIC}frame.html",
        b"<link rel=stylesheet href=style/extra.css><h1>Frame</h1><img src=img/framed.png>"
        b'<a href="inner.html">stays</a>',
    ),
    ArchivedPart(f"{STATIC}inner.html", b"<h1>Inner page</h1>"),
    ArchivedPart(f"{STATIC}next.html?a=1&b=2", b"<title>Next</title><h1>The next page</h1>"),
    *(
        ArchivedPart(f"{STATIC}img/{name}.png", body, IMAGE)
        for name, body in {
            "one": RED,
            "old": GREEN,
            "small": BLUE,
            "pic": GOLD,
            "framed": PINK,
            "noscript": RED,
            **dict.fromkeys(("head", "inline", "back", "extra"), GREY),
        }.items()
    ),
    ArchivedPart("http://far.example/", b"<title>Far</title>", date="2019-01-01T00:00:00Z"),
)
OLD = "http://old.example/~home/index.html"
_OLD = (
    ArchivedPart(
        OLD,
        b"""<HTML><HEAD><TITLE>My Home Page</TITLE><BASE HREF="http://old.example/~home/"></HEAD>
<BODY BACKGROUND="back.gif" BGCOLOR=#FFFFCC TEXT=black onLoad="alert('hi')">
<CENTER><FONT SIZE=+2 COLOR=navy>Welcome!
<P><TABLE BORDER=1 BACKGROUND=cell.gif><TR><TD>One<TD>
<IMG SRC=under.gif ALT="[construction]" WIDTH=40 HEIGHT=40>
</TABLE></FONT><HR><A HREF=links.html>Links</A> <BLINK>new</BLINK></CENTER></BODY></HTML>""",
        "text/html",
        "1998-03-01T00:00:00Z",
    ),
    *(
        ArchivedPart(
            f"http://old.example/~home/{name}.gif", body, IMAGE, "1998-03-02T00:00:00Z"
        )
        for name, body in {"back": GREY, "cell": GOLD, "under": RED}.items()
    ),
)
FRAMES = "http://old.example/frames.html"
_FRAMES = (
    ArchivedPart(
        FRAMES,
        b'<html><frameset cols="30%,70%"><frame src=menu.html name=menu>'
        b"<frame src=main.html name=main>"
        b"<noframes><body>No frames</body></noframes></frameset></html>",
        "text/html",
    ),
    ArchivedPart(
        "http://old.example/menu.html", b"<base target=main><a href=other.html>Other</a>"
    ),
    ArchivedPart("http://old.example/main.html", b"<h1>Main</h1><img src=/~home/under.gif>"),
)
JAPANESE = "http://japan.example/"
_JAPANESE = (
    ArchivedPart(
        JAPANESE,
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=Shift_JIS">'
        '<title>灯台の表</title><link rel=stylesheet href="s.css"></head><body>'
        "<h1>灯台の能力表</h1>"
        '<img src="i.png"><a href="検索?q=表">検索</a></body></html>'.encode("cp932"),
        "text/html",
    ),
    ArchivedPart(
        f"{JAPANESE}s.css",
        '@charset "Shift_JIS"; h1 { color: green; font-family: "表" }'.encode("cp932"),
        CSS,
    ),
    ArchivedPart(f"{JAPANESE}i.png", PINK, IMAGE),
)
BROKEN = "http://broken.example/"
_BROKEN = (
    ArchivedPart(
        BROKEN,
        b"""<title>Broken</title><body bgcolor="#ffeecc">
<b>bold<p>still <i>both</b> italic</p></i>
<table><tr><td>cell<td><img src="a.png" <div>stray</table></span></p><br/>x</br>
<a href='a.html>unclosed quote</a> <img src='b.png'><ul><li>one<li>two</ul>
<img src=c.png alt="1 < 2" / ><!-- a comment -- > still --> after <![if !IE]>shown<![endif]>
<p>&copy &amp &nosuch; 3 < 4 <5 <textarea><img src=d.png></textarea>
<style>p { color: navy } </style""",
    ),
    *(ArchivedPart(f"{BROKEN}{name}.png", BLUE, IMAGE) for name in "abcd"),
)
SCATTERED = "http://scattered.example/"
"""A page whose parts are in three archives."""
_SCATTERED = (
    ArchivedPart(
        SCATTERED,
        b"<title>Scattered</title><link rel=stylesheet href=s.css>"
        b"<img src=a.png><img src=b.png><img src=gone.png><script src=s.js></script>",
    ),
    ArchivedPart(f"{SCATTERED}a.png", RED, IMAGE),
)
_SECOND = (
    ArchivedPart(f"{SCATTERED}s.css", b"body{background:url(c.png)}", CSS),
    ArchivedPart(f"{SCATTERED}b.png", b"", IMAGE, status="404 Not Found"),
)
_THIRD = (
    ArchivedPart(f"{SCATTERED}b.png", GREEN, IMAGE, "2011-01-01T00:00:00Z"),
    ArchivedPart(f"{SCATTERED}c.png", BLUE, IMAGE, "2009-01-01T00:00:00Z"),
)
SITES = (*_STATIC, *_OLD, *_FRAMES, *_JAPANESE, *_BROKEN)
ARCHIVES = {"first": (*SITES, *_SCATTERED), "second": _SECOND, "third": _THIRD}


def write_warc(folder: Path, parts: Sequence[ArchivedPart]) -> None:
    """Write *parts* into one WARC file in *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sites.warc.gz").write_bytes(gzipped(*(part.record for part in parts)))

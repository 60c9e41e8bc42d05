"""Hostile clients: what one of them sends harms nobody else, and reaches no archive."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

from tests.attack.rig import (
    PAGE,
    STAMP,
    ScriptedArchive,
    asking,
    entry,
    exchange,
    healthy,
    scripted,
    settled,
    until,
)
from tests.chaos.rig.asking import Answer, Client, percentile, statuses
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.rig.tracer import opened, strace_files
from tests.chaos.rig.warc_files import entry as collection
from tests.chaos.rig.warc_files import pages, write
from tests.chaos.scenario import Rig, Scenario

_MARK: Final = "X-Smuggled: yes"


@asynccontextmanager
async def _served(
    rig: Rig, config: str = "", *, more: str = ""
) -> AsyncIterator[tuple[TimeGate, ScriptedArchive]]:
    """Serve one healthy archive; *more* are keys of its entry."""
    async with scripted(lambda _method, _target: None) as archive:
        archive.answering = healthy(lambda: archive.base)
        text = config + entry("good", archive.base, more)
        with timegate(rig.place("t"), text) as server:
            yield server, archive


async def injected_by_clients(rig: Rig) -> None:
    """Line breaks in targets, identifiers and headers (R-8)."""
    breaks = (
        "%0d%0a",
        "%0D%0A%20",
        "%0a",
        "%0d",
        "%E5%98%8A%E5%98%8D",
        "%00",
        "\\r\\n",
        "%u000a",
    )
    routes = (
        "/timegate/",
        "/resolve/",
        f"/web/{STAMP}/",
        "/timemap/link/",
        f"/memento/{STAMP}/",
    )
    targets = [f"{route}{PAGE}{b}{_MARK}" for route in routes for b in breaks]
    targets += [f"/resolve/duri:2016:{PAGE}{b}{_MARK}" for b in breaks]
    targets += [f"/{PAGE}{b}{_MARK}?as={b}{_MARK}" for b in breaks]
    values = ("gzip\n", "a\rb", "\x0b", "\x85", 'x"; y="')
    async with _served(rig) as (server, archive):
        client = asking(server.port)
        answers = await client.at_once([t.replace(" ", "%20") for t in targets], 8)
        for value in values:
            fields = f"Prefer: archives={value}{_MARK}\r\nAccept-Datetime: {value}"
            octets = f"GET /timegate/{PAGE} HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n"
            received = await exchange(server.port, octets.encode("latin-1"), 0.5)
            answers.append(
                Answer("", 500 * (b" 500 " in received), 0, 0, received.decode("latin-1"))
            )
    ours = [a for a in answers if f"\n{_MARK}" in a.head or f"\r{_MARK}" in a.head]
    theirs = [head for head in archive.heads if f"\n{_MARK}" in head or f"\r{_MARK}" in head]
    failed = [a for a in answers if a.status == 500]
    rig.promise(
        f"{len(targets) + len(values)} line breaks in targets and headers: new header lines",
        f"{len(ours)} in responses, {len(theirs)} in {len(archive.heads)} requests; "
        f"{len(failed)} answered 500",
        "0, 0, 0",
        met=not ours and not theirs and not failed,
    )


async def poisoned_caches(rig: Rig) -> None:
    """Headers that are no part of the key of a response must not change it (R-10)."""
    poisons: tuple[Mapping[str, str], ...] = (
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example"},
        {"X-Forwarded-Proto": "evil", "Forwarded": "host=evil.example;proto=evil"},
        {"X-Original-URL": "/resolve/evil", "X-Rewrite-URL": "/resolve/evil"},
        {"X-HTTP-Method-Override": "POST", "X-Host": "evil.example"},
        {
            "Cookie": "evil=1",
            "Authorization": "Basic ZXZpbDpldmls",
            "Origin": "http://evil.example",
        },
        {"Range": "bytes=0-0", "If-None-Match": "*", "If-Modified-Since": "evil"},
        {"Accept": "text/evil", "Accept-Language": "evil", "Accept-Encoding": "evil"},
    )
    routes = (
        "/timegate/{}",
        "/timemap/json/{}",
        "/resolve/duri:2016:{}?as=json",
        "/resolve/{}?as=html",
    )
    wrong, failed = [], []
    async with _served(rig) as (server, _):
        clean = asking(server.port)
        for number, poison in enumerate(poisons):
            for route in routes:
                target = route.format(f"{PAGE}{number}")
                lines = "".join(f"{k}: {v}\r\n" for k, v in poison.items())
                host = "" if "Host" in poison else "Host: localhost\r\n"
                head = f"GET {target} HTTP/1.1\r\n{host}{lines}Connection: close\r\n\r\n"
                received = await exchange(server.port, head.encode(), 5.0)
                after = await clean.ask(target)
                if "evil" in after.head + after.body.decode(errors="replace"):
                    wrong.append(f"{target} {dict(poison)}")
                if after.status not in (200, 302) or b" 500 " in received[:20]:
                    failed.append(f"{target}: {after.status} after {dict(poison)}")
    rig.promise(
        f"{len(poisons)} sets of headers at {len(routes)} routes: later clients are led astray",
        f"{len(wrong)} {wrong[:2] or ''}, {len(failed)} fail {failed[:2] or ''}",
        "0, 0",
        met=not wrong and not failed,
    )


async def told_to_archives(rig: Rig) -> None:
    """PP-01: archives see nothing of the client."""
    secrets = {
        "Cookie": "sid=SECRET1",
        "Authorization": "Bearer SECRET2",
        "Referer": "http://SECRET3.example/",
        "From": "SECRET4@example.org",
        "X-Forwarded-For": "203.0.113.77",
        "Accept-Language": "x-SECRET5",
        "User-Agent": "SECRET6",
        "DNT": "1",
    }
    async with _served(rig) as (server, archive):
        client = asking(server.port, **{k.replace("-", "_"): v for k, v in secrets.items()})
        answers = await client.at_once(
            [
                "/timegate/http://user:SECRET7@page.example/",
                f"/timemap/link/{PAGE}#SECRET8",
                f"/web/{STAMP}id_/{PAGE}",
                f"/resolve/duri:2016:{PAGE}",
            ],
            1,
        )
    leaked = sorted(
        {s for h in archive.heads for s in (*secrets.values(), "SECRET7") if s in h}
    )
    names = sorted(
        {line.partition(":")[0] for h in archive.heads for line in h.split("\r\n")[1:] if line}
    )
    rig.promise(
        f"{len(secrets)} headers of a client, a user name in a URL: seen by archives",
        f"{leaked or 'nothing'} in {len(archive.heads)} requests ({', '.join(names)}); "
        f"{statuses(answers)}",
        "nothing",
        met=not [s for s in leaked if s != "1"]
        and "Cookie" not in names
        and "DNT" not in names,
    )


async def nested_references(rig: Rig) -> None:
    """References in references beyond P-23 are refused without a request (16.7)."""
    inner = f"https://web.archive.org/web/{STAMP}/"
    nested = [
        *(f"duri:2016:{'duri:2016:' * n}{PAGE}" for n in (1, 6, 200)),
        *(f"urn:pwid:a.example:2016-01-22T11:20:29Z:page:{inner * n}{PAGE}" for n in (7, 100)),
        *(f"{inner * n}{PAGE}" for n in (8, 100)),
        f"duri:2016:tdb:2016:{PAGE}",
    ]
    async with _served(rig) as (server, archive):
        client = asking(server.port)
        answers = [await client.ask(f"/resolve/{text}") for text in nested]
        asked = len(archive.heads)
    rig.promise(
        f"{len(nested)} nested references",
        f"{statuses(answers)}, {asked} requests to archives",
        "400 or 422, 0",
        met=all(a.status in (400, 414, 422) for a in answers) and not asked,
    )


async def bad_habits(rig: Rig) -> None:
    """Some dozen clients of each bad habit, and a normal one (16.3)."""
    number = rig.scaled(60, 30)
    half = b"GET /timegate/http://x HTTP/1.1\r\nHos"
    body = b"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nduri:2016:"
    items = b"".join(b"no identifier %d\n" % n for n in range(2000))
    unread = (
        b"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(items) + items
    )
    async with _served(rig) as (server, _):
        for name, octets in (
            ("half heads", half),
            ("half bodies", body),
            ("not reading", unread),
        ):
            writers = []
            for n in range(number):
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", server.port, local_addr=(f"127.0.7.{n + 1}", 0), limit=1024
                )
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(octets)
                writers.append(writer)
            await asyncio.sleep(1.0)
            normal = await asking(server.port).at_once(
                [f"/timegate/{PAGE}{name.replace(' ', '-')}/{n}" for n in range(40)], 4
            )
            ready = await Client(server.port).ask("/readyz")
            for writer in writers:
                writer.transport.abort()
            rig.promise(
                f"{number} clients with {name}: a normal client",
                f"{statuses(normal)}, {percentile(normal, 0.99):.2f} s, readyz {ready.status}",
                "40 x 302",
                met=all(a.status == 302 for a in normal),
            )
        alive = server.running.alive
    rig.promise("the server afterwards", "alive" if alive else "dead", "alive", met=alive)


async def restricted(rig: Rig) -> None:
    """What others learn of an archive that is restricted to a network (16.7)."""
    config = '[limits]\ntrusted_proxies = ["127.0.0.1"]\n'
    paths = (
        *("/archives", "/archives/good", "/metrics", "/readyz", "/about", "/monitor", "/"),
        f"/timegate/{PAGE}",
        f"/timemap/link/{PAGE}",
        f"/resolve/urn:pwid:good.example:2016-01-22T11:20:29Z:page:{PAGE}",
        f"/resolve/duri:2016:{PAGE}?as=json&archives=good",
        f"/cdx?url={PAGE}",
    )
    async with _served(rig, config, more='restricted_to = ["10.0.0.0/8"]\n') as (
        server,
        archive,
    ):
        inside = asking(server.port, X_Forwarded_For="10.1.2.3")
        outside = asking(server.port, X_Forwarded_For="203.0.113.7")
        spoofed = asking(
            server.port, X_Forwarded_For="10.1.2.3, 203.0.113.7", Forwarded="for=10.1.2.3"
        )
        inside = Client(server.port, inside.date, inside.headers, 5, "127.0.0.1")
        first = await inside.ask(f"/timegate/{PAGE}")
        asked = len(archive.heads)
        told = []
        for client in (outside, spoofed):
            from_proxy = Client(server.port, client.date, client.headers, 2, "127.0.0.1")
            told += [await from_proxy.ask(path) for path in paths]
        later = len(archive.heads) - asked
    port = str(archive.port)
    leaks = [a.target for a in told if port in a.head or port.encode() in a.body]
    counted = [
        a.target for a in told if b'archive="good"' in a.body or b"last_success" in a.body
    ]
    rig.promise(
        f"clients outside its network at {len(paths)} routes, also with a forged address",
        f"its address in {len(leaks)} {leaks[:3] or ''}, counters in {len(counted)} "
        f"{counted[:3] or ''}, {later} requests (inside: {first.status})",
        "0, 0, 0",
        met=not leaks and not counted and not later and first.status == 302,
    )


async def paths_outside(rig: Rig) -> None:
    """SE-20: paths that lead out of the folders of pages and collections."""
    folder = rig.place("collection")
    (rig.folder / "secret.txt").write_text("the secret")
    held = pages("p", 2)
    write(folder / "one.warc.gz", held)
    log = rig.folder / "strace"
    ups = (
        "../",
        "..%2f",
        "%2e%2e/",
        "....//",
        "%2e%2e%2f",
        "..\\",
        "..%5c",
        "%252e%252e/",
        "/",
    )
    ends = ("secret.txt", "etc/passwd", "timegate.toml")
    targets = [
        f"{root}{up * 6}{end}"
        for root in ("/static/", "/collections/", "/collections/mine/", "/archives/", "/list/")
        for up in ups
        for end in ends
    ]
    targets += ["/static/%00", "/static/style.css%00.txt", "/static/.", "/collections/mine/%00"]
    with timegate(rig.place("t"), collection(folder), before=strace_files(log)) as server:
        client = Client(server.port, date=None)
        own = f"/collections/mine/20200220202020id_/{next(iter(held))}"
        good = await settled(client, own)
        begun = len(opened(log))
        answers = await client.at_once(targets, 8)
    read = [name for name in opened(log)[begun:] if _is_outside(name, rig.folder)]
    shown = [a.target for a in answers if b"the secret" in a.body or b"root:" in a.body]
    rig.promise(
        f"{len(targets)} paths that lead outside",
        f"{statuses(answers)}; {len(shown)} read {shown[:2] or ''}, "
        f"opened by the process: {read[:3] or 'nothing'} (a good one: {good.status})",
        "nothing opened, no 500",
        met=not shown and not read and all(a.status not in (0, 500) for a in answers),
    )


def _is_outside(name: str, folder: Path) -> bool:
    path = Path(name)
    return path.name in ("secret.txt", "passwd") or (
        path.name == "timegate.toml" and path.is_relative_to(folder)
    )


class _Scripts(HTMLParser):
    """Finds what runs: elements and attributes that a payload added."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}")
        if tag in ("evil", "img", "iframe", "object", "embed", "base") and any(
            "alert" in (value or "") or name == "srcdoc" for name, value in attrs
        ):
            self.found.append(tag)


async def scripts_in_pages(rig: Rig) -> None:
    """SE-13: markup in references, names and headers stays text on every page."""
    payloads = (
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "'><svg/onload=alert(1)>",
        "javascript:alert(1)",
        "</title><script>alert(1)</script>",
        "{{7*7}}<iframe srcdoc='<script>alert(1)</script>'>",
        "<a href=javascript:alert(1)>x",
        "--><script>alert(1)</script>",
    )
    routes = (
        *("/resolve/{}", "/?q={}", "/timegate/{}", "/resolve/http://x.example/{}?as=html"),
        *("/archives/{}", "/collections/{}", "/list/html/2016/http://x.example/{}", "/{}"),
        *("/resolve/duri:2016:http://x.example/?as={}", "/timemap/{}/http://x.example/"),
    )
    running, failed, pages_seen = [], [], 0
    async with _served(rig) as (server, _):
        client = asking(server.port, Accept="text/html", Prefer='archives="<script>alert(1)"')
        for route in routes:
            for payload in payloads:
                for text in (_quoted(payload), payload.replace(" ", "%20").replace("\r", "")):
                    answer = await client.ask(route.format(text))
                    kind = answer.header("Content-Type") or ""
                    if "html" in kind:
                        pages_seen += 1
                        parser = _Scripts()
                        parser.feed(answer.body.decode(errors="replace"))
                        if parser.found or b"<script>alert" in answer.body:
                            running.append(f"{answer.target}: {parser.found}")
                    if answer.status in (0, 500):
                        failed.append(f"{answer.target}: {answer.status} {answer.trouble}")
    rig.promise(
        f"{len(payloads)} payloads at {len(routes)} routes: run on {pages_seen} pages",
        f"{len(running)} {running[:2] or ''}, {len(failed)} without answer {failed[:2] or ''}",
        "0, 0",
        met=not running and not failed and pages_seen > 50,
    )


def _quoted(text: str) -> str:
    return "".join(f"%{octet:02X}" for octet in text.encode())


async def batch_cells(rig: Rig) -> None:
    """T7: a date that breaks the parser of dates costs its row only."""
    cell = "20160122112010122112016012211201601:21" * 3
    csv = f'url,date\n{PAGE}1,2016-01-22\n{PAGE}2,"{cell}"\n{PAGE}3,2016-01-22\n'
    async with _served(rig) as (server, _):
        head = (
            "POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Type: text/csv\r\n"
            f"Connection: close\r\nContent-Length: {len(csv)}\r\n\r\n"
        )
        received = await exchange(server.port, (head + csv).encode(), 8.0)
        await until(lambda: server.running.alive, 1)
    rows = received.count(b'"input"') or received.count(b"\n")
    found = received.count(f"web/{STAMP}/{PAGE}".encode()) > 0
    rig.promise(
        "a table with a date of 114 digits among three rows",
        f"{received[:15].decode()}, {rows} rows",
        "200, the others resolved",
        met=b" 200 " in received[:20] and found and f"{PAGE}3".encode() in received,
    )


SCENARIOS: Final = (
    Scenario("injected-by-clients", "S18, R-8", injected_by_clients, 120),
    Scenario("poisoned-caches", "R-10", poisoned_caches, 180),
    Scenario("told-to-archives", "PP-01, R-23", told_to_archives, 120),
    Scenario("nested-references", "16.7, P-23", nested_references, 120),
    Scenario("few-bad-habits", "16.3, T2", bad_habits, 180),
    Scenario("restricted", "16.7, R-27, SE-23", restricted, 120),
    Scenario("paths-outside", "SE-20", paths_outside, 180),
    Scenario("scripts-in-pages", "SE-13, R-6", scripts_in_pages, 240),
    Scenario("batch-cells", "16.7, T7", batch_cells, 120),
)

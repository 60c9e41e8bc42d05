"""Fake archives for the benchmark of lists: python -m tests.bench.batch_archives COUNT DELAY

Archive *n* is below ``/a{n}/``. It holds one capture of every page, of 2015-06-01, 12:00:
``timegate/{url}`` redirects to it, ``{stamp}/{url}`` is it, and ``cdx`` answers for one page
or for a whole host (``matchType=host``) with 60 pages. ``/stats`` has the times of all
requests by archive. Answers take DELAY seconds. Prints its port.
"""

import asyncio
import json
import sys
import time
from email.utils import format_datetime
from urllib.parse import parse_qs, unquote, urlsplit

from archives.surt import surt
from tests.bench.archives import EPOCH

AT = EPOCH.replace(year=2015, month=6, hour=12)
STAMP = f"{AT:%Y%m%d%H%M%S}"
PAGES = 60


def page(host: int, number: int) -> str:
    return f"http://host{host}.example/{number:03}"


class World:
    """The archives, and when they were asked."""

    def __init__(self, count: int, delay: float) -> None:
        self.times: list[list[float]] = [[] for _ in range(count)]
        self.delay = delay

    async def answer(self, target: str, base: str) -> tuple[int, str, bytes]:
        if target == "/stats":
            return 200, "", json.dumps(self.times).encode()
        _, name, rest = target.split("/", 2)
        self.times[int(name[1:])].append(time.monotonic())
        await asyncio.sleep(self.delay)
        home = f"{base}/{name}"
        if rest.startswith("cdx?"):
            return 200, "Content-Type: application/json\r\n", _rows(rest)
        kind, _, url = rest.partition("/")
        if "absent" in url:
            return 404, "", b""
        when = format_datetime(AT, usegmt=True)
        memento = f'<{home}/{STAMP}/{url}>; rel="first last memento"; datetime="{when}"'
        timegate = f'<{home}/timegate/{url}>; rel="timegate"'
        links = f'Link: <{url}>; rel="original", {timegate}, {memento}\r\n'
        if kind == "timegate":
            to = f"Location: {home}/{STAMP}/{url}\r\nVary: accept-datetime\r\n"
            return 302, to + links, b""
        if kind[:14] == STAMP:
            return 200, f"Memento-Datetime: {when}\r\n{links}", b"page"
        return 404, "", b""


def _rows(rest: str) -> bytes:
    query = {name: values[0] for name, values in parse_qs(urlsplit(rest).query).items()}
    url = unquote(query["url"])
    host = urlsplit(url if "://" in url else f"http://{url}").netloc
    of_host = query.get("matchType") == "host"
    pages = [f"http://{host}/{n:03}" for n in range(PAGES)] if of_host else [url]
    head = ["urlkey", "timestamp", "original", "mimetype", "statuscode", "digest", "length"]
    rows = [[surt(p), STAMP, p, "text/html", "200", "A" * 32, "9"] for p in pages]
    return json.dumps([head, *rows[: int(query.get("limit", "10000"))]]).encode()


async def serve(world: World) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        base = f"http://127.0.0.1:{writer.get_extra_info('sockname')[1]}"
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, target, _ = head.split(" ", 2)
                status, fields, body = await world.answer(target, base)
                reply = f"HTTP/1.1 {status} X\r\n{fields}Content-Length: {len(body)}\r\n\r\n"
                writer.write(reply.encode() + (b"" if method == "HEAD" else body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(World(int(sys.argv[1]), float(sys.argv[2]))))

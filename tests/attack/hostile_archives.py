"""One hostile archive beside a healthy one: what it says costs its own answer, and no other."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from tests.attack.rig import (
    DATE,
    PAGE,
    STAMP,
    ScriptedArchive,
    asking,
    entry,
    exchange,
    healthy,
    response,
    scripted,
    trap,
    until,
)
from tests.chaos.rig.asking import Answer, statuses
from tests.chaos.rig.timegates import TimeGate, free_port, timegate
from tests.chaos.rig.tracer import connected, strace
from tests.chaos.scenario import Rig, Scenario

_LATER: Final = "20160122122029"
_ABSURD: Final = "Thu, 31 May 2007 20:353535353535:00 GMT"
_URI: Final = re.compile(rb'"(?:uri|raw|href)": \[?"[^"]*"')
_EVIL: Final = "evil.example"
_ROUTES: Final = (
    "/timegate/{page}",
    f"/web/{STAMP}/{{page}}",
    f"/web/{STAMP}id_/{{page}}",
    f"/memento/{STAMP}/{{page}}",
    f"/memento/proxy/{STAMP}/{{page}}",
    "/resolve/duri:2016-01-22T11:20:29Z:{page}",
    "/resolve/duri:2016-01-22T11:20:29Z:{page}?as=json",
    "/timemap/link/{page}",
    "/timemap/json/{page}",
    "/cdx?url={page}",
    f"/api/json/{STAMP}/{{page}}",
)


class _Both(NamedTuple):
    """A server over a hostile archive and a healthy one."""

    server: TimeGate
    hostile: ScriptedArchive
    healthy: ScriptedArchive

    async def answers(self, page: str) -> list[Answer]:
        """Ask at every kind of route."""
        client = asking(self.server.port)
        return [await client.ask(route.format(page=page)) for route in _ROUTES]

    async def batch(self, *references: str) -> bytes:
        body = "\n".join(references).encode()
        head = f"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        return await exchange(
            self.server.port, head.encode() + b"Connection: close\r\n\r\n" + body, 8.0
        )


@asynccontextmanager
async def _both(
    rig: Rig, answering: Callable[[ScriptedArchive], object]
) -> AsyncIterator[_Both]:
    async with (
        scripted(lambda _method, _target: None) as hostile,
        scripted(lambda _method, _target: None) as good,
    ):
        good.answering = healthy(lambda: good.base, at=_LATER)
        answering(hostile)
        config = entry("hostile", hostile.base) + entry("good", good.base)
        with timegate(rig.place("t"), config) as server:
            yield _Both(server, hostile, good)


async def retry_after(rig: Rig) -> None:
    """A 429 with a date in Retry-After that no calendar has (T1)."""

    def rude(archive: ScriptedArchive) -> None:
        archive.answering = lambda _method, _target: response(
            "429 Too Many Requests", f"Retry-After: {_ABSURD}"
        )

    async with _both(rig, rude) as both:
        answers = [a for n in range(3) for a in await both.answers(f"{PAGE}{n}")]
        rows = await both.batch(*(f"duri:2016:{PAGE}batch{n}" for n in range(5)))
        asked = len(both.hostile.heads)
        state = await asyncio.to_thread(both.server.state, "hostile")
    bad = [a for a in answers if a.status not in (200, 302)]
    rig.promise(
        f"a 429 with Retry-After: {_ABSURD}, at {len(_ROUTES)} routes, 3 pages",
        f"{statuses(answers)}; the archive was asked {asked} times, {state.get('breaker')}",
        "each answered by the healthy archive; asked once, then left alone",
        met=not bad and asked <= 2,
    )
    found = rows.count(b'"evidence": {"value": "delivered"')
    rig.promise("the same in a batch of 5: rows with a copy", found, "5", met=found == 5)


class _Lie(NamedTuple):
    """An address of others, the kind of answer that names it, and the answer."""

    name: str
    form: str
    address: str
    octets: bytes


async def foreign_addresses(rig: Rig) -> None:
    """An archive names addresses of others in every field that has addresses (T3, T8)."""
    log = rig.folder / "strace"
    async with trap() as (trap_port, caught), scripted(lambda _m, _t: None) as hostile:
        own = free_port()
        lies = [
            _Lie(name, form, address, octets)
            for name, address in _foreign(hostile.port, trap_port, own).items()
            for form, octets in _forms(address).items()
        ]
        # Each has an archive of its own: one that lies is soon left alone.
        hostile.answering = lambda _method, target: lies[int(target.split("/")[1])].octets
        config = "".join(entry(f"h{n}", f"{hostile.base}/{n}") for n in range(len(lies)))
        async with scripted(lambda _m, _t: None) as good:
            good.answering = healthy(lambda: good.base, at=_LATER)
            with timegate(
                rig.place("t"),
                config + entry("good", good.base),
                before=strace(log),
                port=own,
            ) as server:
                told = [(lie, await _answers(server, n)) for n, lie in enumerate(lies)]
        heard = {head.split(" ")[1].split("/")[1] for head in hostile.heads}
        others = [at for at in connected(log) if at[1] not in (hostile.port, good.port)]
    answers = [answer for _, some in told for answer in some]
    leads = [
        f"{lie.name} in {lie.form}: {led}" for lie, some in told if (led := _led(some, lie))
    ]
    rig.promise(
        f"{len(heard)} lies about addresses, at {len(_ROUTES)} routes: handed out to clients",
        f"{len(leads)}{''.join(f'{chr(10)}    {lead}' for lead in leads[:20])}",
        "0",
        met=not leads and len(heard) == len(lies),
    )
    rig.promise(
        "connections to other addresses, by strace",
        f"{len(others)} {sorted(set(others))[:3] or ''} of {len(connected(log))}, "
        f"trap caught {len(caught)}",
        "0",
        met=not others and not caught and bool(connected(log)),
    )
    lost = [a for a in answers if a.status not in (200, 302)]
    rig.promise(
        "their answers", statuses(answers), "all from the healthy archive", met=not lost
    )


async def _answers(server: TimeGate, number: int) -> list[Answer]:
    client = asking(server.port, Prefer=f'archives="h{number},good"')
    page = f"{PAGE}{number}"
    return await client.at_once([route.format(page=page) for route in _ROUTES], 4)


def _foreign(port: int, trap_port: int, own: int) -> dict[str, str]:
    copy = f"/web/{STAMP}/http://phish.example/"
    return {
        "another host": f"http://{_EVIL}/phish",
        "another host, as a copy": f"http://{_EVIL}{copy}",
        "another port": f"//127.0.0.1:{trap_port}{copy}",
        "no port": f"http://127.0.0.1:80{copy}x",
        "a name before @": f"http://127.0.0.1:{port}@{_EVIL}{copy}",
        "our own address": f"http://127.0.0.1:{own}{copy}",
        "a script": f"javascript://{_EVIL}/%0aalert(1)",
        "a file": f"file://{_EVIL}/etc/passwd",
        "backslashes": f"http:\\\\{_EVIL}\\phish",
    }


def _forms(address: str) -> dict[str, bytes]:
    """Return the answers with *address*, by the place where it stands."""
    date = f"Memento-Datetime: {DATE}"
    memento = f'<{address}>; rel="memento"; datetime="{DATE}"'
    listed = f'<{PAGE}>; rel="original",\n{memento}\n'
    kind = "Content-Type: application/link-format"
    return {
        "Location": response("302 Found", f"Location: {address}"),
        "Location and Link": response("302 Found", f"Location: {address}", f"Link: {memento}"),
        "Link of a 200": response(
            "200 OK", date, f"Link: {memento}", "Vary: accept-datetime", body=b"x"
        ),
        "Content-Location": response(
            "200 OK", date, f"Content-Location: {address}", "Vary: accept-datetime", body=b"x"
        ),
        "TimeMap": response("200 OK", kind, body=listed.encode()),
    }


def _led(answers: list[Answer], lie: _Lie) -> str:
    """Return where answers lead a client to the address of a lie; empty if nowhere.

    Reports may quote what an archive said; addresses to follow are in headers and lists.
    """
    marks = ("Location: ", "Content-Location: ", "Link: ")
    core = lie.address.lstrip("/").replace("\\", "/").partition("://")[2] or lie.address[2:]
    for answer in answers:
        lines = [line for line in answer.head.split("\r\n") if line.startswith(marks)]
        if any(core in line for line in lines):
            return f"{answer.target} {next(line for line in lines if core in line)[:200]}"
        is_list = answer.target.startswith(("/timemap/link", "/cdx"))
        named = answer.body if is_list else b" ".join(_URI.findall(answer.body))
        if core.encode() in named:
            return f"{answer.target}, in its body"
    return ""


async def injected_headers(rig: Rig) -> None:
    """An archive tries to end a header of ours and to begin another (R-8)."""
    mark = "Set-Cookie: stolen"
    texts = (
        f"http://127.0.0.1/%0d%0a{mark}",
        f"http://127.0.0.1/\r\n {mark}",
        f"http://127.0.0.1/\r{mark}",
        f"http://127.0.0.1/\n{mark}",
        f'http://127.0.0.1/>; rel="x", <http://{_EVIL}/>; rel="memento"; datetime="{DATE}',
        f"http://127.0.0.1/\x85{mark}\x0b{mark}\x00",
    )
    answers: list[Answer] = []
    async with _both(rig, lambda _archive: None) as both:
        for number, text in enumerate(texts):
            base = both.hostile.base
            own = text.replace("http://127.0.0.1/", f"{base}/web/{STAMP}/{PAGE}{number}")
            link = f'<{own}>; rel="memento"; datetime="{DATE}"'
            both.hostile.answering = lambda _m, _t, own=own, link=link: response(  # type: ignore[misc]
                "302 Found", f"Location: {own}", f"Link: {link}", f"X-Archive-Orig-A: {own}"
            )
            answers += await both.answers(f"{PAGE}{number}")
    heads = [answer.head for answer in answers]
    failed = [a for a in answers if a.status in (0, 500)]
    names = {line.partition(":")[0] for head in heads for line in head.split("\r\n")[1:]}
    rig.promise(
        f"{len(texts)} line breaks in Location, Link and other fields: Set-Cookie in our heads",
        f"{sum(mark.partition(':')[0] in name for name in names)} of {len(heads)} responses",
        "0, no 500",
        met="Set-Cookie" not in names and not failed,
    )


async def hung_up(rig: Rig) -> None:
    """Clients that hang up while an archive is silent: its connections end (5)."""
    took: dict[str, float] = {}
    async with _both(rig, lambda _archive: None) as both:
        both.healthy.answering = lambda _method, _target: None
        for name, target in (
            ("TimeGate", f"/timegate/{PAGE}t"),
            ("identifier", f"/resolve/duri:2016:{PAGE}i"),
            ("TimeMap", f"/timemap/link/{PAGE}m"),
            ("raw bytes", f"/web/{STAMP}id_/{PAGE}r"),
        ):
            before = both.hostile.opened + both.healthy.opened
            _, writer = await asyncio.open_connection("127.0.0.1", both.server.port)
            writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            await until(
                lambda before=before: both.hostile.opened + both.healthy.opened > before,  # type: ignore[misc]
                2,
            )
            await asyncio.sleep(0.1)
            writer.transport.abort()
            took[name] = await until(
                lambda: both.hostile.still_open + both.healthy.still_open == 0, 5
            )
    for name, seconds in took.items():
        rig.promise(
            f"a client hangs up, {name}: requests to archives end after",
            f"{seconds:.2f} s",
            "1 s",
            met=seconds <= 1.0,
        )


async def one_hangs(rig: Rig) -> None:
    """300 questions for an archive that hangs, and others for a healthy one (T4)."""
    async with _both(rig, lambda _archive: None) as both:
        port = both.server.port
        known = f"/timegate/{PAGE}known"
        good = asking(port, Prefer="archives=good")
        await good.ask(known)
        stuck = asking(port, Prefer="archives=hostile")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(
                stuck.at_once([f"/timegate/{PAGE}stuck/{n}" for n in range(300)], 300)
            )
            await asyncio.sleep(1.0)
            cold = await good.at_once([f"/timegate/{PAGE}cold/{n}" for n in range(60)], 8)
            cached = await good.at_once([known] * 60, 8)
        refused = [a for a in (*cold, *cached) if a.status != 302]
    rig.promise(
        "300 questions for an archive that hangs: answers of the healthy one, cold and cached",
        f"{statuses(cold)}; {statuses(cached)} (stuck: {statuses(waiting.result())})",
        "120 x 302",
        met=not refused,
    )


SCENARIOS: Final = (
    Scenario("retry-after", "16.1, T1", retry_after, 120),
    Scenario("foreign-addresses", "16.2, T3, T8, SE-07", foreign_addresses, 240),
    Scenario("injected-headers", "S18, R-8", injected_headers, 120),
    Scenario("hung-up", "16.5, T10", hung_up, 120),
    Scenario("one-hangs", "16.4, T4", one_hangs, 120),
)

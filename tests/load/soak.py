"""An hour of mixed load with faults: memory, descriptors and tasks must not grow."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import linear_regression, median
from typing import Final, NamedTuple

from archives.warc_index.building import index_collection
from tests import warcs
from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import Answer, Client
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario

_RATE: Final = 12
_EVERY: Final = 5.0
"""Seconds between two samples of the process."""
# Small, so that the cache is full before the measurement begins.
_CACHE: Final = '[cache]\nurl = "memory:"\nmegabytes = 8\n'
_FAULTS: Final = ("failing", "reset", "hang", "limited", "absent", "right")
_FAULTY_SHARE: Final = 0.06
"""Of five archives in six: one request in twenty meets a fault."""
_HOT: Final = 40
_UNRETRIEVED: Final = (
    "never retrieved",
    "was destroyed but it is pending",
    "never awaited",
    "Traceback",
    "unclosed",
)
_IDENTIFIERS: Final = (
    "{url}",
    "urn:pwid:a1.example:2010-01-22T11:20:29Z:page:{url}",
    "duri:2010:{url}",
)
_ENDPOINTS: Final = (
    "/timegate/{new}",
    "/timegate/{new}",
    "/timegate/{hot}",
    "/timegate/{hot}",
    "/timemap/link/{new}",
    "/timemap/json/{hot}",
    "/timemap/cdxj/{hot}",
    "/resolve/{identifier}?as=json",
    "/resolve/{identifier}?as=html",
    "/resolve/{identifier}",
    "/memento/proxy/20100401/{hot}",
    "/memento/20100401/{new}",
    "/api/json/20100401/{hot}",
    "/list/20100401/{new}",
    "/web/20100401/{hot}",
    "/wayback/available?url={hot}&timestamp=2010",
    "/cdx?url={hot}&limit=3",
    "/collections/mine/20200220202020id_/http://example.com/",
    "/collections/mine/timemap/link/http://example.com/",
    "/archives",
    "/",
    "/metrics",
    "/no/such/page",
)


class Sample(NamedTuple):
    """The process at one time."""

    at: float
    megabytes: float
    descriptors: int
    tasks: int


class _Load:
    """Mixed requests; some clients disconnect before the response."""

    def __init__(self, server: TimeGate) -> None:
        self.statuses: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()
        self._client = Client(server.port, headers={"Accept": "*/*"})
        self._chance = random.Random(17)  # noqa: S311 -- the same in every run
        self._new = 0

    async def one(self) -> None:
        if self._chance.random() < 0.03:
            await self._disconnect(self._target())
            return
        self._count(await self._client.ask(self._target()))

    async def many(self, count: int, at_once: int) -> None:
        left = iter(range(count))

        async def some() -> None:
            for _ in left:
                await self.one()

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(some())

    async def steadily(self, seconds: float) -> None:
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number in range(int(seconds * _RATE)):
                await asyncio.sleep(began + number / _RATE - time.monotonic())
                group.create_task(self.one())

    def _target(self) -> str:
        self._new += 1
        chosen = self._chance.choice(_ENDPOINTS)
        new = f"http://www.example.org/new/{self._new}"
        hot = f"http://www.example.org/hot/{self._chance.randrange(_HOT)}"
        identifier = self._chance.choice(_IDENTIFIERS).format(url=hot)
        return chosen.format(new=new, hot=hot, identifier=identifier)

    def _count(self, answer: Answer) -> None:
        self.statuses[str(answer.status or answer.trouble.split(" ")[0])] += 1
        # 502 and 504 report a failed archive, 503 too many concurrent requests.
        if answer.status in (0, 500):
            self.wrong[f"{answer.status} {answer.target} {answer.trouble}"] += 1

    async def _disconnect(self, target: str) -> None:
        self.statuses["disconnected"] += 1
        _, writer = await self._client.connect()
        try:
            writer.write(self._client.request(target, last=True))
            await asyncio.sleep(self._chance.random() / 20)
        finally:
            writer.transport.abort()


async def soak(rig: Rig) -> None:
    """LO-06: an hour of mixed requests, with a fault in one of twenty archive answers."""
    minutes = rig.scaled(3, 1, 60)
    folder = rig.place("warcs")
    (folder / "one.warc").write_bytes(warcs.record(warcs.answer()))
    index_collection(folder)
    own = f'[[archive]]\nid = "mine"\nkind = "warc"\npath = "{folder}"\n'
    with archives(len(_FAULTS), rig.folder) as farm:
        _set_faults(farm)
        with timegate(rig.place("t"), _CACHE + farm.entries() + own) as server:
            load = _Load(server)
            await load.many(rig.scaled(6_000, 1_500, 20_000), 16)
            # Idle connections are closed by then.
            await asyncio.sleep(rig.scaled(20, 20, 60))
            warm = server.running.megabytes
            samples = await _sampled(server, load, minutes * 60)
            # Questions to a hanging archive end within the hard deadline.
            await asyncio.sleep(8)
            after_load = _sample(server)
        log = server.running.log_text()
    _report(rig, minutes, load, samples)
    rig.promise(
        "in use after the load",
        f"{after_load.descriptors} descriptors, {after_load.tasks} tasks, "
        f"{after_load.megabytes:.1f} MB (warm: {warm:.1f})",
        "no more than during the load",
        met=after_load.descriptors <= max(s.descriptors for s in samples)
        and after_load.tasks <= max(s.tasks for s in samples),
    )
    lines = [line for line in log.splitlines() if any(w in line for w in _UNRETRIEVED)]
    rig.promise(
        "log lines about unhandled exceptions",
        f"{len(lines)} {lines[0][:200] if lines else ''}".strip(),
        "0",
        met=not lines,
    )


def _set_faults(farm: Archives) -> None:
    for number, kind in enumerate(_FAULTS):
        farm.behave([number], kind, share=_FAULTY_SHARE)


async def _sampled(server: TimeGate, load: _Load, seconds: float) -> list[Sample]:
    samples: list[Sample] = []
    async with asyncio.TaskGroup() as group:
        steady = group.create_task(load.steadily(seconds))
        while not steady.done():
            await asyncio.wait([steady], timeout=_EVERY)
            samples.append(await asyncio.to_thread(_sample, server))
    return samples


def _sample(server: TimeGate) -> Sample:
    running = server.running
    # Read before the request for the metrics opens a connection.
    megabytes, descriptors = running.megabytes, running.descriptors
    return Sample(
        time.monotonic(), megabytes, descriptors, int(server.metric("timegate_tasks"))
    )


def _report(rig: Rig, minutes: int, load: _Load, samples: Sequence[Sample]) -> None:
    count_all = sum(load.statuses.values())
    by_status = ", ".join(
        f"{count:,} x {status}" for status, count in load.statuses.most_common()
    )
    wrong = load.wrong.total()
    rig.promise(
        f"{minutes} min of {_RATE}/s at {len(_ENDPOINTS)} endpoints: no answer, or 500",
        f"{wrong} of {count_all:,} ({by_status})"
        + "".join(f"; {what}" for what, _ in load.wrong.most_common(2)),
        "0.1 %",
        met=wrong <= count_all / 1000,
    )
    hours = [(sample.at - samples[0].at) / 3600 for sample in samples]
    slope = linear_regression(hours, [sample.megabytes for sample in samples]).slope
    before, after = _ends(samples, lambda sample: sample.megabytes)
    # Over minutes, the granularity of the allocator exceeds a leak.
    report = rig.promise if minutes >= 30 else rig.speed
    report(
        "memory after the warm-up",
        f"{slope:+.2f} MB/h ({before:.1f} MB in the first quarter, {after:.1f} in the last)",
        "+1 MB/h",
        met=slope <= 1,
    )
    for what, read in (
        ("descriptors", lambda sample: sample.descriptors),
        ("tasks", lambda sample: sample.tasks),
    ):
        before, after = _ends(samples, read)
        rig.promise(
            f"{what}, median of the first and of the last quarter",
            f"{before:.0f} and {after:.0f}",
            "at most 5 more",
            met=after <= before + 5,
        )


def _ends(samples: Sequence[Sample], read: Callable[[Sample], float]) -> tuple[float, float]:
    quarter = max(len(samples) // 4, 1)
    return (
        median(map(read, samples[:quarter])),
        median(map(read, samples[-quarter:])),
    )


SCENARIOS: Final = (Scenario("soak", "LO-06, S2", soak, 420, full_seconds=4200),)

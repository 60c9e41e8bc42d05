"""Archives that are dead, hang or come back: the responses, and the requests they get."""

import asyncio
import time
from typing import Final

from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import (
    DATE,
    Answer,
    Client,
    original,
    percentile,
    statuses,
    timegates,
)
from tests.chaos.rig.fault_proxy import Faults, fault_proxy
from tests.chaos.rig.liveness import pinged
from tests.chaos.rig.timegates import set_clock, shifted_clock, timegate
from tests.chaos.scenario import Rig, Scenario, part_of

COUNT: Final = 12
_DEATHS: Final = ("refuse", "reset", "failing")


async def archives_dead(rig: Rig) -> None:
    """FA-01: k of 12 refuse, reset or fail; the answer is right, and names missing archives."""
    count = rig.scaled(1000, 60)
    with archives(COUNT, rig.folder) as farm:
        for dead in (0, 3, 6, 9, 11):
            for number in range(COUNT):
                farm.behave([number], _DEATHS[number % 3] if number < dead else "right")
            with timegate(rig.place(f"{dead}"), farm.entries()) as server:
                targets = timegates(f"dead{dead}", count)
                answers = await Client(server.port).at_once(targets, 8)
            _report_partial(rig, farm, dead, answers)


def _report_partial(rig: Rig, farm: Archives, dead: int, answers: list[Answer]) -> None:
    living = range(dead, COUNT)
    right = [
        answer
        for answer in answers
        if answer.header("Location") == farm.closest(DATE, living, original(answer.target))
    ]
    wanted = "partial" if dead else "complete"
    flagged = [a for a in right if f"sources={wanted}" in (a.header("Memento-Precision") or "")]
    rig.promise(
        f"{dead} of {COUNT} dead: right answers that say whether all archives answered",
        f"{len(flagged):,} of {len(answers):,} ({statuses(answers)})",
        "all",
        met=len(flagged) == len(answers),
    )
    p99 = percentile(answers, 0.99)
    rig.speed(f"{dead} of {COUNT} dead: p99", f"{p99:.2f} s", "2.3 s", met=p99 <= 2.3)


async def all_hang(rig: Rig) -> None:
    """FA-03: SIGSTOP to all archives, with an empty cache and with a stale entry."""
    place = rig.place("t")
    environment = shifted_clock(place)
    known, cold = timegates("known", 1)[0], timegates("cold", 1)[0]
    with (
        archives(COUNT, rig.folder) as farm,
        timegate(place, farm.entries(), environment=environment) as server,
    ):
        client = Client(server.port)
        fresh = await client.ask(known)
        farm.process.pause()
        set_clock(place, 2 * 86_400)
        async with pinged(server.port, rig.folder) as liveness:
            # Another Accept header, so that the response cache of a few seconds is not used.
            again = Client(server.port, headers={"Accept": "*/*"})
            unknown, stale = await asyncio.gather(client.ask(cold), again.ask(known))
        farm.process.go_on()
    in_time = unknown.status == 504 and 4.9 <= unknown.seconds <= 5.3
    rig.promise(
        "all hang, cold",
        f"{unknown.status} after {unknown.seconds:.2f} s, "
        f"Retry-After {unknown.header('Retry-After')}",
        "504 at 5.0 to 5.3 s with Retry-After",
        met=in_time and unknown.header("Retry-After") is not None,
    )
    same = stale.header("Location") == fresh.header("Location") and stale.status == 302
    rig.promise(
        "all hang, an entry two days old (clock advanced by libfaketime)",
        f"{stale.status} after {stale.seconds:.2f} s, {_staleness(stale)}",
        "the stale answer within 1.9 s, marked",
        met=same and stale.seconds <= 1.9 and "stale" in _staleness(stale),
    )
    rig.speed("liveness meanwhile", liveness, "max 100 ms", met=liveness.worst <= 100)


def _staleness(answer: Answer) -> str:
    values = [answer.header(name) for name in ("Cache-Status", "Age", "Memento-Precision")]
    return "; ".join(part for part in map(str, values) if "stale" in part) or "not marked"


async def isolation(rig: Rig) -> None:
    """S5: questions to one hung archive do not slow those to the others."""
    count = rig.scaled(400, 60)
    with archives(COUNT, rig.folder) as farm:
        farm.behave(range(COUNT), seconds=0.2)
        with timegate(rig.place("t"), farm.entries()) as server:
            healthy, other = (
                _client_of_archive(server.port, 1),
                _client_of_archive(server.port, 0),
            )
            before = await healthy.at_once(timegates("before", count), 8)
            farm.behave([0], "hang")
            async with asyncio.TaskGroup() as group:
                hung = group.create_task(other.at_once(timegates("hung", 120), 120))
                await asyncio.sleep(0.2)
                during = await healthy.at_once(timegates("during", count), 8)
            stuck = hung.result()
    ratio = percentile(during, 0.99) / percentile(before, 0.99)
    failed = [answer for answer in during if answer.status != 302]
    rig.promise(
        "answers of a healthy archive during 120 questions to a hung one",
        f"{len(during) - len(failed)} of {len(during)} (hung: {statuses(stuck)})",
        "all",
        met=not failed,
    )
    rig.speed(
        "their p99 compared with before", f"{ratio:.2f} times", "1.2 times", met=ratio <= 1.2
    )


def _client_of_archive(port: int, archive: int) -> Client:
    return Client(port, headers={"Prefer": f"archives=a{archive}"})


async def breaker(rig: Rig) -> None:
    """FA-08: an archive fails under load, the breaker opens, and the archive recovers."""
    seconds = rig.scaled(100, 45)
    with (
        archives(3, rig.folder) as farm,
        timegate(rig.place("t"), farm.entries()) as server,
    ):
        client = Client(server.port)
        await client.at_once(timegates("warm", 20), 1)
        farm.forget()
        farm.behave([0], "failing")
        began = time.monotonic()
        alive_again = began + 15
        async with asyncio.TaskGroup() as group:
            load = group.create_task(client.at_rate(timegates("s", seconds * 10), 10))
            await asyncio.sleep(alive_again - time.monotonic())
            farm.behave([0])
        answers = load.result()
        request_times = [at - began for at, _ in farm.requests_to(0)]
    _report_breaker(rig, request_times, alive_again - began, answers)


def _report_breaker(
    rig: Rig, request_times: list[float], alive_again: float, answers: list[Answer]
) -> None:
    dead = [at for at in request_times if at < alive_again]
    quick = [at for at in dead if at < 2]
    rig.promise(
        "requests to a dead archive until the breaker opens",
        f"{len(quick)}, then {len(dead) - len(quick)} in {alive_again - 2:.0f} s",
        "5, then at most 1 every 30 s",
        met=len(quick) <= 6 and len(dead) - len(quick) <= 1,
    )
    back = next((at for at in request_times if at >= alive_again), None)
    many = len([at for at in request_times if back is not None and back <= at <= back + 3])
    rig.promise(
        "in use again after it recovered",
        "never"
        if back is None
        else f"after {back - alive_again:.1f} s, {many} requests in 3 s",
        "within one probe (36 s)",
        met=back is not None and back - alive_again <= 36 and many > 5,
    )
    wrong = [answer for answer in answers if answer.status != 302]
    rig.promise(
        "answers meanwhile", statuses(answers), "all from the other archives", met=not wrong
    )


async def bad_network(rig: Rig) -> None:
    """FA-11: latency up to 3 s, 2 % resets, 5 % in pieces of one byte."""
    count = rig.scaled(400, 40, 5_000)
    with archives(6, rig.folder) as farm:
        config = ""
        for number, port in enumerate(farm.ports):
            faults = Faults(jitter=3.0, reset_share=0.02, slices=1 if number == 0 else 0)
            proxy = await rig.stack.enter_async_context(fault_proxy(port, faults))
            config += farm.entry(number, port=proxy.port)
        with timegate(rig.place("t"), config) as server:
            answers = await Client(server.port).at_once(timegates("net", count), 40)
    unexpected = [a for a in answers if a.status not in (302, 503, 504)]
    wrong = [
        a
        for a in answers
        if a.status == 302
        and "sources=complete" in (a.header("Memento-Precision") or "")
        and a.header("Location") != farm.closest(DATE, range(6), original(a.target))
    ]
    rig.promise(
        f"{part_of(count, 5_000)} questions over a bad network",
        f"{statuses(answers)}; {len(wrong)} wrong",
        "no wrong answer, partial ones marked",
        met=not unexpected and not wrong,
    )
    p100 = percentile(answers, 1.0)
    rig.promise("longest response time", f"{p100:.2f} s", "5.3 s", met=p100 <= 5.3)


async def trickle(rig: Rig) -> None:
    """HU-17 for a TimeGate: one byte a second over a slow network, until the deadline."""
    with archives(2, rig.folder) as farm:
        slow = await rig.stack.enter_async_context(
            fault_proxy(farm.ports[0], Faults(slices=1, bandwidth=1.0))
        )
        config = farm.entry(0, port=slow.port) + farm.entry(1)
        with timegate(rig.place("t"), config) as server:
            both = await Client(server.port).ask(timegates("both", 1)[0])
            alone = await _client_of_archive(server.port, 0).ask(timegates("alone", 1)[0])
    rig.promise(
        "one of two archives sends a byte a second",
        f"{both.status} after {both.seconds:.2f} s",
        "302 within 2.3 s",
        met=both.status == 302 and both.seconds <= 2.3,
    )
    rig.promise(
        "the only archive sends a byte a second",
        f"{alone.status} after {alone.seconds:.2f} s",
        "504 within 5.3 s",
        met=alone.status == 504 and alone.seconds <= 5.3,
    )


SCENARIOS: Final = (
    Scenario("archives-dead", "FA-01, S1, S3", archives_dead, 300),
    Scenario("all-hang", "FA-03, S3, S4", all_hang),
    Scenario("isolation", "S5", isolation, 90),
    Scenario("breaker", "FA-08, S6", breaker, 150),
    Scenario("bad-network", "FA-11", bad_network, 120, full_seconds=900),
    Scenario("trickle", "HU-17", trickle),
)

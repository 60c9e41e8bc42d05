"""DNS: a dead name server, dead addresses, a missing address family."""

import asyncio
import signal
from typing import Final

from tests.chaos.rig.archives import Archives, archives
from tests.chaos.rig.asking import Answer, Client, percentile, statuses, timegates
from tests.chaos.rig.name_servers import name_server
from tests.chaos.rig.networks import SILENT, add_address, own_network
from tests.chaos.rig.processes import line_with
from tests.chaos.rig.timegates import TimeGate, timegate
from tests.chaos.scenario import Rig, Scenario

_LIVE: Final = f"{SILENT}.100"
_LIFETIME: Final = 61.0
"""Seconds after which a name is looked up again."""
_RETRY: Final = 31.0
_DEAD: Final = [f"{SILENT}.{number}" for number in range(1, 8)]
_TROUBLES: Final = ("silent", "servfail", "refused", "nxdomain")


async def name_server_gone(rig: Rig) -> None:
    """FA-07: the name server fails after names were resolved."""
    with own_network(), archives(4, rig.folder) as farm, name_server(rig.folder) as names:
        names.set_names(**{name: ["127.0.0.1"] for name in _TROUBLES})
        entries = "".join(named(farm, n, name) for n, name in enumerate(_TROUBLES))
        with timegate(rig.place("t"), entries, before=names.before) as server:
            known = [await query(server, farm, name, "known") for name in _TROUBLES]
            assert all(a.status == 302 for answers in known for a in answers), known
            await asyncio.sleep(_LIFETIME)
            names.set_names(**{name: name for name in _TROUBLES})
            for name in _TROUBLES[:-1]:
                await _last_good(rig, server, farm, name, f"the name server is {name}")
            gone = await query(server, farm, "nxdomain", "gone")
            names.process.kill()
            await asyncio.sleep(_RETRY)
            await _last_good(rig, server, farm, "servfail", "the name server is dead")
            server.running.send(signal.SIGHUP)
            line_with(server.running, "reload taken=True")
            await _last_good(rig, server, farm, "refused", "the same after a reload")
    rig.promise(
        "the name server answers NXDOMAIN",
        statuses(gone),
        "504: its old address is not used",
        met=all(answer.status in (502, 503, 504) for answer in gone),
    )


async def _last_good(rig: Rig, server: TimeGate, farm: Archives, name: str, what: str) -> None:
    answers = await query(server, farm, name, what.rpartition(" ")[2])
    longest = percentile(answers, 1.0)
    rig.promise(
        f"{what}: last good address used (for a day)",
        f"{statuses(answers)} within {longest:.2f} s",
        "all 302 within 0.3 s + 0.2 s",
        met=all(answer.status == 302 for answer in answers) and longest <= 0.5,
    )


async def addresses_dead(rig: Rig) -> None:
    """FA-07: one address of eight alive, one of two; IPv6 only where there is no IPv6."""
    with own_network():
        add_address(_LIVE)
        with archives(3, rig.folder, "0.0.0.0") as farm, name_server(rig.folder) as names:  # noqa: S104 -- in a network of its own
            names.set_names(eight=[*_DEAD, _LIVE], two=[_DEAD[0], _LIVE], six=["fd00::1"])
            entries = "".join(named(farm, n, name) for n, name in enumerate(_NAMES))
            with timegate(rig.place("t"), entries, before=names.before) as server:
                found = {name: await query(server, farm, name, name) for name in _NAMES}
    first, *later = found["eight"]
    rig.promise(
        "1 of 8 addresses alive: first question, and the longest of the next",
        f"{first.status} after {first.seconds:.2f} s, then {statuses(later)} within "
        f"{percentile(later, 1.0):.2f} s",
        "302 within 2 s, then at once",
        met=first.status == 302 and first.seconds <= 2 and percentile(later, 1.0) <= 0.3,
    )
    first = found["two"][0]
    rig.promise(
        "1 of 2 addresses alive: the next is tried",
        f"{first.status} after {first.seconds:.2f} s",
        "within 0.3 s",
        met=first.status == 302 and first.seconds <= 0.45,
    )
    none = found["six"]
    rig.promise(
        "IPv6 addresses only, IPv6 off",
        f"{statuses(none)} within {percentile(none, 1.0):.2f} s",
        "reported as a failure at once",
        met=all(a.status == 504 for a in none) and percentile(none, 1.0) <= 0.3,
    )


_NAMES: Final = ("eight", "two", "six")


def named(farm: Archives, number: int, name: str) -> str:
    """Return the configuration of an archive whose TimeGate has a host name."""
    base = f"http://{name}.internal:{farm.ports[number]}/a{number}"
    return (
        f'[[archive]]\nid = "{name}"\nkind = "memento"\ntimegate = "{base}/timegate/"\n'
        f'replay = "http://127.0.0.1:{farm.ports[number]}/a{number}/{{time14}}/{{uri}}"\n'
    )


async def query(server: TimeGate, farm: Archives, name: str, label: str) -> list[Answer]:
    """Query one archive alone, each time over a new connection."""
    client = Client(server.port, headers={"Prefer": f"archives={name}"})
    answers = []
    for target in timegates(label, 4):
        answers.append(await client.ask(target))
        # The archives close their listeners and connections, and listen again.
        all_archives = range(len(farm.ports))
        farm.behave(all_archives, "refuse")
        farm.behave(all_archives)
    return answers


SCENARIOS: Final = (
    Scenario("name-server-gone", "FA-07", name_server_gone, 180, quick=False),
    Scenario("addresses-dead", "FA-07", addresses_dead),
)

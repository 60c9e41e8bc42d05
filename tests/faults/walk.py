"""Every position of every kind of exchange, with every fault, beside two healthy archives.

The broken archive holds the nearest copy, the healthy ones hold others. For each case the
product is asked in one way, and

- the response is no 500,
- no claim in it is more than the oracle knows,
- it comes before the deadline, in virtual time,
- the answers of the healthy archives are in it,
- and no boundary has to contain an error that nobody foresaw.
"""

import asyncio
import json
import logging
import re
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple

from tests.faults.kinds import AT, BROKEN, FAR, KINDS, LISTS, NEAR, PAGE, Case, world_of
from tests.faults.world import WireArchive, WireWorld
from tests.truth.asking import (
    Answer,
    Asking,
    Made,
    Product,
    Sent,
    in_virtual_time,
    product_over,
)
from tests.truth.drawing import Reference, Round
from tests.truth.oracle import Oracle, distance, leads_somewhere, violations
from tests.truth.world import Served
from timegate.misbehave.site import stamp

HARD: Final = 5.0
LIST_HARD: Final = 60.0
"""Seconds in which an answer, and a list, must be there."""
_SLACK: Final = 0.3


# Asking


class _Timed(Asking):
    """The product, and the seconds that it took."""

    def __init__(self, world: WireWorld, product: Product) -> None:
        super().__init__(world)
        self._product = product
        self.seconds = 0.0

    async def get(
        self, target: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Made:
        began = asyncio.get_running_loop().time()
        made = await self._product.get(target, headers, body)
        self.seconds = asyncio.get_running_loop().time() - began
        return made


class Trouble(NamedTuple):
    """What is wrong with the response of a case."""

    case: Case
    kind: str
    """``500``, ``wrong``, ``late``, ``lost`` or ``internal``."""
    detail: str
    shown: str


async def _troubles(case: Case) -> tuple[int, list[Trouble]]:
    """Ask, and return how many responses of the broken archive had the fault, and the faults
    of the answer."""
    world = world_of(case)
    async with product_over(world) as product:
        if case.way in LISTS:
            found = await _of_list(case, world, product)
        elif case.way == "raw":
            found = await _of_raw(case, world, product)
        else:
            found = await _of_answer(case, world, product)
    broken = world.archives[BROKEN]
    assert isinstance(broken, WireArchive)
    return broken.struck, found


async def _of_answer(case: Case, world: WireWorld, product: Product) -> list[Trouble]:
    at = AT + KINDS[case.kind].beside
    digits = stamp(at)
    text = f"urn:pwid:{BROKEN}.example:{at:%Y-%m-%dT%H:%M:%SZ}:page:{PAGE.replace('?', '%3F')}"
    reference = Reference("pwid", text, PAGE, digits, f"{BROKEN}.example", "page")
    drawn = Round(0, case.position, world, reference, {}, [case.way])
    asking = _Timed(world, product)
    answer = await asking.ask(drawn, case.way)
    shown = f"{answer.shown}\n{_journal(world)}"
    found = [
        Trouble(case, "500" if each.kind == "server-error" else "wrong", str(each), shown)
        for each in await violations(answer, world, Oracle(world), {})
        if not _is_admitted(each.kind, answer)
    ]
    if asking.seconds > HARD + _SLACK:
        found.append(Trouble(case, "late", f"{asking.seconds:.2f} s", shown))
    got = re.sub(r"[^0-9]", "", str(answer.parameter("time", "got") or ""))[:14]
    away = abs(distance(digits, got)) if len(got) == 14 else None
    nearest = (NEAR - at).total_seconds()
    if not leads_somewhere(answer) or away is None or away > nearest:
        found.append(Trouble(case, "lost", f"{answer.status}, {got or 'no time'}", shown))
    return found


def _is_admitted(kind: str, answer: Answer) -> bool:
    """Whether the answer itself says what is wrong with it.

    A TimeGate that answers at its own address, or redirects to one with digits in an unusual
    place, said so itself; the answer is no exact one, and names its doubt.
    """
    doubt = str(answer.parameter("time", "doubt") or "")
    if answer.value("match") in ("exact", "within"):
        return False
    if kind.startswith("delivered"):
        return "no URI-M of its own" in doubt
    stamp_of = _DIGITS.search(answer.location or "")
    got = re.sub(r"[^0-9]", "", str(answer.parameter("time", "got") or ""))[:14]
    return kind == "promise-not-made" and bool(stamp_of) and got == (stamp_of and stamp_of[1])


_DIGITS: Final = re.compile(r"/([0-9]{14})/")
_PATHS: Final = {"cdx": f"/cdx?url={PAGE}", "list": f"/timemap/link/{PAGE}"}


async def _of_list(case: Case, world: WireWorld, product: Product) -> list[Trouble]:
    target = _PATHS.get(case.way, f"/{case.way}/{PAGE}")
    began = asyncio.get_running_loop().time()
    sent = await product.send("GET", target, {})
    seconds = asyncio.get_running_loop().time() - began
    text = sent.content.decode(errors="replace")
    shown = f"GET {target}\n{sent.status} {dict(sent.headers)} {sent.whole}\n{text}"
    shown = f"{shown}\n{_journal(world)}"
    found = [Trouble(case, "wrong", each, shown) for each in _list_faults(case, world, sent)]
    if sent.status >= 500:
        found.append(Trouble(case, "500" if sent.status == 500 else "lost", "", shown))
    if seconds > LIST_HARD + _SLACK:
        found.append(Trouble(case, "late", f"{seconds:.2f} s", shown))
    held = [stamp(at + timedelta(days=days)) for at in (NEAR, FAR) for days in (-300, 0, 300)]
    return found + [Trouble(case, "lost", each, shown) for each in held if each not in text]


_LISTED: Final = re.compile(r"(?<=[<\"])https?:[^\s\"<>]*?/web/[0-9]{14}(?:id_)?/")


def _list_faults(case: Case, world: WireWorld, sent: Sent) -> Iterator[str]:
    """Yield copies at addresses of no archive, wrong order, and a part called the whole."""
    text = sent.content.decode(errors="replace")
    if case.way != "cdx":
        for address in _LISTED.findall(text):
            if world.at(address) is None:
                yield f"{address} is in no archive"
    said = sent.headers.get("Memento-Sources", "")
    index = [each for each in world.journal if each.archive == BROKEN]
    last = index[-1].outcome if index else None
    unread = not isinstance(last, Served) or last.body is None or last.status >= 500
    named = BROKEN in re.findall(r'missing="([^"]*)"', said) or f'"{BROKEN}"' in text
    if index and unread and said.startswith("complete"):
        yield f"complete, although the list of {BROKEN} cannot be read: {said}"
    if index and unread and sent.whole and said.startswith("pending") and not named:
        yield f"ends as a whole list, although that of {BROKEN} cannot be read: {said}"
    if case.way == "timemap/json" and sent.whole and sent.status == 200:
        document: Any = json.loads(text)
        times = [each["datetime"] for each in document["mementos"]["list"]]
        if times != sorted(times):
            yield f"not in order: {times}"


async def _of_raw(case: Case, world: WireWorld, product: Product) -> list[Trouble]:
    """Ask for the bytes of the copy: they are those, or the client sees that they are not."""
    target = f"/web/{stamp(AT)}id_/{PAGE}"
    began = asyncio.get_running_loop().time()
    sent = await product.send("GET", target, {})
    seconds = asyncio.get_running_loop().time() - began
    shown = f"GET {target}\n{sent}\n{_journal(world)}"
    found = list[Trouble]()
    if sent.status == 500:
        found.append(Trouble(case, "500", "", shown))
    last = world.journal[-1].outcome
    delivered = last.body if isinstance(last, Served) else None
    if sent.status == 200 and sent.whole and sent.content != delivered:
        found.append(Trouble(case, "wrong", "other bytes than the archive sent", shown))
    stated = sent.headers.get("Content-Length")
    if sent.whole and sent.status == 200 and stated not in (None, str(len(sent.content))):
        found.append(Trouble(case, "wrong", f"{len(sent.content)} of {stated} octets", shown))
    if seconds > LIST_HARD + _SLACK:
        found.append(Trouble(case, "late", f"{seconds:.2f} s", shown))
    return found


def _journal(world: WireWorld) -> str:
    return "\n".join(
        f"  {each.method} {each.url}: {str(each.outcome)[:1000]}" for each in world.journal
    )


# Counting


@dataclass
class Tally:
    """What some cases showed."""

    exchanges: int = 0
    struck: int = 0
    """Exchanges in which a response with the fault was sent."""
    troubles: list[Trouble] = field(default_factory=list)
    by_kind: Counter[str] = field(default_factory=Counter)

    def note(self, case: Case, struck: int, found: Sequence[Trouble]) -> None:
        self.exchanges += 1
        self.struck += struck > 0
        self.by_kind[case.kind] += 1
        self.troubles += found

    def summary(self) -> str:
        """Return the counts in a few lines."""
        counts = Counter(each.kind for each in self.troubles)
        return "\n".join(
            [
                f"exchanges:                {self.exchanges:,}",
                f"  with a corrupted answer {self.struck:,}",
                *(f"  {number:7,} {kind}" for kind, number in sorted(self.by_kind.items())),
                f"500:                      {counts['500']}",
                f"wrong:                    {counts['wrong']}",
                f"late:                     {counts['late']}",
                f"healthy answers lost:     {counts['lost']}",
                f"errors contained:         {counts['internal']}",
            ]
        )


def run(some: Iterable[Case], tally: Tally | None = None) -> Tally:
    """Run cases, each with a product of its own."""
    counted = tally or Tally()
    for case in some:
        counted.note(case, *_run(case))
    return counted


class _Unforeseen(logging.Handler):
    """Collects the errors that a boundary contained: nobody sees them, and all are faults."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.traces: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1] is not None:
            self.traces += ["".join(traceback.format_exception(record.exc_info[1]))]


def _run(case: Case) -> tuple[int, list[Trouble]]:
    logger, unforeseen = logging.getLogger("timegate"), _Unforeseen()
    logger.addHandler(unforeseen)
    try:
        struck, found = in_virtual_time(_troubles(case))
    except Exception as error:  # noqa: BLE001 -- any exception is what aiohttp makes a 500 of
        return 1, [Trouble(case, "500", repr(error), traceback.format_exc())]
    finally:
        logger.removeHandler(unforeseen)
    contained = [
        Trouble(case, "internal", trace.splitlines()[-1], trace) for trace in unforeseen.traces
    ]
    return struck, [*found, *contained]

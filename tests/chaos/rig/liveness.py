"""The response times of a server during a block, measured by the pinger."""

import asyncio
import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.rig.processes import python, running


@dataclass
class Liveness:
    """Milliseconds of ten pings a second; filled at the end of the block."""

    spans: list[float] = field(default_factory=list)

    @property
    def worst(self) -> float:
        return max(self.spans, default=math.nan)

    @property
    def p99(self) -> float:
        spans = sorted(self.spans)
        return spans[max(math.ceil(len(spans) * 0.99) - 1, 0)] if spans else math.nan

    def __str__(self) -> str:
        return f"p99 {self.p99:.0f} ms, max {self.worst:.0f} ms of {len(self.spans)} pings"


@asynccontextmanager
async def pinged(port: int, folder: Path) -> AsyncIterator[Liveness]:
    """Ping *port* while the block runs."""
    liveness = Liveness()
    command = python("tests.chaos.rig.pinger", str(port))
    with running(command, folder / "pinger.log", piped=True) as process:
        await asyncio.sleep(0.3)
        yield liveness
        output, _ = await asyncio.to_thread(process.process.communicate, "\n")
        liveness.spans += json.loads(output)

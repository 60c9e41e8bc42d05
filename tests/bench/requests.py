"""Upstream requests for a PWID whose archive holds it: promised, verified, and asked again.

Ten archives at lognormal latency (median 300 ms, sigma 0.8); the archive that a PWID names
holds that very second. A slow one is not waited for alone, so a few more are queried.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tests.bench.timegate import (
    ARCHIVES,
    Server,
    archives,
    exact_references,
    load,
    request_counts,
    timegate,
)

REFERENCES: Final = 200


@dataclass(frozen=True, slots=True)
class Case:
    """One way to ask, and the most requests that it may take on average."""

    name: str
    parameters: str
    replay: bool
    target: float


CASES: Final = (
    Case("promised", "?verify=none", replay=False, target=1.2),
    Case("verified", "?verify=head", replay=False, target=2.1),
    Case("verified, replay address known", "?verify=head", replay=True, target=1.2),
)


def main() -> None:
    """Print the requests for each reference, and for the same references again."""
    columns = "".join(f"{name:>8}" for name in ("first", "target", "again", "target"))
    print(f"{'upstream requests for a PWID':<34}{columns}")
    for case in CASES:
        with (
            archives(ARCHIVES, 0.3, 0.8) as upstream,
            timegate(upstream, replay=case.replay) as server,
        ):
            targets = [f"{each}{case.parameters}" for each in exact_references(REFERENCES)]
            first = requests(server, targets, upstream)
            # Another address for the same: the cache of whole responses does not count here.
            others = [f"{target}&as=redirect" for target in targets]
            again = requests(server, others, upstream)
        print(f"{case.name:<34}{first:>8.2f}{case.target:>8.1f}{again:>8.2f}{0:>8}")


def requests(server: Server, targets: Sequence[str], upstream: int) -> float:
    """Send *targets*, and return the upstream requests for each of them."""
    before = sum(request_counts(upstream))
    asyncio.run(load(server, [*targets], at_once=10, at=None))
    return (sum(request_counts(upstream)) - before) / len(targets)

"""Four processes that mint in one series, and are killed while they do."""

import asyncio

from tests.chaos.scenario import Rig, Scenario
from tests.timegate.series.minters import minted_by_processes


async def killed_minters(rig: Rig) -> None:
    """Mint with four processes that are killed at random moments, again and again."""
    count = rig.scaled(10_000, 800)
    folder = rig.place("papers")
    found = await asyncio.to_thread(minted_by_processes, folder, count, kill_every=200)
    rig.promise(
        f"{len(found.acknowledged)} mints by 4 processes, {found.kills} kills",
        f"{found.twice} numbers twice, {found.lost} acknowledged and lost, "
        f"{found.out_of_order} out of order, of {found.held}",
        "0, 0, 0",
        met=not (found.twice or found.lost or found.out_of_order) and found.kills > 0,
    )


SCENARIOS = (Scenario("series-killed", "CD-01", killed_minters, 1500),)

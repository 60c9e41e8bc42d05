"""How long the run waits for archives that ask for it."""

import pytest

from archives.errors import ArchiveError, Misbehaved, Queued, Refused, Resting, Unreachable
from timegate.extract.run import ArchiveWaits

URL = "http://archive.example/"


class Pauses(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def resting(seconds: float, archive: str = "test") -> Resting:
    return Resting(archive, URL, "it asked us to wait", seconds)


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (resting(30), 30),
        (resting(0), 1),
        (Queued("test", URL, "our share is used up", 5), 5),
        (Refused("test", URL, 429, 60), 60),
        (Refused("test", URL, 503, None), 10),
    ],
)
async def test_the_run_waits_as_long_as_an_archive_asks_for(
    error: ArchiveError, seconds: float
) -> None:
    pauses = Pauses()

    assert await ArchiveWaits(pause=pauses).waited(error)
    assert pauses == [seconds]


@pytest.mark.parametrize(
    "error",
    [
        Refused("test", URL, 403, None),
        Unreachable("test", URL, "no connection"),
        Misbehaved("test", URL, "nonsense"),
        resting(301),
    ],
)
async def test_the_run_does_not_wait_in_vain(error: ArchiveError) -> None:
    pauses = Pauses()

    assert not await ArchiveWaits(pause=pauses).waited(error)
    assert pauses == []


async def test_the_time_of_waiting_per_archive_is_limited() -> None:
    patience = ArchiveWaits(100, Pauses())

    # The clock stands still: the second wait reaches no further than the first.
    together = [await patience.waited(resting(90)) for _ in range(3)]
    longer = await patience.waited(resting(101))
    other = await patience.waited(resting(90, "other"))

    assert (together, longer, other) == ([True] * 3, False, True)

"""robots.txt is read once for a host, and decides what is fetched."""

from collections.abc import Mapping

import pytest

from archives.errors import ArchiveError, Unreachable
from tests.fakes import Canned, FakeFetcher
from timegate.upstream.robots import Robots

SITE = "http://site.example"
FILE = f"{SITE}/robots.txt"


class Pauses:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def robots(
    answers: Mapping[str, Canned | ArchiveError], pauses: Pauses | None = None
) -> Robots:
    fetch = FakeFetcher(answers, hosts=("site.example", "other.example"))
    return Robots(fetch, lambda: 100.0, pauses or Pauses())


def text(body: str) -> dict[str, Canned]:
    return {FILE: Canned(200, {"Content-Type": "text/plain"}, body.encode())}


async def test_what_robots_txt_disallows_is_not_fetched() -> None:
    rules = robots(text("User-agent: *\nDisallow: /private/*.png$\n"))

    await rules.admit(f"{SITE}/public")
    with pytest.raises(ArchiveError, match=r"robots\.txt does not allow it"):
        await rules.admit(f"{SITE}/private/a.png")


async def test_rules_for_us_win_over_those_for_all() -> None:
    rules = robots(text("User-agent: *\nDisallow: /\nUser-agent: timegate\nAllow: /\n"))

    await rules.admit(f"{SITE}/page")


@pytest.mark.parametrize("status", [404, 410, 403, 401])
async def test_without_the_file_everything_may_be_fetched(status: int) -> None:
    await robots({FILE: Canned(status)}).admit(f"{SITE}/page")


@pytest.mark.parametrize(
    "answer", [Canned(500), Canned(503), Canned(429), Unreachable("x", FILE, "no answer")]
)
async def test_while_the_server_fails_nothing_may_be_fetched(
    answer: Canned | ArchiveError,
) -> None:
    with pytest.raises(ArchiveError, match=r"robots\.txt"):
        await robots({FILE: answer}).admit(f"{SITE}/page")


async def test_redirects_of_the_file_are_followed() -> None:
    elsewhere = "http://other.example/robots.txt"
    rules = robots(
        {
            FILE: Canned(301, {"Location": elsewhere}),
            elsewhere: Canned(200, {}, b"User-agent: *\nDisallow: /\n"),
        }
    )

    with pytest.raises(ArchiveError, match="does not allow"):
        await rules.admit(f"{SITE}/page")


async def test_redirects_without_end_count_as_no_file() -> None:
    await robots({FILE: Canned(302, {"Location": FILE})}).admit(f"{SITE}/page")


async def test_the_delay_that_a_host_asks_for_is_kept() -> None:
    pauses = Pauses()
    rules = robots(text("User-agent: *\nCrawl-delay: 5\n"), pauses)

    for _ in range(3):
        await rules.admit(f"{SITE}/page")

    assert pauses.seconds == [0.0, 5.0, 10.0]

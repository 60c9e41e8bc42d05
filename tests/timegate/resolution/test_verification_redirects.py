"""Mementos whose address names another one in a link, and delivers none."""

import pytest

from archives.errors import Misbehaved
from archives.formats.httpdate import http_date
from archives.model import Memento
from tests.fakes import Canned, FakeFetcher, an_entry, clock
from timegate.resolution.context import UNLIMITED
from timegate.resolution.verification import memento_probes

PAGE = "http://example.org/"
STAMP = "20160122112029"
BASE = "http://archive.example"
ADDRESS = f"{BASE}/web/{STAMP}/{PAGE}"
LINK = f'<{ADDRESS}?x>; rel="memento"; datetime="{http_date(STAMP)}"'


async def test_a_memento_that_only_names_another_is_an_error_of_the_archive() -> None:
    entry = an_entry(
        "memento", timegate=f"{BASE}/timegate/", replay=f"{BASE}/web/{{time14}}/{{uri}}"
    )
    fetch = FakeFetcher(lambda _: Canned(302, {"location": f"{ADDRESS}?x", "link": LINK}))
    probes = memento_probes([entry], lambda _archive, _context: fetch, clock)

    with pytest.raises(Misbehaved, match="delivers none"):
        await probes["test"](Memento(STAMP, ADDRESS, PAGE, "test"), ADDRESS, UNLIMITED)

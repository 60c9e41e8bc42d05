"""Negotiation among many revisions of one page: a second apart, and within one second."""

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

from archives.formats.httpdate import http_date
from archives.moment import Moment
from tests import warcs
from tests.timegate.endpoints.stored import PAGE, serving_store

APART = 10_000
WITHIN = 1_000
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
FULL = "20210101000000"
"""The second within which there are many."""


def stamp(number: int) -> str:
    return f"{FIRST + timedelta(seconds=number):%Y%m%d%H%M%S}"


def write_all(folder: Path) -> None:
    """Write all captures as one WARC, which the store indexes at its start."""
    stamps = [stamp(n) for n in range(APART)] + [f"{FULL}{n:03}" for n in range(WITHIN)]
    records = [warcs.response(PAGE, str(Moment(s)), s.encode()) for s in stamps]
    folder.mkdir()
    (folder / "many.warc.gz").write_bytes(warcs.gzipped(*records))


async def test_revisions_that_were_written_with_put_are_negotiated(tmp_path: Path) -> None:
    apart = [stamp(number) for number in range(300)]
    within = [f"{FULL}{number:03}" for number in range(200)]
    stated = "Timegate-Datetime"
    async with serving_store(tmp_path, "writes_per_minute = 1000000") as store:
        for each in (*apart, *within):
            written = await store.put(each, (stated, str(Moment(each))))
            assert written.status == 201
            assert written.headers[stated] == str(Moment(each))
        for number, each in enumerate(apart):
            wanted = ("Accept-Datetime", http_date(each))
            seen = await store.get(f"/store/notes/{PAGE}", wanted)
            assert seen.headers["Location"].endswith(f"/{each}/{PAGE}")
            if number % 50 == 7:
                memento = await store.get(seen.headers["Location"])
                assert memento.body == each.encode()
                assert memento.headers["Memento-Datetime"] == http_date(each)
        for number, each in enumerate(within):
            wanted = ("Accept-Datetime", str(Moment(each)))
            lenient = ("Prefer", "handling=lenient")
            seen = await store.get(f"/timegate/{PAGE}", wanted, lenient)
            assert seen.headers["Location"].endswith(f"/{each}/{PAGE}")
            if number % 50 == 7:
                assert (await store.get(seen.headers["Location"])).body == each.encode()
        conflict = await store.put("other bytes", (stated, str(Moment(apart[9]))))
        listed = await store.get(f"/collections/notes/timemap/cdxj/{PAGE}")
        newest = await store.get(f"/store/notes/{PAGE}")

    assert conflict.status == 409
    stamps = [line.split()[0] for line in listed.body.decode().splitlines() if line[:1] == "2"]
    assert [text.ljust(17, "0") for text in stamps] == [
        text.ljust(17, "0") for text in (*apart, *within)
    ]
    assert newest.body == within[-1].encode()


async def test_each_of_many_revisions_is_found_by_its_time(tmp_path: Path) -> None:
    write_all(tmp_path / "notes")
    chance = random.Random(7)  # noqa: S311 -- a test
    lenient = ("Prefer", "handling=lenient")
    async with serving_store(tmp_path) as store:
        for number in [0, APART - 1, *(chance.randrange(APART) for _ in range(60))]:
            wanted = ("Accept-Datetime", http_date(stamp(number)))
            seen = await store.get(f"/store/notes/{PAGE}", wanted)
            assert f"/{stamp(number)}/" in seen.headers["Location"]
        for number in [0, WITHIN - 1, *(chance.randrange(WITHIN) for _ in range(60))]:
            fine = f"{FULL}{number:03}"
            wanted = ("Accept-Datetime", str(Moment(fine)))
            seen = await store.get(f"/timegate/{PAGE}", wanted, lenient)
            assert f"/{fine}/" in seen.headers["Location"]
            assert f'got="{Moment(fine)}"' in seen.headers["Memento-Precision"]
        as_json = await store.get(f"/collections/notes/timemap/json/{PAGE}")
        cdxj = await store.get(f"/collections/notes/timemap/cdxj/{PAGE}")

    assert as_json.body.count(b'"datetime": "2021-01-01T00:00:00.') >= WITHIN
    assert cdxj.body.count(f"\n{FULL}".encode()) == WITHIN

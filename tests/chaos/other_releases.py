"""Cache and index files of an older and of a later release: replaced or left unchanged."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from archives.warc_index.building import index_collection
from tests.chaos.rig.archives import archives
from tests.chaos.rig.asking import DATE, Client, original, timegates
from tests.chaos.rig.processes import python
from tests.chaos.rig.timegates import timegate
from tests.chaos.rig.warc_files import entry, fetch_all, pages, write
from tests.chaos.scenario import Rig, Scenario

_COUNT: Final = 4
_LATER: Final = ("CREATE TABLE later (a)", "PRAGMA user_version = 99")
_OLDER: Final = ("CREATE TABLE older (a)", "PRAGMA user_version = 0")


class _Release(NamedTuple):
    """A release, and how its files differ from ours."""

    name: str
    changes: tuple[str, ...]
    stays: bool
    """Whether the file must stay unchanged."""


_CACHES: Final = (
    _Release("a later release", _LATER, stays=True),
    _Release("an older release", _OLDER, stays=False),
    _Release(
        "a release with another encoding of values",
        ("UPDATE entry SET value = x'02' || value",),
        stays=False,
    ),
)
_INDEXES: Final = (
    _Release("a later release", _LATER, stays=True),
    _Release("an older release", _OLDER, stays=False),
)


def _changed(file: Path, release: _Release) -> bytes:
    with closing(sqlite3.connect(file)) as connection:
        with connection:
            for statement in release.changes:
                connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file.read_bytes()


async def caches(rig: Rig) -> None:
    """CD-15: a cache that another release has written."""
    with archives(_COUNT, rig.folder) as farm:
        for number, release in enumerate(_CACHES):
            place = rig.place(f"t{number}")
            file = place / "cache.db"
            config = f'[cache]\nurl = "sqlite:{file}"\n' + farm.entries()
            with timegate(place, config) as server:
                await Client(server.port).at_once(timegates("page", 50), 8)
            before = _changed(file, release)
            with timegate(place, config) as server:
                answers = await Client(server.port).at_once(timegates("page", 50), 8)
                state = server.json_at("/readyz").get("cache")
            right = [
                answer
                for answer in answers
                if answer.header("Location")
                == farm.closest(DATE, range(_COUNT), original(answer.target))
            ]
            same = file.read_bytes() == before
            rig.promise(
                f"a cache of {release.name}",
                f"{len(right)} of 50 right; the file is {'unchanged' if same else 'replaced'}; "
                f"/readyz reports {state}",
                "all answers right" + (", file unchanged, reported" if release.stays else ""),
                met=len(right) == 50
                and same == release.stays
                and (state != "ok") == release.stays,
            )


async def indexes(rig: Rig) -> None:
    """CD-15: the index of a collection that another release has written."""
    for number, release in enumerate(_INDEXES):
        folder = rig.place(f"warcs{number}")
        held = pages("a", 100)
        write(folder / "a.warc.gz", held)
        index_collection(folder)
        file = folder / ".timegate" / "index.sqlite"
        before = _changed(file, release)
        command = python("timegate", "index", str(folder))
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603, ASYNC221 -- our own command; nothing else runs
        with timegate(rig.place(f"t{number}"), entry(folder)) as server:
            found = await fetch_all(server, held)
        same = file.read_bytes() == before
        rig.promise(
            f"the index of {release.name}",
            f"timegate index exits with {run.returncode} ({_last(run.stderr or run.stdout)}); "
            f"served: {found}; the file is {'unchanged' if same else 'replaced'}",
            "rejected, unknown, unchanged" if release.stays else "rebuilt, all right",
            met=same == release.stays
            and (found.unknown if release.stays else found.right) == len(held)
            and run.returncode == (2 if release.stays else 0),
        )


def _last(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1][:160]


SCENARIOS: Final = (
    Scenario("cache-of-another-release", "CD-15", caches, 90),
    Scenario("index-of-another-release", "CD-15", indexes, 90),
)

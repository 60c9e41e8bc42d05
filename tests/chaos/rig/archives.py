"""The archives of a scenario, in a process of their own, with settable behaviour."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from tests.bench.archives import captures
from tests.chaos.rig.processes import Running, python, running


@dataclass(frozen=True, slots=True)
class Archives:
    """Controls the archives, and reads the requests that they recorded."""

    process: Running
    ports: list[int]

    def behave(self, which: Iterable[int], kind: str = "right", **options: float) -> None:
        """Change the behaviour of some archives (`tests.chaos.rig.farm.Behaviour`)."""
        self._send({"behave": list(which), "behaviour": {"kind": kind, **options}})

    @property
    def request_counts(self) -> list[int]:
        """The number of requests to each archive."""
        counts: list[int] = self._send({"get": "counts"})
        return counts

    def requests_to(self, archive: int) -> list[tuple[float, str]]:
        """Return the time, by the monotonic clock, and the target of each request to one."""
        requests: list[tuple[float, str]] = self._send({"get": "requests", "archive": archive})
        return requests

    def forget(self) -> None:
        """Delete the recorded requests."""
        self._send({"forget": True})

    def _send(self, command: dict[str, object]) -> list:  # type: ignore[type-arg]
        process = self.process.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())  # type: ignore[no-any-return]

    def entries(self, limits: str = "") -> str:
        """Return their configuration."""
        return "".join(self.entry(number, limits) for number in range(len(self.ports)))

    def entry(self, number: int, limits: str = "", port: int | None = None) -> str:
        base = f"http://127.0.0.1:{port or self.ports[number]}/a{number}"
        return (
            f'[[archive]]\nid = "a{number}"\nkind = "memento"\n'
            f'timegate = "{base}/timegate/"\ntimemap = "{base}/timemap/link/"\n'
            f'replay = "{base}/{{time14}}/{{uri}}"\nraw = "{base}/{{time14}}id_/{{uri}}"\n'
            f'pwid = ["a{number}.example"]\n{limits}'
        )

    def closest(self, date: str, among: Iterable[int], url: str) -> str:
        """Return the URI of the right memento if the archives in *among* answer."""
        at = parsedate_to_datetime(date)
        times = (
            (abs(time - at), time, number) for number in among for time in captures(number)
        )
        _, time, number = min(times)
        return memento(self.ports[number], number, time, url)


def memento(port: int, number: int, at: datetime, url: str) -> str:
    return f"http://127.0.0.1:{port}/a{number}/{at:%Y%m%d%H%M%S}/{url}"


@contextmanager
def archives(count: int, folder: Path, host: str = "127.0.0.1") -> Iterator[Archives]:
    """Run *count* archives."""
    command = python("tests.chaos.rig.farm", str(count), host)
    with running(command, folder / "farm.log", piped=True) as process:
        assert process.process.stdout is not None
        yield Archives(process, json.loads(process.process.stdout.readline()))

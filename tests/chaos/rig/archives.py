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
    """Controls the archives, and reads their records."""

    process: Running
    ports: list[int]

    def behave(self, which: Iterable[int], kind: str = "right", **manner: float) -> None:
        """Change the manner of some (`tests.chaos.rig.farm.Manner`)."""
        self._say({"behave": list(which), "manner": {"kind": kind, **manner}})

    @property
    def asked(self) -> list[int]:
        """How many requests each has seen."""
        counts: list[int] = self._say({"tell": "counts"})
        return counts

    def noted(self, archive: int) -> list[tuple[float, str]]:
        """When one was asked, by the monotonic clock, and for which target."""
        noted: list[tuple[float, str]] = self._say({"tell": "noted", "archive": archive})
        return noted

    def forget(self) -> None:
        self._say({"forget": True})

    def _say(self, words: dict[str, object]) -> list:  # type: ignore[type-arg]
        talk = self.process.process
        assert talk.stdin is not None
        assert talk.stdout is not None
        talk.stdin.write(json.dumps(words) + "\n")
        talk.stdin.flush()
        return json.loads(talk.stdout.readline())  # type: ignore[no-any-return]

    def entries(self, limits: str = "") -> str:
        """Write them as an operator would."""
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
        """Return where the right answer leads if these archives answer."""
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

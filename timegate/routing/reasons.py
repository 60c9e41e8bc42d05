"""Why an archive stands where it stands, in words for the report and the list of archives."""

from collections.abc import Iterator

from archives.model import ArchiveEntry
from timegate.routing.knowledge import Standing
from timegate.routing.mementomap import Presence
from timegate.routing.observations import Experience, Latency, site_of


def by_group(group: int) -> Iterator[str]:
    if group < 3:
        yield ("on this machine", "the operator's own", "named by the reference")[group]


def by_registry(entry: ArchiveEntry, pattern: str | None) -> Iterator[str]:
    if pattern is not None:
        yield f"collects {pattern}"
    elif entry.domains:
        yield f"collects {', '.join(entry.domains)} above all"


def by_map(presence: Presence) -> Iterator[str]:
    if presence.state == "present":
        yield f"its MementoMap lists {presence.line}"
    elif presence.state == "absent":
        yield "its MementoMap says that it holds no such page"


def by_experience(experience: Experience, host: str) -> Iterator[str]:
    site = site_of(host)
    for tally, what in ((experience.site, site), (experience.overall, "any site")):
        if tally.total >= 0.5:
            yield f"held {tally.hits:.0f} of {tally.total:.0f} pages of {what}"
            return


def by_latency(latency: Latency) -> str:
    return f"answers in {latency.median:.2g} s" if latency.known else "not asked so far"


def by_standing(standing: Standing) -> Iterator[str]:
    if standing != "closed":
        yield f"its breaker is {standing}"

"""Links as RFC 8288 and RFC 7089 write them, as values that faults can bend."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from timegate.misbehave.captures import FakeCapture, http_date
from timegate.misbehave.site import FakeSite


@dataclass(frozen=True, slots=True)
class FakeLink:
    """One link: where to, and what it says about it."""

    target: str
    attributes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """Write it the usual way."""
        return "; ".join([f"<{self.target}>", *(f'{k}="{v}"' for k, v in self.attributes)])

    @property
    def relations(self) -> list[str]:
        """What it is."""
        return next((v.split() for k, v in self.attributes if k == "rel"), [])

    def having(self, name: str, value: str) -> "FakeLink":
        """Return the same link with another value for an attribute it has."""
        changed = tuple((k, value if k == name else v) for k, v in self.attributes)
        return replace(self, attributes=changed)


def link(target: str, rel: str, **attributes: str) -> FakeLink:
    """Make a link whose first attribute is its relation."""
    return FakeLink(target, (("rel", rel), *attributes.items()))


def header(links: Iterable[FakeLink]) -> str:
    """Write *links* as the value of a Link field."""
    return ", ".join(map(str, links))


def original_link(original: str) -> FakeLink:
    """Return the link every answer of a TimeGate or memento has once (M-6)."""
    return link(original, "original")


def service_links(site: FakeSite, original: str) -> list[FakeLink]:
    """Return the links to where one can ask further (M-7)."""
    at = site.addresses
    timemap = link(at.timemap("link", original), "timemap", type="application/link-format")
    return [link(at.timegate(original), "timegate"), timemap]


def memento_link(site: FakeSite, capture: FakeCapture, rel: str) -> FakeLink:
    """Return a link to a capture."""
    return link(site.addresses.memento(capture), rel, datetime=http_date(capture.at))


def neighbour_links(site: FakeSite, chosen: FakeCapture) -> list[FakeLink]:
    """Return first, prev, the chosen one, next and last: each capture once, in time order."""
    held = site.holdings.of(chosen.original)
    place = held.index(chosen)
    relations: dict[int, list[str]] = {}
    for index, relation in (
        (0, "first"),
        (place - 1, "prev"),
        (place + 1, "next"),
        (len(held) - 1, "last"),
    ):
        if 0 <= index < len(held):
            relations.setdefault(index, []).append(relation)
    relations.setdefault(place, [])
    return [
        memento_link(site, held[index], " ".join([*relations[index], "memento"]))
        for index in sorted(relations)
    ]

"""What an archive says of itself to who starts it: where things are, and what it holds."""

from typing import Final, TypedDict

from timegate.misbehave.archive import Archive
from timegate.misbehave.captures import http_date

UNKNOWN: Final = "http://unknown.example/"
"""A page that the archive does not hold."""


class Description(TypedDict):
    """Ready to be written as JSON."""

    url: str
    timegate: str
    timemap: dict[str, str]
    memento: str
    raw: str
    cdx: str
    unknown: str
    """The TimeGate of a page that is not held."""
    original: str
    mementos: list[dict[str, str]]
    faults: list[str]


def described(archive: Archive) -> Description:
    """Describe an archive that is being served."""
    at, held = archive.addresses, archive.holdings.everything()
    original, last = held[0].original, held[-1]
    return Description(
        url=archive.url,
        timegate=at.timegate(original),
        timemap={form: at.timemap(form, original) for form in ("link", "json", "cdxj")},
        memento=at.memento(last),
        raw=at.memento(last, "id_"),
        cdx=f"{archive.url}/cdx?url={original}",
        unknown=at.timegate(UNKNOWN),
        original=original,
        mementos=[
            {"datetime": http_date(each.at), "uri": at.memento(each)}
            for each in archive.holdings.of(original)
        ],
        faults=[fault.name for fault in archive.faults if fault.name != "none"],
    )


def written(description: Description) -> list[str]:
    """Write a description as lines for people."""
    held = description["mementos"]
    return [
        f"TimeGate  {description['timegate']}",
        *(f"TimeMap   {uri}" for uri in description["timemap"].values()),
        f"memento   {description['memento']}",
        f"raw       {description['raw']}",
        f"CDX       {description['cdx']}",
        f"unknown   {description['unknown']}",
        f"{len(held)} mementos of {description['original']}:",
        *(f"  {each['datetime']}" for each in held),
    ]

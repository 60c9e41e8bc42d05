"""What a pasted citation says about its page, for a new citation of the copy."""

from datetime import date
from typing import TYPE_CHECKING, cast, get_args

from timegate.citations import PageDescription, UrlStatus

if TYPE_CHECKING:
    from timegate.references.model import FoundReference


def described_by(found: "FoundReference") -> PageDescription:
    """Return the title, the state of the link and the day of access that are written there."""
    status = found.url_status if found.url_status in get_args(UrlStatus) else None
    return PageDescription(found.title, cast("UrlStatus | None", status), _accessed(found))


def _accessed(found: "FoundReference") -> date | None:
    """Return the day of access, if a day is stated for certain."""
    dates = [*([found.dates.used] if found.dates.used else []), *found.dates.unused]
    days = [
        each.moment.digits[:8]
        for each in dates
        if each.basis == "accessed" and each.moment and len(each.moment.digits) >= 8
    ]
    if len(set(days)) != 1:
        return None
    year, month, day = int(days[0][:4]), int(days[0][4:6]), int(days[0][6:])
    return date(year, month, day)

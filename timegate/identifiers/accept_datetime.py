"""The value of ``Accept-Datetime``: a time without a URL."""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from archives.formats.httpdate import WEEKDAYS, read_http_date
from archives.moment import Moment
from archives.reading import Diagnosis
from timegate.identifier import CanonicalEquality, ParsedIdentifier

_DATE_LIKE: Final = re.compile(rf"(?:{'|'.join(WEEKDAYS)})[a-z]*+,? |[^:/]*+ [^:/]*+:.*+ GMT")


@dataclass(frozen=True, slots=True, eq=False)
class AcceptDatetime(CanonicalEquality):
    """A second, as RFC 7089 writes it."""

    archive: ClassVar[None] = None
    precision: ClassVar[None] = None
    item: ClassVar[None] = None
    time: Moment
    written: str
    """Without the white space around it. A weekday that does not fit is kept (M-3)."""

    @property
    def canonical(self) -> str:
        return self.written


def read_accept_datetime(text: str, diagnosis: Diagnosis) -> ParsedIdentifier | None:
    """Read ``Thu, 31 May 2007 20:35:00 GMT``; complain about what was meant as such."""
    if " " not in text or not _DATE_LIKE.match(text.lstrip(" \t")):
        return None
    date = AcceptDatetime(read_http_date(text, diagnosis), text.strip(" \t"))
    return ParsedIdentifier(date, "http-date", tuple(diagnosis.diagnostics))

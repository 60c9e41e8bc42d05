"""The PWID as the HTTP interface that the drafts imagine at every archive.

    https://<archive-id>/pwid?time=<time>&coverage=<coverage>&item=<everything after>

It is read as text only. No host is ever derived from an archive-id (Q-2).
"""

import re
from typing import Final

from archives.links.target import decoded, is_encoded
from archives.moment import Moment
from archives.reading import Diagnosis
from timegate.identifier import ParsedIdentifier
from timegate.identifiers.pwid.name import read_archive, read_precision
from timegate.identifiers.pwid.uri import read_plain_item, read_time
from timegate.pwid import Pwid

_FORM: Final = re.compile(
    r"https?+://([^/?#:@]++)/pwid\?time=([^&]*+)&coverage=([^&]*+)&item=", re.IGNORECASE
)
_URN_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?)?Z"
)


def read_pwid_http(text: str, diagnosis: Diagnosis) -> ParsedIdentifier | None:
    """Read ``https://archive.org/pwid?time=...&coverage=...&item=...``."""
    form = _FORM.match(text)
    if form and is_encoded(text[form.end() :]):
        # Programs encode parameters, people paste them: the scheme's colon tells (G-4).
        text = decoded(text)
        form = _FORM.match(text)
    if form is None:
        return None
    name, hash_sign, fragment = text.partition("#")
    stated = _URN_TIME.fullmatch(name, form.start(2), form.end(2))
    if stated:
        time = Moment.stated("".join(filter(None, stated.groups())), name, form.start(2))
    else:
        time = read_time(name, form.start(2), form.end(2), diagnosis)
    pwid = Pwid(
        read_archive(form[1], form.start(1)),
        time,
        read_precision(form[3], form.start(3)),
        read_plain_item(name[form.end() :], diagnosis, form.end()),
    )
    return ParsedIdentifier(
        pwid, "pwid-http", tuple(diagnosis.diagnostics), fragment if hash_sign else None
    )

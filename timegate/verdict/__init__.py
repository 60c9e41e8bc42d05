"""Verdict: how an answer differs from the question, as in ``Memento-Precision`` (X-1 to X-9).

Every member is decided by itself; `match` is the worst of them. What is not known is reported
as unknown, never as exact.
"""

from timegate.verdict.header import Member, Verdict, around_time, header, satisfies, written
from timegate.verdict.members import (
    asked_at,
    asked_time,
    basis_of,
    delivers_raw,
    header_safe,
    location,
    quoted_location,
    raw_address,
    safe_in_brackets,
    verdict,
)
from timegate.verdict.words import in_words

__all__ = [
    "Member",
    "Verdict",
    "around_time",
    "asked_at",
    "asked_time",
    "basis_of",
    "delivers_raw",
    "header",
    "header_safe",
    "in_words",
    "location",
    "quoted_location",
    "raw_address",
    "safe_in_brackets",
    "satisfies",
    "verdict",
    "written",
]

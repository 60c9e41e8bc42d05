"""Which findings fail a run: the profile, and the baseline of known failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import msgspec

from timegate.conformance.catalogue import Level
from timegate.conformance.checks import CHECKS
from timegate.conformance.report import CheckResult, Report, printable

Profile = Literal["rfc-must", "rfc-strict", "practice"]
PROFILES: Final[Mapping[Profile, frozenset[Level]]] = {
    "rfc-must": frozenset({"must"}),
    "rfc-strict": frozenset({"must", "should"}),
    "practice": frozenset({"must", "should", "practice"}),
}
"""The levels whose violation fails a run."""
_WRONG: Final = ("fail", "warn")
_FORMAT: Final = 1
_MOST_OCTETS: Final = 1024**2
_LONGEST: Final = 300


class BadBaseline(ValueError):
    """The file is not a baseline; names the file and the reason."""


class KnownFailure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A violation that is known and does not fail a run."""

    check: str
    archive: str = ""
    """The id of the archive; empty for all."""
    reason: str = ""


class _BaselineFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    known: tuple[KnownFailure, ...]
    format: int = _FORMAT


def read_baseline(path: Path) -> tuple[KnownFailure, ...]:
    """Return the known failures in *path*. Raises BadBaseline."""
    try:
        if path.stat().st_size > _MOST_OCTETS:
            raise BadBaseline(f"{path} is too large to be a baseline")
        read = msgspec.json.decode(path.read_bytes(), type=_BaselineFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadBaseline(f"{path}: {error}") from error
    if read.format != _FORMAT:
        raise BadBaseline(f"{path}: format {read.format} is not known")
    unknown = [known.check for known in read.known if known.check not in CHECKS]
    if unknown:
        raise BadBaseline(f"{path}: there is no check {unknown[0]!r}")
    return read.known


@dataclass(frozen=True, slots=True)
class Grading:
    """Decides which results fail a run."""

    profile: Profile = "rfc-must"
    known: tuple[KnownFailure, ...] = field(default=())

    def is_known(self, report: Report, result: CheckResult) -> bool:
        """Whether the baseline has this violation."""
        return result.finding.verdict in _WRONG and any(
            known.check == result.check.name and known.archive in ("", report.subject.id)
            for known in self.known
        )

    def counts(self, result: CheckResult) -> bool:
        """Whether the result is a violation at a level of the profile."""
        wrong = result.finding.verdict in _WRONG
        return wrong and result.check.level in PROFILES[self.profile]

    def is_red(self, report: Report, result: CheckResult) -> bool:
        """Whether the result fails the run."""
        return self.counts(result) and not self.is_known(report, result)

    def red(self, report: Report) -> list[CheckResult]:
        """Return the results that fail the run."""
        return [result for result in report.results if self.is_red(report, result)]

    def repaired(self, reports: Sequence[Report]) -> list[str]:
        """Return the checks of the baseline that no archive violates any more."""
        return [
            known.check
            for known in self.known
            if not any(
                known.check == result.check.name
                and known.archive in ("", report.subject.id)
                and result.finding.verdict in (*_WRONG, "unknown")
                for report in reports
                for result in report.results
            )
        ]

    def exit_code(self, reports: Sequence[Report]) -> int:
        """0: nothing is violated. 1: violated, or mostly unknown. 4: some is unknown."""
        if any(self.red(report) or report.is_mostly_unknown for report in reports):
            return 1
        levels = PROFILES[self.profile]
        return 4 if any(report.unanswered(levels) for report in reports) else 0

    def baseline(self, reports: Sequence[Report]) -> bytes:
        """Return a baseline with every violation at a level of the profile."""
        found = {
            (result.check.name, report.subject.id): printable(result.finding.why)[:_LONGEST]
            for report in reports
            for result in report.results
            if self.counts(result)
        }
        known = tuple(
            KnownFailure(check, archive, why) for (check, archive), why in found.items()
        )
        return msgspec.json.format(msgspec.json.encode(_BaselineFile(known))) + b"\n"

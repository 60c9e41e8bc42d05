"""What ``timegate check`` is to check: archives of the registry, or an address."""

from collections.abc import Sequence
from dataclasses import replace

import click

from archives.model import ArchiveEntry
from timegate.config import Config
from timegate.conformance.given import entry_for, is_foreign
from timegate.conformance.recognition import Recognised, recognised, said_to_be
from timegate.conformance.run import PATIENCE, CheckJob
from timegate.conformance.session import Session
from timegate.conformance.subject import DEFAULT_SAMPLE, Role, subject_of
from timegate.upstream.pool import UpstreamSettings, open_fetchers


def entries_in(config: Config, ids: Sequence[str], *, everything: bool) -> list[ArchiveEntry]:
    """Return the archives with these *ids*, or *everything* that has a TimeGate."""
    entries = _all_with_timegates(config) if everything else []
    for name in ids:
        entry = config.registry.by_id(name) or config.registry.by_pwid(name)
        if entry is None:
            why = f"no archive {name!r}; `timegate archives` lists those that are known"
            raise click.UsageError(why)
        if entry.timegate is None:
            raise click.UsageError(f"{entry.id} has no TimeGate that could be checked")
        entries.append(entry)
    return list({entry.id: entry for entry in entries}.values())


def _all_with_timegates(config: Config) -> list[ArchiveEntry]:
    without = [entry.id for entry in config.registry.used if entry.timegate is None]
    if without:
        click.echo(f"without a TimeGate, not checked: {', '.join(without)}", err=True)
    return [entry for entry in config.registry.used if entry.timegate]


def job_for(entry: ArchiveEntry, samples: tuple[str, ...]) -> CheckJob:
    """Return what is to be checked of an archive of the registry."""
    subject = subject_of(entry, samples or (DEFAULT_SAMPLE,))
    if subject is None:
        raise click.UsageError(f"{entry.id} has no TimeGate that could be checked")
    return CheckJob(subject, entry)


def given(url: str, also: Sequence[str]) -> ArchiveEntry:
    """Return the archive that *url* belongs to, as far as that is known."""
    try:
        return entry_for(url, also)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def check_contact(entries: Sequence[ArchiveEntry], contact: str | None) -> None:
    """Public archives are asked only by those who say who they are (R14)."""
    if contact is None and any(map(is_foreign, entries)):
        why = "public archives want to know who asks: give --contact mailto:you@example.org"
        raise click.UsageError(why)


async def job_at(
    entry: ArchiveEntry,
    url: str,
    role: Role | None,
    samples: tuple[str, ...],
    contact: str | None,
) -> CheckJob:
    """Return what is to be checked at *url*: what it is said to be, or found to be."""
    found: Recognised
    if role is not None:
        found = said_to_be(role, url, samples)
    else:
        settings = UpstreamSettings(
            contact or "no contact given",
            allow_private=frozenset({entry.id}),
            patience=PATIENCE,
        )
        async with open_fetchers([entry], settings) as fetchers:
            found = await recognised(url, samples, Session(fetchers[entry.id]))
    subject = subject_of(entry, found.samples)
    if subject is None:
        raise click.UsageError(f"{url} cannot be checked")
    return CheckJob(replace(subject, role=found.role, url=found.url), entry)

"""Results as plain lines with a stable format, for pipes; importing rich takes longer."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from archives.model import Closest
from archives.registry import Registry
from timegate.cli.network import failure_lines
from timegate.content.findings import QuoteFinding
from timegate.resolution.model import LiveOriginal, Preferences, Resolution
from timegate.resolution.preferences import NO_PREFERENCES
from timegate.responses.problems import failure
from timegate.responses.quotes import quote_words
from timegate.responses.referral import missing_named_archive
from timegate.responses.report import referred
from timegate.text import duration, escaped
from timegate.verdict import Verdict, header_safe, in_words, quoted_location, satisfies


def result_lines(resolution: Resolution, judged: Verdict, registry: Registry) -> Iterator[str]:
    """Yield the result as plain lines with a stable format, for pipes."""
    memento, live = resolution.memento, resolution.live
    if live is not None and live.answers:
        yield from _live_lines(live, judged)
        return
    if memento is None:
        yield from _nothing_lines(resolution, registry)
        return
    yield quoted_location(resolution, registry) or memento.uri
    yield f"captured {memento.captured}, in {memento.archive}"
    yield in_words(judged)
    if resolution.quote is not None:
        yield from quote_lines(resolution.quote, registry)
    for attempt in resolution.alternatives:
        if isinstance(attempt.outcome, Closest):
            copy = attempt.outcome.memento
            yield f"also in {attempt.archive}: {header_safe(copy.uri)}"
    if resolution.failed:
        yield f"no answer from {', '.join(resolution.failed)}"
    yield from named_archive(resolution, registry)
    yield from referral(resolution, registry)


def _nothing_lines(resolution: Resolution, registry: Registry) -> Iterator[str]:
    yield _nothing(resolution)
    lacking = failure(resolution, registry)
    if lacking.kind == "no-network":
        yield from failure_lines(lacking)
    if resolution.unasked:
        urls = ", ".join(escaped(variant.url) for variant in resolution.unasked)
        yield f"not every archive was queried for {urls}"
    yield from named_archive(resolution, registry)
    yield from referral(resolution, registry)


def _live_lines(live: LiveOriginal, judged: Verdict) -> Iterator[str]:
    yield header_safe(live.url)
    yield f"the original, requested {live.requested}; it is no memento"
    yield in_words(judged)


def unmet(
    resolution: Resolution, judged: Verdict, wanted: Preferences
) -> Iterator[tuple[str, str]]:
    """Yield the options of *wanted* that the copy does not meet, and why not."""
    if resolution.memento is None:
        return

    def fails(**choice: Any) -> bool:
        # With this choice alone, so that each one is named that is not met.
        alone = replace(NO_PREFERENCES, **choice)
        return not satisfies(replace(resolution, preferences=alone), judged)

    if wanted.precision != "any" and fails(precision=wanted.precision):
        yield "--precision", f"not as precise as --precision {wanted.precision}"
    if wanted.tolerance is not None and fails(tolerance=wanted.tolerance):
        most = duration(int(wanted.tolerance.total_seconds()))
        yield "--tolerance", f"farther from the requested time than --tolerance ({most})"
    quote, parts = resolution.quote, resolution.parts
    if wanted.quote is not None and (quote is None or quote.status != "found"):
        yield "--quote", "not known to have the text of --quote"
    is_lacking = parts is not None and (parts.missing > 0 or not parts.is_settled)
    if wanted.verify == "page" and is_lacking:
        yield "--verify", "not known to have all its parts, for which --verify page looked"


def quote_lines(found: QuoteFinding, registry: Registry) -> Iterator[str]:
    """Yield whether the copy has the quotation, and the passage."""
    yield f"quote {found.status}: {escaped(quote_words(found, registry))}"
    holder = found.holder
    if holder is not None and holder is not found.copies[0]:
        yield f"  {header_safe(holder.address())}"
    if holder is not None and holder.status == "near":
        yield f"  passage: {escaped(' '.join(holder.passage.split()))}"


def _nothing(resolution: Resolution) -> str:
    failed = ", ".join(resolution.failed)
    if failed:
        return f"nothing found; no answer from {failed}"
    if resolution.attempts:
        return "nothing found"
    return "nothing found: no archive could be queried"


def named_archive(resolution: Resolution, registry: Registry) -> Iterator[str]:
    """Yield why the archive in the identifier gave no answer."""
    if resolution.memento is None or resolution.unqueried is not None:
        reason = missing_named_archive(resolution, registry)
        if reason is not None:
            yield escaped(reason)


def referral(resolution: Resolution, registry: Registry) -> Iterator[str]:
    """Yield the unchecked link to the archive in the identifier, and what one can do."""
    unchecked = referred(resolution, registry)
    if unchecked is not None:
        if unchecked.uri is not None:
            yield f"unchecked link: {unchecked.uri}"
        # For archives that are read on site, the reason contains the advice.
        if unchecked.advice and unchecked.cause != "on-site":
            yield escaped(unchecked.advice)

"""For each check a fault that turns it red and a valid variation that leaves it green.

`python -m tests.timegate.conformance.mutations` prints docs/conformance/mutations.json.
"""

import json
from dataclasses import replace
from typing import Final, NamedTuple

from tests.timegate.conformance.archive import FAULTS, PAGE, QUICK, ArchiveOptions
from tests.timegate.conformance.faults_and_checks import (
    BROKEN,
    FAULT_OPTIONS,
    ON_FIXED,
    ON_PAGES,
    WITHOUT_TIMEMAP,
)
from timegate.conformance.checks import CHECKS
from timegate.conformance.subject import Role

GATE: Final = f"/timegate/{PAGE}"


class Trial(NamedTuple):
    """An archive with a fault or variation, and the address that is checked."""

    fault: str = "none"
    options: ArchiveOptions = QUICK
    path: str = GATE
    role: Role = "timegate"


RECORDED: Final = frozenset({"latency-is-told", "https-is-spoken"})
"""Checks that no archive on this machine can violate: test_mutations.py has recordings."""


def _red() -> dict[str, list[Trial]]:
    """Return every planted fault, by the check that has to find it."""
    found: dict[str, list[Trial]] = {name: [] for name in CHECKS}
    for fault, checks in BROKEN.items():
        for check in checks:
            found[check].append(Trial(fault, FAULT_OPTIONS.get(fault, QUICK)))
    for fault, checks in WITHOUT_TIMEMAP.items():
        for check in checks:
            found[check].append(Trial(fault))
    for path, faults in (("/page/", ON_PAGES), ("/fixed/", ON_FIXED)):
        for fault, checks in faults.items():
            for check in checks:
                found[check].append(Trial(fault, path=path, role="original"))
    return found


RED: Final = _red()

_200: Final = replace(QUICK, timegate="200")
_PAGED: Final = replace(QUICK, timemap="pages", page_size=2)
_INDEX: Final = replace(QUICK, timemap="index", page_size=2)
_ORIGINAL: Final = Trial(path="/page/", role="original")
_OWN: Final = Trial(options=replace(QUICK, own=True), path="/page/", role="original")
_FIXED: Final = Trial(path="/fixed/", role="original")
_TLS: Final = Trial("tls-right")

GREEN: Final[dict[str, Trial]] = {
    "timegate-dates-as-the-timemap-does": Trial("header-spelled-oddly"),
    "memento-datetime-is-the-timemaps": Trial("list-relative"),
    "memento-datetime-is-that-of-its-link": Trial("relative-addresses"),
    "links-have-the-datetimes-of-the-mementos": Trial("without-timemap"),
    "memento-datetime-is-that-of-its-address": Trial("archived-301"),
    "timemap-dates-are-those-of-the-addresses": Trial("rel-unquoted"),
    "first-and-last-are-right": Trial("header-in-lines"),
    "prev-and-next-are-right": Trial("rel-reordered"),
    "no-date-means-the-newest": Trial("looks-back"),
    "after-the-last-means-the-last": Trial("without-timemap"),
    "before-the-first-means-the-first": Trial("without-timemap"),
    "pick-is-the-closest": Trial("looks-ahead"),
    "exact-time-means-that-memento": Trial("timegate-of-timegates"),
    "same-question-same-answer": Trial("slow"),
    "answers-are-sound-http": Trial("header-in-lines"),
    "no-errors-of-its-own": Trial("archived-429"),
    "head-is-get-without-a-body": Trial("banner-counts"),
    "head-of-a-timemap-is-get-without-a-body": Trial("list-with-charset"),
    "unknown-page-is-a-404": Trial("gone-410"),
    "scripts-of-other-sites-may-read": Trial("moved-timegate"),
    "scripts-of-other-sites-may-ask-for-a-time": Trial("never-cached"),
    "certificate-is-valid": _TLS,
    "archived-errors-are-mementos": Trial("archived-404", _200),
    "nonsense-for-a-date-is-a-400": Trial("lenient-dates"),
    "dates-of-another-form-are-a-400": Trial("moved-timegate"),
    "a-day-that-never-was-is-a-400": Trial("lenient-dates"),
    "memento-datetime-is-a-date": Trial("archived-404"),
    "weekdays-fit": Trial("list-licensed"),
    "dates-are-possible": Trial("list-unbounded"),
    "memento-original-is-the-page": Trial("original-spelled-otherwise"),
    "timemap-original-is-the-page": Trial("original-spelled-otherwise"),
    "timemap-self-is-itself": Trial("list-self-escaped"),
    "original-timemap-is-of-the-page": Trial("list-moved", path="/page/", role="original"),
    "original-timegate-is-of-the-page": Trial("page-gone", path="/page/", role="original"),
    "timegate-timemap-is-of-the-page": Trial("list-moved"),
    "memento-timegate-is-of-the-page": Trial("several-timegates"),
    "memento-timemap-is-of-the-page": Trial("list-moved"),
    "timemap-timegate-is-of-the-page": Trial("list-with-timemaps"),
    "linked-mementos-are-listed": Trial(options=_INDEX),
    "listed-mementos-are-of-the-page": Trial("original-spelled-otherwise"),
    "links-of-mementos-have-datetimes": Trial("header-spelled-oddly"),
    "mementos-date-as-the-timemap-does": Trial("relative-addresses"),
    "link-headers-keep-to-the-grammar": Trial("header-with-empty-elements"),
    "from-and-until-are-dates": Trial(options=_PAGED),
    "licenses-are-uris": Trial("list-licensed"),
    "intermediate-redirects-link-the-original": Trial("moved-timegate"),
    "intermediate-redirects-link-no-other-original": Trial("by-intermediate"),
    "excluded-resources-have-no-memento-headers": Trial(
        "page-excluded", path="/page/", role="original"
    ),
    "html-links-agree-with-the-header": Trial("linked-twice", path="/page/", role="original"),
    "original-is-no-memento": _ORIGINAL,
    "redirects-of-mementos-do-not-negotiate": Trial("memento-varies-otherwise"),
    "memento-has-a-datetime": Trial("archived-429", _200),
    "memento-status-is-the-archived-one": Trial("archived-404"),
    "memento-links-one-original": Trial("header-with-strangers"),
    "memento-does-not-negotiate": Trial("memento-varies-otherwise"),
    "memento-ignores-accept-datetime": Trial("memento-immutable"),
    "a-made-up-time-is-not-confirmed": Trial("no-raw-view"),
    "memento-links-a-timegate": Trial("header-with-only-the-original"),
    "memento-links-a-timemap": Trial("header-with-only-the-original"),
    "raw-view-is-the-same-memento": Trial("banner-counts"),
    "redirects-end": Trial("chain-three"),
    "https-stays-https": _TLS,
    "redirects-stay-in-the-archive": Trial("archived-301"),
    "redirects-lead-to-web-addresses": Trial("relative-addresses"),
    "memento-is-not-the-live-page": Trial("archived-to-itself"),
    "chosen-memento-is-there": Trial("archived-404"),
    "memento-bytes-do-not-change": Trial("banner-counts"),
    "memento-headers-do-not-change": Trial("no-raw-view"),
    "negotiated-answers-are-not-immutable": Trial("memento-immutable"),
    "cached-answers-vary": Trial("cached-with-vary"),
    "timegate-leads-to-a-memento": Trial("archived-429", _200),
    "redirect-is-a-302": Trial("moved-timegate"),
    "redirect-has-a-location": Trial("relative-addresses"),
    "vary-names-accept-datetime": Trial("vary-with-more"),
    "timegate-links-one-original": Trial("header-with-strangers"),
    "original-is-what-was-asked-for": Trial("original-spelled-otherwise"),
    "redirect-has-no-memento-datetime": Trial("archived-301", _200),
    "answer-names-its-memento": Trial("relative-addresses", _200),
    "timegate-links-a-timemap": _OWN,
    "timemap-links-have-a-type": Trial("header-in-lines"),
    "memento-links-have-datetimes": Trial("header-spelled-oddly"),
    "chosen-memento-is-linked": Trial("by-intermediate"),
    "refusals-are-a-timegates": Trial("vary-with-more"),
    "own-errors-are-no-mementos": Trial("archived-404", _200),
    "original-links-a-timegate": Trial("page-unavailable", path="/page/", role="original"),
    "original-links-a-timemap": Trial("linked-in-html", path="/page/", role="original"),
    "original-is-frozen-if-it-says-so": _FIXED,
    "timemap-is-link-format": Trial("list-moved"),
    "timemap-says-that-it-is-link-format": Trial("list-typed-in-capitals"),
    "timemap-keeps-to-the-grammar": Trial("extra-parameters"),
    "timemap-has-no-empty-elements": Trial("no-final-newline"),
    "timemap-is-utf-8": Trial("no-final-newline"),
    "timemap-lists-one-original": Trial(options=_PAGED),
    "timemap-lists-its-timegate": Trial("list-with-timemaps"),
    "timemap-lists-itself": Trial("list-self-escaped"),
    "listed-mementos-have-datetimes": Trial("rel-reordered"),
    "timemap-is-in-order": Trial(options=_PAGED),
    "timemap-lists-each-memento-once": Trial(options=_PAGED),
    "timemap-dates-each-memento-once": Trial(options=_PAGED),
    "timemap-names-first-and-last-rightly": Trial(options=_INDEX),
    "from-and-until-bound-the-mementos": Trial(options=_INDEX),
    "pages-end": Trial("pages-linked-back", _PAGED),
    "pages-are-there": Trial(options=_INDEX),
    "timemap-lists-what-the-timegate-chooses": Trial(options=_INDEX),
    "json-lists-the-same": Trial("list-licensed"),
    "cdxj-lists-the-same": Trial("list-unbounded"),
    "timemap-does-not-negotiate": Trial("list-moved"),
    "timemap-is-no-memento": Trial("list-anchored"),
    "timemap-is-no-timegate": Trial("list-anchored"),
    "timemap-of-an-unknown-page-is-a-404": Trial("vary-with-more"),
}


def _options(trial: Trial) -> dict[str, object]:
    options = trial.options
    named = {
        "timegate": (options.timegate, "302"),
        "timemap": (options.timemap, "whole"),
        "own": (options.own, False),
    }
    return {name: value for name, (value, usual) in named.items() if value != usual}


def _written(trial: Trial) -> dict[str, object]:
    document: dict[str, object] = {"misbehave": trial.fault, **_options(trial)}
    return document if trial.path == GATE else {**document, "address": trial.path}


def published() -> str:
    """Return the table as JSON."""
    checks = {
        name: {
            "level": check.level,
            "sentence": check.sentence,
            "faults": [_written(trial) for trial in RED[name]],
            "variation": _written(GREEN[name]) if name in GREEN else None,
        }
        for name, check in CHECKS.items()
    }
    valid = {name: fault.sentence for name, fault in FAULTS.items() if fault.is_valid}
    return json.dumps({"checks": checks, "must_not_alarm": valid}, indent=1) + "\n"


if __name__ == "__main__":
    print(published(), end="")  # noqa: T201 -- this is its output

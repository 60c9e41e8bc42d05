"""The table of faults: which checks find each, and which are unknown without a response."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from tests.timegate.conformance.archive import FAULTS, QUICK, ArchiveOptions

_ALL_BAD_DATES: Final = {
    "nonsense-for-a-date-is-a-400",
    "dates-of-another-form-are-a-400",
    "a-day-that-never-was-is-a-400",
}
_IMPOSSIBLE: Final = {
    "dates-are-possible",
    "memento-datetime-is-that-of-its-address",
    "timemap-dates-are-those-of-the-addresses",
    # Only the dates of its links are changed: header, JSON and CDXJ contradict them.
    "from-and-until-bound-the-mementos",
    "json-lists-the-same",
    "cdxj-lists-the-same",
}
_UNSOUND: Final = frozenset({"answers-are-sound-http"})
_NOWHERE: Final = frozenset({"timegate-leads-to-a-memento"})
_UNASKED: Final = _NOWHERE | {"memento-status-is-the-archived-one"}
_UNTRUSTED: Final = frozenset({"certificate-is-valid"})
_LED_ASTRAY: Final = frozenset(
    {
        "after-the-last-means-the-last",
        "no-date-means-the-newest",
        "pick-is-the-closest",
        "prev-and-next-are-right",
    }
)
_GRAMMAR: Final = "timemap-keeps-to-the-grammar"

BROKEN: Final[Mapping[str, AbstractSet[str]]] = {
    # Refusals, redirects
    "bot-challenge": {"timegate-leads-to-a-memento"},
    "block-page": {"memento-has-a-datetime"},
    "server-error": {"no-errors-of-its-own", "timegate-leads-to-a-memento"},
    "loop-self": {"redirects-end"},
    "loop-pair": {"redirects-end"},
    "loop-fifty": {"redirects-end"},
    "redirect-nowhere": {"redirect-has-a-location"},
    "multiple-choices": {"timegate-leads-to-a-memento"},
    "redirect-metadata": {"redirects-stay-in-the-archive"},
    "redirect-file": {"redirects-lead-to-web-addresses", "redirects-stay-in-the-archive"},
    "redirect-elsewhere": {"redirects-stay-in-the-archive"},
    "redirect-private": {"redirects-stay-in-the-archive"},
    "redirect-downgrade": {"https-stays-https"},
    "redirect-307": {"redirect-is-a-302"},
    "no-content-location": {"answer-names-its-memento"},
    # Dates
    "datetime-missing": {"memento-has-a-datetime", "memento-links-have-datetimes"},
    "datetime-wrong": {
        "memento-datetime-is-that-of-its-address",
        "memento-datetime-is-that-of-its-link",
        "memento-datetime-is-the-timemaps",
    },
    "datetime-future": _IMPOSSIBLE,
    "datetime-ancient": _IMPOSSIBLE,
    "datetime-unparsable": {
        "links-of-mementos-have-datetimes",
        "listed-mementos-have-datetimes",
        "memento-datetime-is-a-date",
        "memento-links-have-datetimes",
    },
    "stamp-differs": {
        "memento-datetime-is-that-of-its-address",
        "timemap-dates-are-those-of-the-addresses",
    },
    # Some repeat the requested time, which may be in the future.
    "echo-asked": {"dates-are-possible", "timegate-dates-as-the-timemap-does"},
    "weekday-wrong": {"weekdays-fit"},
    "lenient-dates": {"dates-of-another-form-are-a-400"},
    "bad-date-ignored": _ALL_BAD_DATES,
    "bad-date-500": {*_ALL_BAD_DATES, "no-errors-of-its-own"},
    "answer-redated": {"dates-are-possible", "memento-datetime-is-the-timemaps"},
    "outside-is-406": {"after-the-last-means-the-last", "before-the-first-means-the-first"},
    "redirect-hostless": {"redirect-has-a-location", "redirects-stay-in-the-archive"},
    "list-has-another-page": {
        "linked-mementos-are-listed",
        "listed-mementos-are-of-the-page",
    },
    "list-of-nothing": {"timemap-lists-what-the-timegate-chooses"},
    "mementos-of-other": {"linked-mementos-are-listed", "chosen-memento-is-linked"},
    # Choices
    "wrong-closest": {
        "after-the-last-means-the-last",
        "before-the-first-means-the-first",
        "exact-time-means-that-memento",
        "no-date-means-the-newest",
        "pick-is-the-closest",
    },
    "newest-ignored": {"no-date-means-the-newest"},
    "holds-nothing": {
        "memento-timegate-is-of-the-page",
        "timegate-leads-to-a-memento",
        "timemap-timegate-is-of-the-page",
    },
    "before-first-404": {"before-the-first-means-the-first"},
    "after-last-404": {"after-the-last-means-the-last"},
    "unstable": {"same-question-same-answer"},
    "claims-everything": {
        "a-made-up-time-is-not-confirmed",
        "after-the-last-means-the-last",
        "before-the-first-means-the-first",
        "dates-are-possible",
        "linked-mementos-are-listed",
        "timemap-lists-what-the-timegate-chooses",
        "timemap-of-an-unknown-page-is-a-404",
        "unknown-page-is-a-404",
    },
    # Headers of TimeGates and mementos
    "first-last-chosen": {
        "first-and-last-are-right",
        "mementos-date-as-the-timemap-does",
        "prev-and-next-are-right",
        "timegate-dates-as-the-timemap-does",
    },
    "vary-missing": {"vary-names-accept-datetime", "refusals-are-a-timegates"},
    "vary-other": {"vary-names-accept-datetime", "refusals-are-a-timegates"},
    "memento-varies": {
        "memento-does-not-negotiate",
        "redirects-of-mementos-do-not-negotiate",
    },
    "two-originals": {"timegate-links-one-original"},
    "no-original": {"timegate-links-one-original", "refusals-are-a-timegates"},
    "memento-no-original": {"memento-links-one-original"},
    "other-original": {
        "memento-timegate-is-of-the-page",
        "original-is-what-was-asked-for",
        "timemap-timegate-is-of-the-page",
    },
    "datetime-on-redirect": {"redirect-has-no-memento-datetime"},
    "bare-refusals": {"refusals-are-a-timegates"},
    "dated-refusals": {"own-errors-are-no-mementos"},
    "no-timemap-type": {"timemap-links-have-a-type"},
    "no-timemap": {"timegate-links-a-timemap"},
    "prev-next-swapped": {"prev-and-next-are-right"},
    "chosen-unlinked": {"chosen-memento-is-linked"},
    "head-405": {"head-is-get-without-a-body"},
    "head-undated": {"head-is-get-without-a-body"},
    "raw-another": {"raw-view-is-the-same-memento"},
    "memento-negotiates": {"memento-ignores-accept-datetime"},
    "memento-alone": {"memento-links-a-timegate", "memento-links-a-timemap"},
    "memento-gone": {"chosen-memento-is-there", "memento-ignores-accept-datetime"},
    "no-cors": {
        "scripts-of-other-sites-may-ask-for-a-time",
        "scripts-of-other-sites-may-read",
    },
    "no-preflight": {"scripts-of-other-sites-may-ask-for-a-time"},
    # TimeMaps; what changes bytes changes those of JSON and CDXJ, too
    "single-quotes": {_GRAMMAR},
    "no-commas": {_GRAMMAR, "json-lists-the-same"},
    "latin-1": {"timemap-is-utf-8"},
    "byte-order-mark": {_GRAMMAR},
    "unbalanced-quote": {_GRAMMAR, "json-lists-the-same"},
    "unbalanced-bracket": {_GRAMMAR},
    "endless-link": {_GRAMMAR, "json-lists-the-same", "cdxj-lists-the-same"},
    "comma-flood": {"cdxj-lists-the-same", "timemap-has-no-empty-elements"},
    "huge-attribute": {
        _GRAMMAR,
        "linked-mementos-are-listed",
        "json-lists-the-same",
        "cdxj-lists-the-same",
        "timemap-lists-what-the-timegate-chooses",
    },
    "truncated-close": {
        _GRAMMAR,
        "linked-mementos-are-listed",
        "json-lists-the-same",
        "cdxj-lists-the-same",
        "timemap-lists-what-the-timegate-chooses",
    },
    "newest-first": {"timemap-is-in-order"},
    "shuffled": {"timemap-is-in-order"},
    "duplicates": {"timemap-lists-each-memento-once"},
    "page-ring": {"pages-end"},
    "page-endless": {"pages-end"},
    "page-missing": {
        "linked-mementos-are-listed",
        "pages-are-there",
        "timemap-lists-what-the-timegate-chooses",
    },
    "index-of-itself": {"pages-end", "timemap-lists-its-timegate", "timemap-lists-itself"},
    "list-no-original": {"timemap-lists-one-original"},
    "list-no-timegate": {"timemap-lists-its-timegate"},
    "list-no-self": {"timemap-lists-itself"},
    "list-misses-one": {
        "linked-mementos-are-listed",
        "cdxj-lists-the-same",
        "json-lists-the-same",
        "timemap-lists-what-the-timegate-chooses",
    },
    "list-wrong-first": {"timemap-names-first-and-last-rightly"},
    "list-until-too-early": {"from-and-until-bound-the-mementos"},
    "list-undated": {
        "linked-mementos-are-listed",
        "listed-mementos-have-datetimes",
        "cdxj-lists-the-same",
        "json-lists-the-same",
    },
    "list-plain": {"timemap-says-that-it-is-link-format"},
    "list-page": {"timemap-is-link-format"},
    "list-negotiates": {"timemap-does-not-negotiate"},
    "list-varies": {"timemap-is-no-timegate"},
    "list-is-a-memento": {"timemap-is-no-memento"},
    "list-unknown-200": {"timemap-of-an-unknown-page-is-a-404"},
    "list-head-404": {"head-of-a-timemap-is-get-without-a-body"},
    "json-misses-one": {"json-lists-the-same"},
    "cdxj-misses-one": {"cdxj-lists-the-same"},
    # Mementos that are not what the TimeGate promises
    **dict.fromkeys(
        ("memento-lost", "memento-to-home"),
        frozenset({"chosen-memento-is-there", "memento-has-a-datetime"}),
    ),
    "memento-500": {"memento-has-a-datetime", "no-errors-of-its-own"},
    "memento-to-live": {"memento-is-not-the-live-page", "redirects-stay-in-the-archive"},
    "memento-to-last": {"memento-datetime-is-the-timemaps"},
    "memento-to-login": {
        "memento-original-is-the-page",
        "memento-timegate-is-of-the-page",
        "memento-timemap-is-of-the-page",
    },
    "memento-other-original": {"memento-original-is-the-page"},
    "memento-elsewhere": {"redirects-stay-in-the-archive"},
    "memento-redated": {
        "memento-datetime-is-that-of-its-address",
        "memento-datetime-is-that-of-its-link",
        "memento-datetime-is-the-timemaps",
    },
    "frame-repeats": {"a-made-up-time-is-not-confirmed", "first-and-last-are-right"},
    # TimeGates and lists that mislead
    "always-newest": {
        "before-the-first-means-the-first",
        "exact-time-means-that-memento",
    },
    "always-oldest": {
        "after-the-last-means-the-last",
        "no-date-means-the-newest",
        "pick-is-the-closest",
    },
    "second-nearest": {
        "after-the-last-means-the-last",
        "before-the-first-means-the-first",
        "exact-time-means-that-memento",
        "no-date-means-the-newest",
        "pick-is-the-closest",
    },
    "promises-everything": {
        "after-the-last-means-the-last",
        "before-the-first-means-the-first",
        "chosen-memento-is-linked",
        "dates-are-possible",
        "first-and-last-are-right",
        "linked-mementos-are-listed",
        "links-have-the-datetimes-of-the-mementos",
        "timemap-lists-what-the-timegate-chooses",
    },
    "location-wrong": _LED_ASTRAY,
    "content-location-wrong": _LED_ASTRAY | {"memento-datetime-is-the-timemaps"},
    "list-false": _LED_ASTRAY
    | {"first-and-last-are-right", "memento-datetime-is-the-timemaps"},
    "false-next": {"dates-are-possible", "linked-mementos-are-listed"},
    # Links that name another page or lead nowhere
    "list-other-original": {
        "memento-timemap-is-of-the-page",
        "timegate-timemap-is-of-the-page",
        "timemap-original-is-the-page",
    },
    "list-self-foreign": {"timemap-self-is-itself"},
    "list-self-of-other": {"timemap-self-is-itself"},
    "list-timegate-gone": {"timemap-timegate-is-of-the-page"},
    "list-timegate-of-other": {"timemap-timegate-is-of-the-page"},
    "timemap-gone": {"timegate-timemap-is-of-the-page"},
    "timemap-of-other": {"timegate-timemap-is-of-the-page"},
    "memento-timegate-gone": {"memento-timegate-is-of-the-page"},
    "memento-timegate-of-other": {"memento-timegate-is-of-the-page"},
    "memento-timemap-gone": {"memento-timemap-is-of-the-page"},
    "memento-links-misdated": {
        "memento-datetime-is-that-of-its-link",
        "mementos-date-as-the-timemap-does",
    },
    "memento-links-undated": {"links-of-mementos-have-datetimes"},
    "license-is-a-phrase": {"licenses-are-uris"},
    "link-header-unbalanced": {"link-headers-keep-to-the-grammar"},
    "link-header-bare": {"link-headers-keep-to-the-grammar"},
    "list-bounds-unreadable": {"from-and-until-are-dates"},
    "index-bounds-wrong": {
        "from-and-until-are-dates",
        "from-and-until-bound-the-mementos",
    },
    "list-head-typed-otherwise": {"head-of-a-timemap-is-get-without-a-body"},
    "negotiates-and-does-not": {"excluded-resources-have-no-memento-headers"},
    "redirect-to-live": {"memento-is-not-the-live-page", "redirects-stay-in-the-archive"},
    "moved-without-original": {"intermediate-redirects-link-the-original"},
    "inexact-varies": {"redirects-of-mementos-do-not-negotiate"},
    # What must not change, and what caches may keep
    "bytes-change": {"memento-bytes-do-not-change"},
    "datetime-drifts": {"memento-headers-do-not-change", "raw-view-is-the-same-memento"},
    "redirect-immutable": {"negotiated-answers-are-not-immutable"},
    "cached-without-vary": {
        "cached-answers-vary",
        "refusals-are-a-timegates",
        "vary-names-accept-datetime",
    },
    "errors-as-200": {"archived-errors-are-mementos"},
    # Extreme dates, no date, single mementos
    "future-refused": {"after-the-last-means-the-last"},
    "past-refused": {"before-the-first-means-the-first"},
    "head-without-date-bare": {"head-is-get-without-a-body"},
    "no-date-live": {"memento-is-not-the-live-page", "no-date-means-the-newest"},
    "no-date-calendar": {"no-date-means-the-newest"},
    "content-location-self": {"answer-names-its-memento"},
    "addresses-unlisted": {"timemap-lists-what-the-timegate-chooses"},
    "first-link-dead": {"chosen-memento-is-linked", "linked-mementos-are-listed"},
    "memento-is-its-timegate": {"memento-timegate-is-of-the-page"},
    "others-crash": {"memento-has-a-datetime", "no-errors-of-its-own"},
    "original-one-slash": {
        "memento-original-is-the-page",
        "memento-timegate-is-of-the-page",
        "original-is-what-was-asked-for",
        "timemap-timegate-is-of-the-page",
    },
    "original-by-ftp": {"memento-original-is-the-page"},
    "link-target-not-ascii": {"link-headers-keep-to-the-grammar"},
    "moved-with-other-original": {"intermediate-redirects-link-no-other-original"},
    "list-two-dates": {
        "cdxj-lists-the-same",
        "json-lists-the-same",
        "prev-and-next-are-right",
        "timemap-dates-are-those-of-the-addresses",
        "timemap-dates-each-memento-once",
        "timemap-is-in-order",
    },
    "list-crashes": {"no-errors-of-its-own", "timemap-is-link-format"},
    # HTTP and TLS
    **dict.fromkeys(("thousand-headers", "huge-header", "nul-in-header"), _UNSOUND),
    **dict.fromkeys(("two-lengths", "truncated-length", "truncated-chunks"), _UNSOUND),
    **dict.fromkeys(("gzip-bomb", "gzip-nested", "gzip-members"), _UNSOUND),
    **dict.fromkeys(("says-gzip", "says-gzip-twice", "says-unknown"), _UNSOUND),
    **dict.fromkeys(("brotli-bomb", "zstd-bomb"), _UNSOUND),
    **dict.fromkeys(("status-304", "status-206"), _UNASKED),
    "status-416": _UNASKED
    | {"memento-timegate-is-of-the-page", "timemap-timegate-is-of-the-page"},
    **dict.fromkeys(("status-204", "status-205"), _NOWHERE),
    **dict.fromkeys(("tls-expired", "tls-self-signed"), _UNTRUSTED),
    **dict.fromkeys(("tls-wrong-host", "tls-outdated"), _UNTRUSTED),
}

ON_PAGES: Final[Mapping[str, AbstractSet[str]]] = {
    "page-unlinked": {"original-links-a-timegate", "original-links-a-timemap"},
    "page-with-original": {"original-is-no-memento"},
    "html-links-differ": {"html-links-agree-with-the-header"},
    "page-timemap-gone": {"original-timemap-is-of-the-page"},
    "page-timegate-gone": {"original-timegate-is-of-the-page", "timegate-leads-to-a-memento"},
    "page-timemap-of-other": {"original-timemap-is-of-the-page"},
}
"""Faults of originals, which are seen at the address ``/page/``."""
ON_FIXED: Final[Mapping[str, AbstractSet[str]]] = {
    "fixed-other-original": {
        "memento-original-is-the-page",
        "original-is-frozen-if-it-says-so",
    },
    "fixed-bytes-change": {"memento-bytes-do-not-change"},
}
"""Faults of originals that never change, which are seen at the address ``/fixed/``."""

WITHOUT_TIMEMAP: Final[Mapping[str, AbstractSet[str]]] = {
    "without-timemap+before-first-404": {"before-the-first-means-the-first"},
    "without-timemap+after-last-404": {"after-the-last-means-the-last"},
    "without-timemap+outside-is-406": {
        "after-the-last-means-the-last",
        "before-the-first-means-the-first",
    },
    "always-newest+without-timemap": {
        "before-the-first-means-the-first",
        "exact-time-means-that-memento",
    },
    "without-timemap+first-link-dead": {"chosen-memento-is-linked", "memento-has-a-datetime"},
    "without-timemap+datetime-wrong": {
        "links-have-the-datetimes-of-the-mementos",
        "memento-datetime-is-that-of-its-address",
        "memento-datetime-is-that-of-its-link",
        "prev-and-next-are-right",
    },
}
"""Faults of an archive without TimeMaps: links and other responses prove them."""

RIGHT: Final = {
    *(name for name, fault in FAULTS.items() if fault.is_valid),
    *ON_PAGES,
    *ON_FIXED,
    *("browser-headers", "continue-flood"),
    # Concerns CDX, which is not part of RFC 7089.
    "resume-ring",
    # The HTTP client drops a body after HEAD.
    "head-with-body",
}
"""Faults that break no rule, or none that a check of the TimeGate can see."""

# Without a response the result is unknown. It is enough to name some checks for each part that
# is missing: the choice of the TimeGate, the lists, the mementos.
_CHOICE: Final = frozenset({"pick-is-the-closest", "same-question-same-answer"})
_LISTS: Final = frozenset({"timemap-is-in-order", "pages-end"})
_MEMENTOS: Final = frozenset({"memento-links-one-original", "memento-does-not-negotiate"})
_NO_RESPONSE: Final = _CHOICE | _MEMENTOS
"""Without a response of the TimeGate no TimeMap is known: checks of it do not apply."""

UNKNOWN: Final[Mapping[str, AbstractSet[str]]] = {
    **dict.fromkeys(("too-many-seconds", "too-many-date", "too-many-silent"), _NO_RESPONSE),
    **dict.fromkeys(("unavailable", "forbidden", "server-error"), _NO_RESPONSE),
    **dict.fromkeys(("hang", "close-unanswered", "reset", "drip-head"), _NO_RESPONSE),
    **dict.fromkeys(("tls-hung", "close-at-once"), _NO_RESPONSE),
    **dict.fromkeys(("tls-expired", "tls-self-signed"), _NO_RESPONSE),
    **dict.fromkeys(("tls-wrong-host", "tls-outdated"), _NO_RESPONSE),
    **dict.fromkeys(("thousand-headers", "huge-header", "nul-in-header"), _NO_RESPONSE),
    "two-lengths": _NO_RESPONSE,
    # The TimeGate leads to no memento.
    **dict.fromkeys(("bot-challenge", "multiple-choices", "redirect-nowhere"), _CHOICE),
    **dict.fromkeys(("loop-self", "loop-pair", "loop-fifty"), _CHOICE),
    **dict.fromkeys(("redirect-metadata", "redirect-file", "redirect-elsewhere"), _CHOICE),
    **dict.fromkeys(("redirect-private", "redirect-downgrade"), _CHOICE),
    **dict.fromkeys(("status-204", "status-205"), _CHOICE),
    **dict.fromkeys(("status-206", "status-304", "status-416"), _CHOICE),
    **dict.fromkeys(("redirect-to-live", "redirect-hostless"), _CHOICE),
    # The lists cannot be read.
    **dict.fromkeys(("gzip-bomb", "gzip-nested", "gzip-members"), _LISTS),
    **dict.fromkeys(("says-gzip", "says-gzip-twice", "says-unknown"), _LISTS),
    **dict.fromkeys(("brotli-bomb", "zstd-bomb", "drip-body"), _LISTS),
    **dict.fromkeys(("truncated-length", "truncated-chunks", "list-page"), _LISTS),
    # The mementos have no Memento-Datetime.
    **dict.fromkeys(("block-page", "datetime-missing"), _MEMENTOS),
    **dict.fromkeys(("memento-lost", "memento-to-home"), _MEMENTOS),
    **dict.fromkeys(("memento-403", "memento-429", "memento-503"), _MEMENTOS),
    **dict.fromkeys(("memento-hang", "memento-to-live", "memento-elsewhere"), _MEMENTOS),
}

FAULT_OPTIONS: Final[Mapping[str, ArchiveOptions]] = {
    "page-missing": replace(QUICK, timemap="index", page_size=2),
    "no-content-location": replace(QUICK, timegate="200"),
    "content-location-wrong": replace(QUICK, timegate="200"),
    "errors-as-200": replace(QUICK, timegate="200"),
    "index-bounds-wrong": replace(QUICK, timemap="index", page_size=2),
    "answer-redated": replace(QUICK, timegate="200"),
    "content-location-self": replace(QUICK, timegate="200"),
    "pages-linked-back": replace(QUICK, timemap="pages", page_size=2),
}
"""Options that make a fault visible; all other faults are visible with the usual ones."""

NEVER_BROKEN: Final = {
    # Broken by recordings in test_mutations.py: no test waits ten seconds, and the address of a
    # test is private, so that it need not be https.
    *("latency-is-told", "https-is-spoken"),
}

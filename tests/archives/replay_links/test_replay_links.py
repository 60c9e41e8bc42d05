"""Links into archives: from the web, derived from their forms, and any text."""

import json
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from archives.diagnostics import Diagnosis, Malformed
from archives.model import ArchiveEntry
from archives.moment import Moment
from archives.registry import Registry, entry_from, load_known
from archives.replay_links import ReplayLink, read_link
from archives.replay_links.matching import forms_of

KNOWN = load_known()
DATA = Path(__file__).parents[2] / "data"


class Expected(TypedDict):
    archive: str | None
    kind: str
    time: str | None
    time14: str | None
    precision: str | None
    uri: str | None
    modifier: str | None
    collection: str | None


class Case(TypedDict):
    n: int
    url: str
    expect: Expected


CASES: list[Case] = json.loads((DATA / "replay_urls.json").read_text("utf-8"))["cases"]

IA = "https://web.archive.org/web"
COPY = ReplayLink("memento", "internet-archive", Moment("20160122112029"), "20160122112029")


def read(url: str) -> ReplayLink:
    return read_link(url, KNOWN, Diagnosis())


def repairs(url: str) -> list[tuple[str, int]]:
    diagnosis = Diagnosis()
    read_link(url, KNOWN, diagnosis)
    return [(each.token, each.position) for each in diagnosis.diagnostics if each.repair]


@pytest.mark.parametrize("case", CASES, ids=[f"{case['n']}" for case in CASES])
def test_links_from_the_web_are_read(case: Case) -> None:
    link = read(case["url"])

    assert case["expect"] == {
        "archive": link.archive,
        "kind": link.kind,
        "time": link.time_text,
        "time14": link.time and f"{link.time.window[0]:%Y%m%d%H%M%S}",
        "precision": link.time and link.time.granularity,
        "uri": link.uri,
        "modifier": link.modifier,
        "collection": link.collection,
    }


# Kind, archive, time, target, modifier, collection.
Reading = tuple[str, str, str | None, str | None, str | None, str | None]
READINGS: list[tuple[str, Reading]] = [
    (
        f"{IA}/2010-03-15/http://x.com/",
        ("memento", "internet-archive", "2010-03-15", "http://x.com/", None, None),
    ),
    (
        f"{IA}/20110101000000-/http://x.com/",
        ("memento", "internet-archive", "2011-01-01T00:00:00Z", "http://x.com/", None, None),
    ),
    (
        f"{IA}/20110101000000/_embed/http://x.com/",
        (
            "memento",
            "internet-archive",
            "2011-01-01T00:00:00Z",
            "http://x.com/",
            "_embed",
            None,
        ),
    ),
    (
        f"{IA}/20100000000000*/http://x.com/",
        ("calendar", "internet-archive", "2010", "http://x.com/", None, None),
    ),
    (
        f"{IA}/%2A/http://x.com/",
        ("calendar", "internet-archive", None, "http://x.com/", None, None),
    ),
    (
        f"{IA}/id_/http://x.com/",
        ("timegate", "internet-archive", None, "http://x.com/", "id_", None),
    ),
    (
        f"{IA}/timemap/cdxj/http://x.com/",
        ("timemap", "internet-archive", None, "http://x.com/", None, None),
    ),
    (f"{IA}/2016/dns:x.com", ("memento", "internet-archive", "2016", "dns:x.com", None, None)),
    (
        f"{IA}/2016/x.com:80/a",
        ("memento", "internet-archive", "2016", "http://x.com:80/a", None, None),
    ),
    (f"{IA}/2016/", ("not-a-memento", "internet-archive", None, None, None, None)),
    (f"{IA}/2016/http://", ("not-a-memento", "internet-archive", None, None, None, None)),
    (
        "https://web.archive.org/cdx/search/cdx?url=http%3A%2F%2Fx.com%2F%3Fa&limit=1",
        ("index-query", "internet-archive", None, "http://x.com/?a", None, None),
    ),
    (
        "https://archive.org/wayback/available?url=x.com&timestamp=2006",
        ("index-query", "internet-archive", "2006", "http://x.com", None, None),
    ),
    (
        "https://archive.org/pwid?time=2016-01-22_11.20.29Z&coverage=part&item=http://x.com/?a&b",
        (
            "memento",
            "internet-archive",
            "2016-01-22T11:20:29Z",
            "http://x.com/?a&b",
            "part",
            None,
        ),
    ),
    (
        "https://wayback.archive-it.org/1068/timemap/link/http://x.com/",
        ("timemap", "archive-it", None, "http://x.com/", None, "1068"),
    ),
    (
        "https://archive.is/2013.05.01-123456/http://x.com/",
        ("memento", "archive-today", "2013-05-01T12:34:56Z", "http://x.com/", None, None),
    ),
    (
        "https://archive.fo/2014/http://x.com/%23a#selection-1.0-2.3",
        ("memento", "archive-today", "2014", "http://x.com/#a", None, None),
    ),
    (
        "https://archive.ph/o/AbCdE/http://x.com/",
        ("opaque-id", "archive-today", None, "http://x.com/", None, "AbCdE"),
    ),
    ("https://archive.ph/faq", ("not-a-memento", "archive-today", None, None, None, None)),
    (
        "https://webarchive.nationalarchives.gov.uk/ukgwa/+/http://x.uk",
        ("latest", "ukgwa", None, "http://x.uk", None, "ukgwa"),
    ),
    (
        "http://collection.europarchive.org/nli/raw/2014/http://x.ie",
        ("memento", "internet-memory", "2014", "http://x.ie", "raw", "nli"),
    ),
    (
        "http://www.webcitation.org/5eWaHRbn4?url=http://x.com/?a=1&b=2",
        ("memento", "webcite", "2009-02-12T05:19:18Z", "http://x.com/?a=1&b=2", None, None),
    ),
    (
        "http://www.webcitation.org/query?id=1333884124623720",
        ("opaque-id", "webcite", "2012-04-08T11:22:04Z", None, None, None),
    ),
    (
        "http://webcitation.org/query?url=http://x.com/&date=2008-01-02+10:20:30",
        ("memento", "webcite", "2008-01-02T10:20:30Z", "http://x.com/", None, None),
    ),
    (
        "http://www.webcitation.org/consortia",
        ("not-a-memento", "webcite", None, None, None, None),
    ),
    (
        "https://megalodon.jp/ref/2012-0102-0304-05/x.jp/",
        ("memento", "megalodon", "2012-01-01T18:04:05Z", "http://x.jp/", None, None),
    ),
    (
        "https://webrecorder.io/u/c/20190125120000$br:chrome:60/https://x.com/",
        (
            "memento",
            "conifer-webrecorder",
            "2019-01-25T12:00:00Z",
            "https://x.com/",
            None,
            "u/c",
        ),
    ),
    (
        "http://webcache.googleusercontent.com/search?q=cache:abcDEF123-_k:http://x.com/a+b&hl=en",
        ("latest", "google-cache", None, "http://x.com/a", None, None),
    ),
    (
        "http://webcache.googleusercontent.com/search?q=cache%3Ax.com/a%20b",
        ("latest", "google-cache", None, "http://x.com/a", None, None),
    ),
    (
        "http://www.screenshots.com/x.com/",
        ("latest", "screenshots-com", None, "http://x.com/", None, None),
    ),
    (
        "https://index.commoncrawl.org/CC-MAIN-2020-05-index?url=x.com&output=json",
        ("index-query", "common-crawl", None, "http://x.com", None, "CC-MAIN-2020-05"),
    ),
    (
        "https://timetravel.mementoweb.org/timemap/link/http://x.com/",
        ("timemap", "timetravel", None, "http://x.com/", None, None),
    ),
    ("https://vefsafn.is/robots.txt", ("not-a-memento", "vefsafn", None, None, None, None)),
    ("https://vefsafn.is/Special:Search", ("not-a-memento", "vefsafn", None, None, None, None)),
    (
        "https://waext.banq.qc.ca/web/2016/http://x.ca/",
        ("memento", "banq", "2016", "http://x.ca/", None, None),
    ),
]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"{IA}/20160122112029/", True),
        (f"{IA}/20160122112029", True),
        (f"{IA}/2016id_/", True),
        (f"{IA}/2016/http://", True),
        (f"{IA}/2016/https:/", True),
        (f"{IA}/*/", True),
        (f"{IA}/20160122112029/?x=1", True),
        ("https://wayback.archive-it.org/1234/20160122112029/", True),
        (f"{IA}/", False),
        (f"{IA}/2016/http://x.com/", False),
        ("https://web.archive.org/", False),
        ("https://archive-it.org/collections/1234", False),
        ("https://wayback.archive-it.org/1234/2016/", False),
        ("https://example.org/web/20160122112029/", False),
    ],
)
def test_a_link_whose_target_is_missing_is_told_from_other_pages(
    url: str, *, expected: bool
) -> None:
    assert read(url).lacks_target == expected


@pytest.mark.parametrize(("url", "expected"), READINGS)
def test_forms_derived_from_the_registry_are_read(url: str, expected: Reading) -> None:
    link = read(url)

    time = None if link.time is None else str(link.time)
    assert expected == (
        link.kind,
        link.archive,
        time,
        link.uri,
        link.modifier,
        link.collection,
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"{IA}/20160122112029/http://x.com/", []),
        (f"{IA}/20160122112029/http:/x.com/", [("slash-collapsed", 43)]),
        (f"{IA}/20160122112029/x.com/", [("scheme-assumed", 43)]),
        (f"{IA}/20160122112029/http%3A//x.com/", []),
        (f"{IA}/2016012/http://x.com/", [("odd-stamp", 28)]),
        (f"{IA}/20160122112029123/http://x.com/", [("odd-stamp", 28)]),
        (f"{IA}/20100000000000/http://x.com/", [("odd-stamp", 28)]),
        (f"{IA}/201/http://x.com/", []),
        ("https:/web.archive.org/web/2016/http://x.com/", [("slash-collapsed", 6)]),
        ("web.archive.org/web/2016/http://x.com/", [("scheme-assumed", 0)]),
        ("www.example.com/a", []),
    ],
)
def test_repairs_have_their_positions(url: str, expected: list[tuple[str, int]]) -> None:
    assert repairs(url) == expected


def test_strict_reading_repairs_nothing() -> None:
    with pytest.raises(Malformed) as error:
        read_link(f"{IA}/2016/x.com/", KNOWN, Diagnosis(strict=True))

    assert error.value.code == "scheme-assumed"


@pytest.mark.parametrize(
    ("url", "code", "position"),
    [
        (f"{IA}/20161322112029/http://x.com/", "bad-date", 32),
        (f"{IA}/20160230/http://x.com/", "bad-date", 34),
        (f"{IA}/20160122252029/http://x.com/", "bad-time", 36),
        (f"{IA}/00000122/http://x.com/", "bad-year", 28),
        ("https://archive.is/2013.13.01-123456/http://x.com/", "bad-date", 19),
        ("https://megalodon.jp/2012-1302-0304-05/http://x.jp/", "bad-date", 21),
        ("http://pandora.nla.gov.au/nph-arch/2000/S2000-Feb-30/http://x/", "bad-date", 40),
        (f"{IA}/<time>/<uri>", "bad-char", 28),
        (f"{IA}/2016/http://x.com/ ", "control-or-space", 46),
        (f"{IA}/2016/http://x.com/\n", "control-or-space", 46),
        ("https://www.example.com/\u200b", "control-or-space", 24),
    ],
)
def test_impossible_links_are_malformed(url: str, code: str, position: int) -> None:
    with pytest.raises(Malformed) as error:
        read(url)

    assert (error.value.code, error.value.position) == (code, position)


def test_only_ascii_digits_are_digits() -> None:
    assert read(f"{IA}/\u0662\u0660\u0661\u0666/http://x.com/").time is None


def test_a_target_is_decoded_once_and_without_blanks() -> None:
    link = read(f"{IA}/2016/http%3A%2F%2Fx.com%2Fa%2520b%20c%0D%22%C3%A9")

    assert link.uri == "http://x.com/a%20b%20c%0D%22%C3%A9"


def test_the_user_of_a_url_is_not_its_host() -> None:
    assert read("https://web.archive.org@evil.example/web/2016/http://x/").archive is None


def test_an_operators_archive_needs_no_forms() -> None:
    table = {"id": "mine", "kind": "memento", "timegate": "http://wayback.local:8080/all/"}
    registry = Registry([entry_from(table, "mine.toml")])

    link = read_link("http://wayback.local:8080/all/2016id_/x.com", registry, Diagnosis())

    assert (link.kind, link.archive, link.uri) == ("memento", "mine", "http://x.com")
    assert link.modifier == "id_"


def test_archives_that_share_a_host_are_told_apart_by_their_forms() -> None:
    tables = [
        {"id": name, "kind": "memento", "timegate": f"http://shared.example/{name}/timegate/"}
        | {"replay": f"http://shared.example/{name}/{{time14}}/{{uri}}"}
        for name in ("one", "two", "three")
    ]
    entries = [entry_from(table, f"{table['id']}.toml") for table in tables]
    registry = Registry(entries, shared_hosts=True)

    for entry in entries:
        link = read_link(
            f"http://shared.example/{entry.id}/20160122112029/http://x.com/",
            registry,
            Diagnosis(),
        )
        assert (link.kind, link.archive, link.uri) == ("memento", entry.id, "http://x.com/")


@pytest.mark.parametrize("entry", KNOWN.entries, ids=lambda entry: entry.id)
def test_every_replay_template_of_the_registry_is_read_back(entry: ArchiveEntry) -> None:
    for template in filter(None, (entry.replay, entry.raw)):
        url = template.format(time14="20160122112029", uri="http://x.com/a?b=c#d")
        link = read(url)

        host = entry.hosted_by or entry.id
        assert (link.kind, link.archive) == ("memento", host)
        assert (link.time, link.uri) == (Moment("20160122112029"), "http://x.com/a?b=c#d")


def test_forms_are_parsed_once() -> None:
    entry = KNOWN.entries[0]

    assert forms_of(entry) is forms_of(entry)


class Time(TypedDict):
    start: str | None
    end: str | None
    granularity: str


class Reference(TypedDict):
    archive: str
    time: Time
    precision: str
    item: str


class Vector(TypedDict):
    id: str
    input: str
    kind: str
    valid: bool
    expect: Reference


def vectors(*, valid: bool) -> list[Vector]:
    listed: list[Vector] = json.loads((DATA / "vectors.json").read_text("utf-8"))["vectors"]
    return [each for each in listed if each["kind"] == "archive-url" and each["valid"] is valid]


@pytest.mark.parametrize("vector", vectors(valid=True), ids=lambda vector: vector["id"])
def test_the_vectors_of_the_specification_are_read(vector: Vector) -> None:
    link = read(vector["input"])

    entry = KNOWN.by_id(link.archive or "")
    assert entry is not None
    time = link.time
    assert vector["expect"]["archive"] == entry.pwid[0]
    assert vector["expect"]["time"] == {
        "start": time and time.start,
        "end": time and time.end,
        "granularity": time.granularity if time else "latest",
    }
    assert vector["expect"]["precision"] == ("part" if link.modifier == "id_" else "page")
    assert vector["expect"]["item"] == (link.uri or "").partition("#")[0]


@pytest.mark.parametrize("vector", vectors(valid=False), ids=lambda vector: vector["id"])
def test_links_that_the_specification_rejects_are_no_mementos(vector: Vector) -> None:
    with suppress(Malformed):
        assert read(vector["input"]).kind not in ("memento", "timegate", "latest")


@pytest.mark.parametrize(
    ("url", "archive_id", "collection"),
    [
        ("https://wayback.archive-it.org/1068/2016/http://x/", "archive-it.org", "1068"),
        ("https://webarchiv.onb.ac.at/web/2013/http://x/", "webarchiv.onb.ac.at", None),
        ("https://swap.stanford.edu/2016/http://x/", "stanford.edu", None),
        ("https://wayback.vefsafn.is/wayback/2016/http://x/", "vefsafn.is", None),
        ("https://archive.org/web/2016/http://x/", "archive.org", None),
    ],
)
def test_a_link_has_the_archive_id_of_pwids_and_the_collection(
    url: str, archive_id: str, collection: str | None
) -> None:
    link = read(url)

    entry = KNOWN.by_id(link.archive or "")
    assert entry is not None
    assert entry.pwid[0] == archive_id
    assert link.collection == collection


hosts = st.sampled_from(
    [host for entry in KNOWN.entries for host in (*entry.hosts, *entry.former_hosts)]
)
paths = st.text(
    st.one_of(st.sampled_from("/:?#&=%*+-_.0123456789"), st.characters()), max_size=60
)


@given(st.text(max_size=80))
@example("http://")
@example("//web.archive.org/web/2016/http://x.com")
@example(":")
def test_any_text_is_read_or_malformed(text: str) -> None:
    with suppress(Malformed):
        assert isinstance(read(text), ReplayLink)


@given(hosts, paths)
@example("web.archive.org", "web/%")
@example("webcitation.org", "?url=")
@example("webcitation.org", "query?url=%&date=%")
@example("megalodon.jp", "0001-0101-0000-00/http://x/")
def test_any_path_at_an_archive_is_read_or_malformed(host: str, path: str) -> None:
    with suppress(Malformed):
        link = read(f"http://{host}/{path}")

        assert link.archive is not None
        assert link.uri is None or ":" in link.uri


@given(
    st.sampled_from([4, 6, 8, 10, 12, 14]).flatmap(
        lambda length: st.datetimes().map(
            lambda when: f"{when.year:04}{when:%m%d%H%M%S}"[:length]
        )
    )
)
def test_a_stamp_is_read_as_written(digits: str) -> None:
    link = read(f"{IA}/{digits}id_/http://x.com/")

    assert link.time == Moment(digits)
    assert link.time_text == digits


def test_a_memento_of_a_memento_is_a_memento() -> None:
    inner = f"{IA}/20100101000000/http://x.com/"

    outer = read(f"{IA}/20160122112029/{inner}")

    assert outer.uri == inner
    assert (outer.kind, outer.time) == (COPY.kind, COPY.time)

"""Properties of every verdict: it can be written and read, and hides no difference."""

from dataclasses import replace

import http_sf
from hypothesis import given
from hypothesis import strategies as st

from archives.model import Memento
from tests.timegate.resolution.resolutions import (
    REGISTRY,
    absent,
    asking,
    failed,
    found,
    resolved,
)
from timegate.resolution.model import Resolution
from timegate.verdict import Verdict, header, in_words, verdict

ORDER = ("exact", "within", "approximate", "substitute", "none")
STAMPS = st.sampled_from(
    [
        "20160122112029",
        "20160122112000",
        "20160122112030",
        "20161231235959",
        "20160122112029123",
    ]
)
MOMENTS = STAMPS | st.sampled_from(
    ["2016", "201601", "20160122", "2016012211", "201601221120", "20161231235960"]
)
URLS = st.sampled_from(
    [
        *("http://a.example/", "http://a.example", "https://a.example/", "http://A.example/"),
        *("http://www.a.example/", "http://a.example/x?y=1", "http://b.example/", ""),
        *("http://me@a.example/", "http://a..example/", "ftp://a.example/"),
    ]
)
ARCHIVES = st.sampled_from(["internet-archive", "arquivo-pt", "nameless", "zeros", "unlisted"])
NAMES = st.sampled_from(["archive.org", "web.archive.org", "arquivo.pt", "~nobody", None])
PRECISIONS = st.sampled_from([None, "page", "part", "site", "webpage", "hologram"])


@st.composite
def resolutions(draw: st.DrawFn) -> Resolution:
    archive = draw(ARCHIVES)
    original = draw(URLS | st.text(max_size=30))
    copy = Memento(
        draw(STAMPS),
        f"https://{archive}/{original}",
        original,
        archive,
        draw(st.sampled_from([None, 200, 302, 404])),
    )
    query = asking(
        draw(MOMENTS | st.none()),
        draw(NAMES),
        original=draw(URLS.filter(bool)),
        precision=draw(PRECISIONS),
        minted=draw(st.booleans()),
        diagnostics=draw(st.sampled_from([(), ("iri",), ("item-fragment", "iri")])),
    )
    others = draw(st.lists(st.sampled_from([absent("x"), failed("y")]), max_size=3))
    best = draw(st.sampled_from([found(copy), None]))
    return resolved(query, best, *others)


def value(judged: Verdict, name: str) -> str:
    member = dict(judged.members())[name]
    assert member is not None
    return member.value


@given(resolutions())
def test_every_header_can_be_parsed_back(resolution: Resolution) -> None:
    judged = verdict(resolution, REGISTRY)

    field = header(judged)

    written = http_sf.parse(field.encode("ascii"), tltype="dictionary")
    assert isinstance(written, dict)
    said = {name: member for name, member in judged.members() if member}
    assert list(written) == list(said)
    for name, member in said.items():
        item = written[name]
        assert isinstance(item, tuple)
        assert str(item[0]) == member.value
        assert list(item[1]) == list(member.params)


@given(resolutions())
def test_a_verdict_in_words_is_one_line(resolution: Resolution) -> None:
    words = in_words(verdict(resolution, REGISTRY))

    assert words.isascii()
    assert words.isprintable()


@given(resolutions())
def test_a_match_is_never_better_than_its_members_allow(resolution: Resolution) -> None:
    judged = verdict(resolution, REGISTRY)

    match = ORDER.index(judged.match.value)

    if resolution.memento is None:
        assert match == ORDER.index("none")
        return
    if value(judged, "archive") in ("other", "unknown"):
        assert match >= ORDER.index("substitute")
    if (
        value(judged, "time") in ("before", "after", "unknown")
        or value(judged, "coverage") in ("degraded", "ignored", "unsupported")
        or value(judged, "uri") in ("variant", "redirected", "unknown")
    ):
        assert match >= ORDER.index("approximate")
    if value(judged, "time") == "latest" or value(judged, "granularity") != "same":
        assert match >= ORDER.index("within")


@given(resolutions())
def test_every_difference_is_reported(resolution: Resolution) -> None:
    judged = verdict(resolution, REGISTRY)
    memento, query = resolution.memento, resolution.query

    if memento is None:
        return

    if query.archive_id and memento.archive != query.archive:
        assert value(judged, "archive") in ("other", "unknown")
    if query.at is not None and memento.stamp != query.at.digits:
        assert value(judged, "time") != "exact"
    if query.at is not None and len(memento.stamp) != len(query.at.digits):
        assert value(judged, "granularity") != "same"
    if query.precision not in (None, "page", "webpage", "part"):
        assert value(judged, "coverage") in ("degraded", "ignored")
    if memento.original.partition("#")[0] != query.original:
        assert value(judged, "uri") != "same"


@given(resolutions())
def test_every_error_is_reported(resolution: Resolution) -> None:
    judged = verdict(resolution, REGISTRY)

    status = None if resolution.memento is None else resolution.memento.status

    if status not in (None, 200):
        assert judged.content is not None
        assert judged.content["status"] == status
    if resolution.failed:
        assert value(judged, "sources") == "partial"


@given(resolutions())
def test_only_the_four_dimensions_of_the_copy_decide_the_match(resolution: Resolution) -> None:
    """X-4: content, sources, negotiation and syntax never change it."""
    query = replace(resolution.query, syntax="repaired")
    other = replace(resolution, query=query, unanswered=("late", "later"))

    assert verdict(other, REGISTRY).match == verdict(resolution, REGISTRY).match

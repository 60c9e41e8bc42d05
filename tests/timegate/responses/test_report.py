"""The report is plain JSON; no URL can break out of a link."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from archives.errors import Misbehaved
from archives.formats.linkformat import parse_header
from archives.model import Memento, Relation
from tests.timegate.resolution.resolutions import (
    PAGE,
    REGISTRY,
    absent,
    asking,
    failed,
    found,
    memento,
    resolved,
)
from timegate.resolution.model import Resolution, UnaskedVariant
from timegate.responses.report import LONGEST_LINKS, Json, links, neighbours, report
from timegate.verdict import verdict

BASE = "https://timegate.example"
SECOND = "20160122112029"
IDENTIFIER = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/"


def reported(resolution: Resolution) -> Json:
    return report(resolution, verdict(resolution, REGISTRY), REGISTRY, BASE)


def test_a_report_has_the_verdict_the_memento_and_the_attempts() -> None:
    chosen = found(memento(SECOND)._replace(status=200))
    other = structs.replace(found(memento("20160123112029", "arquivo-pt")), age=60.5)
    query = asking(SECOND, identifier=IDENTIFIER)
    resolution = replace(
        resolved(query, chosen, other, absent("loc"), failed("ukwa")), unanswered=("bnf",)
    )

    found_report = reported(resolution)

    delivered: dict[str, object] = {"evidence": "delivered", "hops": [], "unchecked": None}
    attempt = {"cached": False, "age": None, "url": PAGE, "variant": None}
    assert found_report == {
        "identifier": IDENTIFIER,
        "original": PAGE,
        "match": {"value": "exact"},
        "evidence": {"value": "delivered"},
        "archive": {"value": "same", "req": "archive.org", "got": "archive.org"},
        "time": {
            "value": "exact",
            "req": "2016-01-22T11:20:29Z",
            "got": "2016-01-22T11:20:29Z",
            "delta": 0,
        },
        "granularity": {"value": "same", "req": "second", "got": "second"},
        "coverage": {"value": "as-requested", "got": "page"},
        "uri": {"value": "same"},
        "content": {"value": "rewritten"},
        "sources": {"value": "partial", "asked": 5, "failed": 2},
        "negotiation": {"value": "identifier"},
        "syntax": {"value": "strict"},
        "memento": {
            "uri": f"https://internet-archive/{SECOND}/{PAGE}",
            "raw": f"https://web.archive.org/web/{SECOND}id_/{PAGE}",
            "datetime": "2016-01-22T11:20:29Z",
            "archive": "internet-archive",
            "status": 200,
        },
        "referral": None,
        "cite": {"pwid": IDENTIFIER, "duri": "duri:2016-01-22T11:20:29Z:http://www.dr.dk/"},
        "alternatives": [
            {
                "archive": "arquivo-pt",
                "uri": f"https://arquivo-pt/20160123112029/{PAGE}",
                "datetime": "2016-01-23T11:20:29Z",
                "delta": 86_400,
                "evidence": "delivered",
                "status": None,
            }
        ],
        "attempts": [
            {"archive": "internet-archive", "outcome": "found", "reason": None, "doubts": []}
            | delivered
            | {"via": "timegate", "milliseconds": 250}
            | attempt,
            {"archive": "arquivo-pt", "outcome": "found", "reason": None, "doubts": []}
            | delivered
            | {"via": "timegate", "milliseconds": 250}
            | attempt
            | {"cached": True, "age": 60.5},
            {"archive": "loc", "outcome": "absent", "reason": None, "milliseconds": 100}
            | attempt,
            {"archive": "ukwa", "outcome": "unknown", "reason": "timed out"}
            | {"milliseconds": 2000}
            | attempt,
            {"archive": "bnf", "outcome": "unknown", "reason": "no answer in time"}
            | {"milliseconds": None}
            | attempt,
        ],
        "checks": [],
        "unasked": [],
        "timemap": "https://timegate.example/timemap/link/http://www.dr.dk/",
        "headline": "Exactly as requested",
        "words": "at exactly the requested time, in the requested archive, same URL; "
        "2 of 5 archives did not answer",
    }
    assert json.loads(json.dumps(found_report)) == found_report


def test_a_report_without_a_memento_has_null() -> None:
    nothing = reported(resolved(asking(SECOND), None, absent("loc")))

    assert nothing["match"] == {"value": "none"}
    assert nothing["time"] is None
    assert nothing["memento"] is None
    assert nothing["cite"] == {"pwid": None, "duri": None}
    assert nothing["alternatives"] == []


def test_a_report_without_a_memento_names_variants_that_were_not_queried() -> None:
    spared = UnaskedVariant("scheme", "https://www.dr.dk/", ("loc", "ukwa"))
    resolution = replace(resolved(asking(SECOND), None, absent("loc")), unasked=(spared,))

    nothing = reported(resolution)

    assert nothing["unasked"] == [
        {"variant": "scheme", "url": "https://www.dr.dk/", "archives": ["loc", "ukwa"]}
    ]
    assert nothing["sources"] == {"value": "complete", "asked": 1, "failed": 0, "variants": 1}
    assert nothing["words"] == (
        "no copy found; not every archive was queried for variants of the URL"
    )


def test_an_archive_without_a_pwid_id_is_cited_by_its_url_alone() -> None:
    result = reported(resolved(asking(SECOND), found(memento(SECOND, "nameless"))))

    assert result["cite"] == {
        "pwid": None,
        "duri": "duri:2016-01-22T11:20:29Z:http://www.dr.dk/",
    }


def test_raw_bytes_are_cited_as_a_part() -> None:
    result = reported(resolved(asking(SECOND, precision="part"), found(memento(SECOND))))

    assert result["cite"] == {
        "pwid": IDENTIFIER.replace(":page:", ":part:"),
        "duri": "duri:2016-01-22T11:20:29Z:http://www.dr.dk/",
    }


@pytest.mark.parametrize("archive", ["internet-archive", "nameless"])
def test_an_original_that_is_no_url_is_not_cited(archive: str) -> None:
    copy = memento(SECOND, archive, original="not a url\n")

    result = reported(resolved(asking(SECOND), found(copy)))

    assert result["cite"] == {"pwid": None, "duri": None}


def test_a_reason_has_no_control_characters_and_is_short() -> None:
    error = Misbehaved("loc", PAGE, "said \x1b[2J\r\n" + "x" * 1000)

    result = reported(resolved(asking(SECOND), None, failed("loc", error)))

    attempts = result["attempts"]
    assert isinstance(attempts, list)
    assert attempts[0]["reason"].startswith("said \ufffd[2J\ufffd\ufffdx")
    assert len(attempts[0]["reason"]) == 300


def test_links_name_the_original_the_memento_and_our_resources() -> None:
    chosen = found(
        memento(SECOND),
        neighbours={
            "first": memento("20150101000000"),
            "prev": memento("20150101000000"),
            "next": memento("20170101000000"),
            "last": memento("20180101000000"),
        },
    )

    field = links(resolved(asking(SECOND), chosen), BASE + "/", REGISTRY)

    assert field == (
        '<http://www.dr.dk/>; rel="original", '
        f'<https://internet-archive/{SECOND}/http://www.dr.dk/>; rel="memento"; '
        'datetime="Fri, 22 Jan 2016 11:20:29 GMT", '
        "<https://internet-archive/20150101000000/http://www.dr.dk/>; "
        'rel="first prev memento"; '
        'datetime="Thu, 01 Jan 2015 00:00:00 GMT", '
        '<https://internet-archive/20170101000000/http://www.dr.dk/>; rel="next memento"; '
        'datetime="Sun, 01 Jan 2017 00:00:00 GMT", '
        '<https://internet-archive/20180101000000/http://www.dr.dk/>; rel="last memento"; '
        'datetime="Mon, 01 Jan 2018 00:00:00 GMT", '
        '<https://timegate.example/timemap/link/http://www.dr.dk/>; rel="timemap"; '
        'type="application/link-format", '
        '<https://timegate.example/timegate/http://www.dr.dk/>; rel="timegate", '
        f'<{IDENTIFIER}>; rel="cite-as"'
    )


def test_without_a_registry_there_is_no_cite_as() -> None:
    field = links(resolved(asking(SECOND), found(memento(SECOND))), BASE)

    assert "cite-as" not in field


def test_without_a_memento_the_other_links_remain() -> None:
    field = links(resolved(asking(SECOND), None, absent("loc")), BASE, REGISTRY)

    assert [link.rels for link in parse_header(field)] == [
        ("original",),
        ("timemap",),
        ("timegate",),
    ]


def test_a_sole_capture_is_first_and_last() -> None:
    copy = memento(SECOND)

    field = links(
        resolved(asking(SECOND), found(copy, neighbours={"first": copy, "last": copy})), BASE
    )

    assert parse_header(field)[1].rels == ("first", "last", "memento")


def test_a_nearer_neighbour_in_another_archive_is_the_neighbour() -> None:
    chosen = found(memento(SECOND), neighbours={"prev": memento("20150101000000")})
    nearer = found(memento("20160101000000", "arquivo-pt"))

    field = links(resolved(asking(SECOND), chosen, nearer), BASE)

    assert parse_header(field)[2].target.startswith("https://arquivo-pt/20160101000000/")


def test_no_neighbour_is_linked_where_archives_were_skipped() -> None:
    copy = memento(SECOND)
    chosen = found(copy, neighbours={"prev": memento("20150101000000"), "last": copy})
    ended = replace(resolved(asking(SECOND), chosen), skipped=("arquivo-pt",))

    field = links(ended, BASE)

    assert neighbours(ended, copy) == {}
    assert [link.rels for link in parse_header(field)[:2]] == [("original",), ("memento",)]


def test_no_neighbour_is_linked_where_the_archive_states_none() -> None:
    other = found(memento("20150101000000", "arquivo-pt"))

    field = links(resolved(asking(SECOND), found(memento(SECOND)), other), BASE)

    assert [link.rels for link in parse_header(field)][1:3] == [("memento",), ("timemap",)]


def test_a_target_has_one_date() -> None:
    copy = memento(SECOND)
    liar = memento("20150101000000", uri=copy.uri)

    field = links(resolved(asking(SECOND), found(copy, neighbours={"prev": liar})), BASE)

    assert parse_header(field)[1].rels == ("memento",)


def test_a_memento_without_a_web_address_is_not_linked() -> None:
    copy = memento(SECOND, uri="javascript:alert(1)")

    field = links(resolved(asking(SECOND), found(copy)), BASE)

    assert "javascript" not in field


@pytest.mark.parametrize("length", [500, 2000, 3900, 8100])
def test_links_stay_short_enough_for_clients_and_keep_the_original(length: int) -> None:
    original = "http://a.example/" + "x" * length
    copy = memento(SECOND, original=original)

    field = links(resolved(asking(SECOND, original=original), found(copy)), BASE, REGISTRY)

    assert parse_header(field)[0].target == original
    assert len(field) <= max(LONGEST_LINKS, length + 50)


HOSTILE = st.text(alphabet=st.characters() | st.sampled_from('<>"\\\r\n;, %æ'), max_size=60)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_url_breaks_out_of_its_link(original: str, first: str, second: str) -> None:
    copy = memento(SECOND, uri=f"https://a.example/{first}", original=original)
    neighbour = memento("20150101000000", uri=f"https://b.example/{second}")
    resolution = resolved(
        asking(SECOND, original=f"http://c.example/{original}"),
        found(copy, neighbours={"prev": neighbour}),
    )

    field = links(resolution, BASE, REGISTRY)

    read = parse_header(field)
    assert field.isascii()
    assert field.isprintable()
    assert [link.rels for link in read][:5] == [
        ("original",),
        ("memento",),
        ("prev", "memento"),
        ("timemap",),
        ("timegate",),
    ]
    assert [link.target.partition("/")[0] for link in read[:5]] == ["http:", *["https:"] * 4]
    assert len(read) <= 6


def test_a_twin_that_the_archive_calls_next_makes_no_other_memento_the_next() -> None:
    chosen = memento(SECOND)
    around: dict[Relation, Memento] = {
        "next": memento(SECOND, uri="https://internet-archive/twin"),
        "last": memento("20200101000000"),
    }
    resolution = resolved(asking(SECOND), found(chosen, neighbours=around))

    assert neighbours(resolution, chosen) == {"last": around["last"]}

"""The query that is sent to archives for each kind of reference."""

import pytest

from archives.moment import Moment
from archives.registry import load_known
from timegate.identifiers import parse
from timegate.resolution.model import Query
from timegate.resolution.query import NotNegotiable, of_cited_copy, query_for, query_for_url

PWID = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:"

WAYBACK = "https://web.archive.org/web/2016/"


def query_of(text: str) -> Query:
    return query_for(parse(text, load_known()), load_known())


def test_a_pwid_states_archive_url_time_and_precision() -> None:
    query = query_of(PWID + "http://www.dr.dk/")

    assert query == Query(
        original="http://www.dr.dk/",
        at=Moment("20160122112029"),
        archive="internet-archive",
        archive_id="archive.org",
        precision="page",
        identifier=PWID + "http://www.dr.dk/",
    )


def test_an_alias_of_an_archive_stays_as_written() -> None:
    query = query_of("urn:pwid:web.archive.org:2016-01-22Z:part:http://www.dr.dk/")

    assert query.archive == "internet-archive"
    assert query.archive_id == "web.archive.org"


def test_an_unknown_archive_stays_as_written() -> None:
    query = query_of("urn:pwid:archive.invalid:2016-01-22Z:part:http://www.dr.dk/")

    assert query.archive is None
    assert query.archive_id == "archive.invalid"


def test_an_archive_is_looked_up_if_parsing_did_not() -> None:
    query = query_for(parse(PWID + "http://www.dr.dk/"), load_known())

    assert query.archive == "internet-archive"


def test_a_duri_leaves_the_archive_open() -> None:
    query = query_of("duri:2016-01:http://www.dr.dk/")

    assert query == Query(
        "http://www.dr.dk/", Moment("201601"), identifier="duri:2016-01:http://www.dr.dk/"
    )


def test_a_duri_without_a_time_asks_for_the_newest() -> None:
    assert query_of("duri::http://www.dr.dk/").at is None


@pytest.mark.parametrize(
    ("specifier", "selection"),
    [
        (".html", ()),
        (".html.1", ()),
        (".*.1", ()),
        (".text%2bhtml.1", ()),
        (".html.7", (("version", "7"),)),
        (".html.*", (("version", "*"),)),
        (".gif.99", (("format", "gif"), ("version", "99"))),
        (".html.1#char=0,10", (("fragment", "char=0,10"),)),
        (".html.1%23char=0,10", (("fragment", "char=0,10"),)),
        (".html.1@103=pdi://a.us/1997/09/01/1.text.1", (("citation", "103"),)),
    ],
)
def test_what_a_pdi_selects_of_its_page_is_not_applied(
    specifier: str, selection: tuple[tuple[str, str], ...]
) -> None:
    query = query_of(f"pdi://a.us/1997/09/01/http:%2f%2fa%2edk%2f{specifier}")

    assert query.selection == selection
    assert {f"{name}-not-applied" for name, _ in selection} <= set(query.diagnostics)


@pytest.mark.parametrize(
    ("file", "form", "is_its_own"),
    [
        ("a%2egif", "gif", True),
        ("a%2egif", "image+gif", True),
        ("a%2egif", "html", False),
        ("a%2etxt", "text", True),
        ("a%2ephp", "html", True),
        ("a", "pdf", False),
        ("a%3fb%2egif", "html", True),
        ("a%3fb%2egif", "gif", False),
    ],
)
def test_the_format_that_the_name_of_a_file_has_selects_nothing(
    file: str, form: str, *, is_its_own: bool
) -> None:
    query = query_of(f"pdi://a.us/1997/09/01/http:%2f%2fa%2edk%2f{file}.{form}.1")

    assert query.selection == (() if is_its_own else (("format", form),))


def test_a_pdi_with_a_url_asks_for_the_day_of_its_minting() -> None:
    query = query_of("pdi://oma.eop.gov.us/1997/09/01/http:%2f%2fwww%2edr%2edk%2f.html.1")

    assert query.original == "http://www.dr.dk/"
    assert query.at == Moment("19970901")
    assert query.minted
    assert query.archive is None
    assert query.archive_id is None


@pytest.mark.parametrize(
    "text",
    [
        PWID + "http://me:secret@www.dr.dk/",
        PWID + "http://me%2540home:secret@www.dr.dk/",
        "duri:2016:http://me@www.dr.dk/",
        "http://me:secret@www.dr.dk/",
    ],
)
def test_user_names_are_not_sent_to_archives(text: str) -> None:
    query = query_of(text)

    assert query.original == "http://www.dr.dk/"
    assert "me" not in (query.literal or "")
    assert "item-user" in query.diagnostics


@pytest.mark.parametrize("url", ["http://www.dr.dk/@me", "http://www.dr.dk?a=me@b"])
def test_an_at_sign_elsewhere_is_not_a_user_name(url: str) -> None:
    query = query_for_url(url, None)

    assert query.original == url
    assert query.diagnostics == ()


def test_a_link_into_an_archive_names_it() -> None:
    query = query_of("https://web.archive.org/web/2016id_/http://www.dr.dk/")

    assert query.archive == "internet-archive"
    assert query.archive_id == "archive.org"
    assert query.precision == "part"
    assert query.at == Moment("2016")
    assert query.identifier is None
    assert query.link == "https://web.archive.org/web/2016id_/http://www.dr.dk/"
    assert query.dated(Moment("2017")).link is None


@pytest.mark.parametrize(
    "text",
    [
        "http://timetravel.mementoweb.org/memento/2016/http://www.dr.dk/",
        "https://memgator.cs.odu.edu/memento/2016/http://www.dr.dk/",
    ],
)
def test_a_link_to_an_aggregator_leaves_the_archive_open(text: str) -> None:
    query = query_of(text)

    assert query.archive is None
    assert query.archive_id is None
    assert query.original == "http://www.dr.dk/"


def test_a_plain_url_is_a_reference_to_its_newest_copy() -> None:
    query = query_of("HTTP://www.DR.dk/#top")

    assert query.original == "http://www.dr.dk/"
    assert query.at is None
    assert query.diagnostics == ()


def test_a_fragment_in_the_item_is_stripped_and_reported() -> None:
    query = query_of(PWID + "http://www.dr.dk/%23top")

    assert query.original == "http://www.dr.dk/"
    assert query.diagnostics == ("item-fragment",)
    assert query.syntax == "strict"


@pytest.mark.parametrize(
    ("item", "original", "literal"),
    [
        ("http://a.dk/b%3Fc", "http://a.dk/b?c", "http://a.dk/b%3Fc"),
        ("http://a.dk/b%3fc", "http://a.dk/b?c", "http://a.dk/b%3Fc"),
        ("http://a.dk/b%23c", "http://a.dk/b", "http://a.dk/b%23c"),
        ("http://a.dk/b%2520c", "http://a.dk/b%20c", "http://a.dk/b%2520c"),
        ("http://a.dk/%252f", "http://a.dk/%2f", "http://a.dk/%252f"),
        ("http://a.dk/%5Bb%5D", "http://a.dk/[b]", "http://a.dk/%5Bb%5D"),
        ("http://a.dk/b", "http://a.dk/b", None),
        ("http://a.dk/b?c%23", "http://a.dk/b?c%23", None),
        ("http://a.dk/b%20c%3F", "http://a.dk/b%20c%3F", None),
        ("http://a.dk/æ%3F", "http://a.dk/%C3%A6?", None),
        ("http://%5B2001:db8::1%5D/", "http://[2001:db8::1]/", None),
        ("a.dk/b%3Fc", "http://a.dk/b?c", "http://a.dk/b%3Fc"),
    ],
)
def test_an_item_that_may_not_have_been_encoded_has_a_second_reading(
    item: str, original: str, literal: str | None
) -> None:
    query = query_of(PWID + item)

    assert query.original == original
    assert query.literal == literal


@pytest.mark.parametrize(
    ("item", "decoded"),
    [
        ("http://a.dk/b%3Fc=1%26d=2", ("http://a.dk/b?c=1%26d=2", "http://a.dk/b?c=1&d=2")),
        ("http://a.dk/b%3fc%3D1", ("http://a.dk/b?c%3D1", "http://a.dk/b?c=1")),
        ("http://a.dk/b%20c%3F", ("http://a.dk/b%20c?",)),
        ("http://a.dk/%20%3Fc%23d", ("http://a.dk/%20?c",)),
        ("http://me@a.dk/%20%3Fc", ("http://a.dk/%20?c",)),
        ("http://a.dk/b%20c", ()),
        ("http://a.dk/b?c%3F%26", ()),
        ("http://a.dk/b%3Fc", ()),
        ("http://a.dk%3Fc%26", ()),
    ],
)
def test_an_item_that_was_encoded_in_part_is_also_tried_decoded(
    item: str, decoded: tuple[str, ...]
) -> None:
    assert query_of(PWID + item).decoded == decoded


def test_nothing_is_decoded_in_a_pwid_uri_so_it_has_one_reading() -> None:
    query = query_of("pwid:archive.org:2016-01-22_11.20.29Z:page:http://a.dk/b%3Fc")

    assert query.original == "http://a.dk/b%3Fc"
    assert query.literal is None
    assert query.decoded == ()


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        (PWID + "http://a.dk/", "strict"),
        (PWID + "http://a.dk/#top", "strict"),
        (PWID + "http://a.dk/?raw", "legacy"),
        ("urn:pwid:archive.org:2016-01-22T112029Z:page:http://a.dk/", "legacy"),
        ("urn:pwid:archive.org:2016-01-22T112029:page:http://a.dk/", "repaired"),
        ("urn:pwid:archive.org:2016-01-22T11:20:29:page:http://a.dk/", "repaired"),
        ("pwid:some_archive:2016-01-22_11.20.29Z:page:http://a.dk/", "legacy"),
        ("duri:20160122:http://a.dk/", "legacy"),
        ("duri:20160122112029:http://a.dk/", "repaired"),
        ("duri:2016-01-22:http://a.dk/", "strict"),
        ("a.dk", "repaired"),
    ],
)
def test_spellings_of_earlier_drafts_are_legacy(text: str, syntax: str) -> None:
    assert query_of(text).syntax == syntax


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        (PWID + "ftp://a.dk/", "not-negotiable", "not ftp"),
        (PWID + "~item-7", "not-negotiable", "item id"),
        ("duri:2016:" + PWID + "http://a.dk/", "not-negotiable", "not urn"),
        (WAYBACK + PWID + "http://a.dk/", "not-negotiable", "not urn"),
        (WAYBACK + "duri:2016:http://a.dk/", "not-negotiable", "not duri"),
        (WAYBACK + "duri:2016-01-22:http://a.dk/", "not-negotiable", "not duri"),
        (WAYBACK * 7 + "http://a.dk/", "not-negotiable", "more than 5 URLs"),
        ("duri:2016:" + WAYBACK * 6 + "http://a.dk/", "not-negotiable", "more than 5 URLs"),
        ("pdi://oma.eop.gov.us/1997/09/01/1.html.1", "unknown-archive", "resolver"),
        ("Thu, 31 May 2007 20:35:00 GMT", "not-negotiable", "of which URL"),
    ],
)
def test_a_reference_that_archives_cannot_be_queried_for_is_rejected(
    text: str, code: str, why: str
) -> None:
    with pytest.raises(NotNegotiable, match=why) as rejection:
        query_of(text)

    assert rejection.value.code == code


def test_a_timegate_query_is_a_url_at_a_time() -> None:
    query = query_for_url("http://a.dk/?b#c", Moment("20160122112029"))

    assert query == Query("http://a.dk/?b", Moment("20160122112029"))


def test_copies_of_copies_can_be_queried() -> None:
    nested = WAYBACK * 5 + "http://a.dk/"

    assert query_for_url(nested, None).original == nested
    assert query_of(WAYBACK + nested).original == nested


@pytest.mark.parametrize(
    "url", ["ftp://a.dk/", "http:///", "a.dk", WAYBACK * 6 + "http://a.dk/"]
)
def test_a_timegate_accepts_only_http_urls(url: str) -> None:
    with pytest.raises(NotNegotiable):
        query_for_url(url, None)


@pytest.mark.parametrize(
    ("link", "archive"),
    [
        ("https://archive.ph/AbCdE", "archive-today"),
        ("https://perma.cc/AB12-CD34", "perma-cc"),
        ("https://www.webcitation.org/5tXYZabcd", "webcite"),
        ("https://ghostarchive.org/archive/AbCdE", "ghostarchive"),
        ("http://www.freezepage.com/1234567890ABCDEFGHIJ", "freezepage"),
    ],
)
def test_an_own_id_of_an_archive_in_a_citation_names_its_copy(link: str, archive: str) -> None:
    page = query_for_url("http://www.dr.dk/", Moment("20160122"))

    query = of_cited_copy(page, ("nonsense", "http://www.dr.dk/", link), load_known())

    assert (query.original, query.at) == ("http://www.dr.dk/", Moment("20160122"))
    assert (query.archive, query.link, query.by_id) == (archive, link, True)


@pytest.mark.parametrize("others", [(), ("https://doi.org/10.1000/182", WAYBACK)])
def test_other_links_of_a_citation_name_no_copy(others: tuple[str, ...]) -> None:
    page = query_of("http://www.dr.dk/")

    assert of_cited_copy(page, others, load_known()) == page


def test_a_reference_that_names_an_archive_itself_keeps_it() -> None:
    pwid = query_of(PWID + "http://www.dr.dk/")

    assert of_cited_copy(pwid, ("https://archive.ph/AbCdE",), load_known()) == pwid

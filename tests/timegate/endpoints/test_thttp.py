"""`/uri-res/{operation}?{identifier}`: each operation, each kind, and errors by H-3."""

import json

import pytest
from multidict import CIMultiDict

from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import QUICK, entries
from timegate.endpoints.thttp import ThttpEndpoint
from timegate.responses.answers import Answers
from timegate.responses.model import ClientRequest, EarlyResponse, Response

STAMP = "20160122112029"
LATER = "20160125112029"
URL = "http://example.org/"
NAME = f"a.example:2016-01-22T11:20:29Z:page:{URL}"
PWID = f"urn:pwid:{NAME}"
PWID_URI = f"pwid:a.example:2016-01-22_11.20.29Z:page:{URL}"
DURI = f"duri:2016-01-22T11:20:29Z:{URL}"
PDI = "pdi://x.us/2016/01/22/http:%2f%2fexample%2eorg%2f.html"
COPY = f"http://a/{STAMP}/{URL}"
HOLDS = FakeArchive("a", 0.0, (STAMP,))
BROWSER = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


async def ask(
    rest: str, *archives: FakeArchive, accept: str = "", prefer: str = ""
) -> Response:
    world = World(*(archives or (HOLDS,)), deadlines=QUICK)
    registry = entries(world)
    answers = Answers(world.resolver, registry, "https://gate.example")
    thttp = ThttpEndpoint(answers, registry, world.route, patience=0.5)
    headers = CIMultiDict({"Accept": accept, "Prefer": prefer})
    async with world.coalescer:
        try:
            return await thttp(ClientRequest("GET", rest, headers))
        except EarlyResponse as early:
            return early.response


def lines(answer: Response) -> list[str]:
    assert answer.headers["Content-Type"].startswith("text/uri-list")
    comment, *rest = answer.body.decode().split("\r\n")
    assert comment.startswith("# ")
    assert rest.pop() == ""
    return rest


KINDS = [
    PWID,
    PWID_URI,
    DURI,
    f"urn:{DURI}",
    f"duri:2016:{URL}",
    PDI,
    f"urn:{PDI}",
    PDI.replace("http:", "http%3a"),
    f"https://a.host/{STAMP}/{URL}",
    URL,
    "example.org",
    PWID.replace(":", "%3A").replace("/", "%2F"),
]


@pytest.mark.parametrize("identifier", KINDS)
async def test_every_kind_of_identifier_redirects_to_its_memento(identifier: str) -> None:
    if identifier == "example.org":
        identifier += "/"

    answer = await ask(f"N2L?{identifier}")

    assert answer.status == 303
    assert answer.headers["Location"] == COPY
    assert "Memento-Precision" in answer.headers
    assert "Memento-Datetime" not in answer.headers


@pytest.mark.parametrize(
    ("operation", "status"),
    [("N2L", 303), ("i2l", 303), ("n2l", 303), ("L2L", 303), ("N2R", 302), ("I2Rs", 302)],
)
async def test_locations_and_resources_are_redirects(operation: str, status: int) -> None:
    answer = await ask(f"{operation}?{PWID}", accept="video/mp4")

    assert answer.status == status
    assert answer.headers["Location"] == COPY
    assert answer.headers["Memento-Precision"].startswith("match=exact")


async def test_a_list_holds_the_closest_of_each_archive() -> None:
    other = FakeArchive("b", 0.0, (LATER,))

    answer = await ask(f"N2Ls?duri:2016-01-24:{URL}", HOLDS, other)

    assert answer.status == 200
    assert sorted(lines(answer)) == [COPY, f"http://b/{LATER}/{URL}"]
    assert answer.body.startswith(f"# duri:2016-01-24:{URL}\r\n".encode())


async def test_no_memento_is_an_empty_list() -> None:
    answer = await ask(f"I2Ls?{PWID}", FakeArchive("a", 0.0))

    assert answer.status == 200
    assert lines(answer) == []


async def test_an_empty_list_is_an_error_while_an_archive_has_not_answered() -> None:
    answer = await ask(f"N2Ls?{PWID}", FakeArchive("a", 0.0), FakeArchive("b", 0.0, error=True))

    assert answer.status in (502, 504)
    assert "Retry-After" in answer.headers


@pytest.mark.parametrize("accept", ["text/html", BROWSER, "text/uri-list;q=0.5, text/*"])
async def test_a_browser_gets_a_page(accept: str) -> None:
    answer = await ask(f"N2Ls?{PWID}", accept=accept)

    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert f'href="{COPY}"'.encode() in answer.body


@pytest.mark.parametrize("accept", ["", "*/*", "text/*", "text/uri-list", "text/html;q=0, */*"])
async def test_other_clients_get_a_list(accept: str) -> None:
    answer = await ask(f"N2Ls?{PWID}", accept=accept)

    assert lines(answer) == [COPY]


@pytest.mark.parametrize(
    ("operation", "accept"),
    [
        ("N2Ls", "image/png"),
        ("N2Ls", "*/*;q=0"),
        ("N2C", "text/html"),
        ("N2Ns", "image/png"),
        ("N2Ls", "text/html;q=much"),
    ],
)
async def test_an_unacceptable_media_type_is_406(operation: str, accept: str) -> None:
    answer = await ask(f"{operation}?{PWID}", accept=accept)

    assert answer.status == 406
    assert json.loads(answer.body)["status"] == 406


@pytest.mark.parametrize("operation", ["N2C", "N2Cs", "I2C", "L2C"])
async def test_the_description_is_the_report(operation: str) -> None:
    answer = await ask(f"{operation}?{PWID}")

    report = json.loads(answer.body)
    assert answer.status == 200
    assert report["identifier"] == PWID
    assert report["memento"]["uri"] == COPY


@pytest.mark.parametrize(
    ("identifier", "names"),
    [
        (PWID, [PWID, PWID_URI]),
        (PWID_URI, [PWID, PWID_URI]),
        (f"https://a.host/{STAMP}/{URL}", [PWID, PWID_URI]),
        (PWID.replace("29Z", "29"), [PWID, PWID_URI]),
        (
            f"urn:pwid:a.example:2016-01-22Z:page:{URL}",
            [f"urn:pwid:a.example:2016-01-22Z:page:{URL}"],
        ),
        (DURI, [DURI, f"urn:{DURI}"]),
        (f"tdb:2016:{URL}", [f"tdb:2016:{URL}", f"urn:tdb:2016:{URL}"]),
        (PDI, [PDI, f"urn:{PDI}"]),
        (f"{PWID}%3Fa=%255B", [f"{PWID}%3Fa=%255B", f"{PWID_URI}?a=%5B"]),
    ],
)
async def test_names_parse_to_the_same_reference(identifier: str, names: list[str]) -> None:
    several = await ask(f"N2Ns?{identifier}")
    one = await ask(f"I2N?{identifier}")

    assert lines(several) == names
    assert lines(one) == names[:1]


async def test_names_need_no_query() -> None:
    archive = FakeArchive("a", 0.0, (STAMP,))

    await ask(f"N2Ns?{PWID}", archive)

    assert archive.asked == []


@pytest.mark.parametrize("identifier", [URL, f"https://a.host/2016/{URL}"])
async def test_a_url_has_no_equivalent_name(identifier: str) -> None:
    answer = await ask(f"N2Ns?{identifier}")

    assert answer.status == 404
    assert "L2Ns" in json.loads(answer.body)["detail"]


@pytest.mark.parametrize("location", [URL, f"https://a.host/2016/{URL}"])
async def test_a_url_is_given_the_names_of_the_copy_found(location: str) -> None:
    several = await ask(f"L2Ns?{location}")
    one = await ask(f"l2n?{location}")

    assert lines(several) == [PWID, DURI]
    assert lines(one) == [PWID]
    assert "Memento-Precision" in several.headers


async def test_a_url_without_a_copy_has_no_names() -> None:
    answer = await ask(f"L2Ns?{URL}", FakeArchive("a", 0.0))

    assert answer.status == 404


SPACED = "duri:2016:http://example.org/a%20b"


@pytest.mark.parametrize(
    ("operand", "expected"),
    [
        (f"{PWID}%20{PWID_URI}", b"TRUE\r\n"),
        (f"{PWID} {PWID.replace('urn:pwid', 'URN:PWID')}", b"TRUE\r\n"),
        (f"{PWID}%20https://a.host/{STAMP}/{URL}", b"TRUE\r\n"),
        (f"{PWID}%20{DURI}", b"FALSE\r\n"),
        (f"{DURI}%20duri:2016:{URL}", b"FALSE\r\n"),
        (f"{SPACED}%20{SPACED}", b"TRUE\r\n"),
        ("example.org/%20http://example.org/", b"TRUE\r\n"),
        ("http%3A%2F%2Fexample.org%2F%20http://example.org/", b"TRUE\r\n"),
    ],
)
async def test_two_identifiers_are_compared_by_their_canonical_forms(
    operand: str, expected: bytes
) -> None:
    answer = await ask(f"I=I?{operand}")

    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.body == expected


async def test_the_equals_sign_of_the_operation_may_be_encoded() -> None:
    answer = await ask(f"i%3Di?{PWID}%20{PWID}")

    assert answer.body == b"TRUE\r\n"


@pytest.mark.parametrize("operand", [PWID, f"{PWID}%20", f"{URL}a%20b%20c"])
async def test_one_identifier_cannot_be_compared(operand: str) -> None:
    answer = await ask(f"I=I?{operand}")

    assert answer.status == 400


@pytest.mark.parametrize("operation", ["N2L", "N2R", "N2C", "N2Ls"])
async def test_a_thing_leads_to_the_document_that_describes_it(operation: str) -> None:
    answer = await ask(f"{operation}?tdb:2016:{URL}")

    assert answer.status == 303
    where = f"https://gate.example/uri-res/{operation.upper()}?duri:2016:{URL}"
    assert answer.headers["Location"] == where


WILD = PDI.replace("/22/", "/*/")


async def test_a_pdi_for_many_is_a_list() -> None:
    answer = await ask(f"N2Ls?{WILD}")

    assert lines(answer) == [COPY]


@pytest.mark.parametrize("operation", ["N2L", "N2R", "N2C", "L2N"])
async def test_a_pdi_for_many_has_no_single_output(operation: str) -> None:
    answer = await ask(f"{operation}?{WILD}")

    assert answer.status == 404


@pytest.mark.parametrize("operation", ["N2L", "N2Ls", "N2C"])
@pytest.mark.parametrize(
    "pdi", ["pdi://oma.eop.gov.us/1997/09/01/1.text.1", "pdi://x.us/*/*/*/*"]
)
async def test_an_opaque_pdi_is_unknown_here(operation: str, pdi: str) -> None:
    answer = await ask(f"{operation}?{pdi}")

    assert answer.status == 404


async def test_the_fragment_of_a_pdi_travels_encoded() -> None:
    fragment = "pdi://x.us/1997/09/01/1.text.1#char=37,51"

    answer = await ask(f"N2N?{fragment.replace('#', '%23')}")

    assert answer.body == f"# {fragment.replace('#', '%23')}\r\n{fragment}\r\n".encode()


@pytest.mark.parametrize(
    ("rest", "status"),
    [
        ("N2X?" + PWID, 404),
        ("", 404),
        ("X2L?" + PWID, 404),
        ("N2L", 400),
        ("N2L?", 400),
        ("N2L?urn:pwid:archive.org", 400),
        ("N2L?pdi://x.us/1997/09/01/1.te%23xt.1%23", 400),
        ("N2L?urn:pwid:a.example:2016-01-22Z:page:~x1", 404),
        ("N2L?ftp://example.org/", 404),
        ("N2L?" + PWID + "a" * 20_000, 414),
    ],
)
async def test_errors_are_problems_with_their_own_status(rest: str, status: int) -> None:
    answer = await ask(rest)

    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert json.loads(answer.body)["status"] == status


async def test_an_unmet_preference_is_404() -> None:
    late = FakeArchive("a", 0.0, (LATER,))

    answer = await ask(f"N2Ls?{PWID}", late, prefer="precision=exact")

    assert answer.status == 404


async def test_no_identifier_breaks_a_line_of_the_list() -> None:
    answer = await ask("N2Ls?duri%3A2016%3Ahttp%3A%2F%2Fexample.org%2F%0D%0Ahttp://evil/")

    assert answer.status == 400
    assert b"\r\n" not in answer.body


async def test_a_list_has_every_archive_that_holds_the_same_second() -> None:
    others = (FakeArchive("b", 0.02, (STAMP,)), FakeArchive("c", 0.05, (STAMP,)))

    answer = await ask(f"N2Ls?{DURI}", HOLDS, *others)

    assert sorted(lines(answer)) == [f"http://{name}/{STAMP}/{URL}" for name in "abc"]


async def test_archives_that_are_not_acceptable_are_not_missing_in_a_list() -> None:
    others = FakeArchive("a", 0.0), FakeArchive("b", 0.0, (STAMP,))

    answer = await ask(f"N2Ls?{PWID}", *others, prefer="precision=archive")

    assert (answer.status, lines(answer)) == (200, [])

"""Addresses of this server in its form: all that it hands out are read as references."""

from urllib.parse import quote, urlencode

import pytest

from archives.registry import load_known
from tests.scenario import FakeArchive
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.endpoints.openapi import description
from timegate.pages.own_addresses import OwnAddresses, OwnReference

OWN = OwnAddresses(("https://gate.example/find", "http://127.0.0.1:1209"), load_known())
URL = "http://example.org/a?b=c"
ENCODED = quote(URL, safe="")
DURI = f"duri:2010-11:{URL}"
PWID = f"urn:pwid:archive.org:2010-11-05T10:15:00Z:page:{URL.replace('?', '%3F')}"
AT_STAMP = OwnReference(f"duri:20101105101500:{URL}")
LIST = OwnReference(URL, is_list=True)

ADDRESSES = {
    f"view/20101105101500@internet-archive/{URL}": OwnReference(PWID),
    f"view/2010-20101105101500@internet-archive.mp_/{URL}": OwnReference(PWID),
    f"view/2010-20101105101500@internet-archive.im_/{URL}": OwnReference(
        PWID.replace(":page:", ":part:")
    ),
    f"view/2010@internet-archive/{URL}": OwnReference(f"duri:2010:{URL}"),
    f"view/20101105101500@nobody/{URL}": AT_STAMP,
    f"reconstruct/20101105101500/{URL}": AT_STAMP,
    f"collections/internet-archive/snapshot/20101105101500/{URL}": OwnReference(PWID),
    f"web/20101105101500id_/{URL}": AT_STAMP,
    f"web/{URL}": OwnReference(URL),
    f"web/*/{URL}": LIST,
    f"web/timemap/link/{URL}": LIST,
    f"memento/20101105101500/{URL}": AT_STAMP,
    f"memento/json/20101105101500/{URL}": AT_STAMP,
    f"memento/proxy/20101105101500/{URL}": AT_STAMP,
    f"api/json/20101105101500/{URL}": AT_STAMP,
    f"timegate/{URL}": OwnReference(URL),
    f"timemap/html/{URL}": LIST,
    f"timemap/html/{ENCODED}?from=2010&to=2012#list": LIST,
    f"list/20101105101500/{URL}": AT_STAMP,
    f"changes/json/{DURI}": OwnReference(DURI),
    f"list//{URL}": OwnReference(URL),
    f"resolve/{DURI}": OwnReference(DURI),
    f"resolve/{quote(DURI, safe='')}?as=html&verify=content": OwnReference(DURI),
    f"resolve?pwid={quote(PWID)}": OwnReference(PWID),
    f"pwid?archiveString={quote(PWID)}": OwnReference(PWID),
    f"answers/xyz/{quote(DURI)}?as=json&wait=5": OwnReference(DURI),
    f"cite?id={quote(PWID)}&title=Page": OwnReference(PWID),
    f"parts/{quote(PWID)}": OwnReference(PWID),
    f"diff/{quote(PWID)}/20120509": OwnReference(PWID),
    f"uri-res/N2L?{DURI}": OwnReference(DURI),
    f"wayback/available?url={ENCODED}&timestamp=2010": OwnReference(URL, "2010"),
    f"?q={ENCODED}&at=November+2010": OwnReference(URL, "November 2010"),
    f"cdx/search/cdx?url={ENCODED}": LIST,
    PWID: OwnReference(PWID),
    DURI: OwnReference(DURI),
    URL: OwnReference(URL),
    quote(DURI, safe=""): OwnReference(DURI),
}


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("origin", ["https://gate.example/find/", "HTTP://127.0.0.1:1209/"])
def test_an_address_of_this_server_stands_for_the_reference_in_it(
    path: str, origin: str
) -> None:
    assert OWN.read(origin + path) == ADDRESSES[path]


KNOWN_OTHERWISE = ("/collections/", "/store/", "/pdi", "/PDI", "/series", "/pwid", "/resolve")
"""The first have forms that the registry or the reader of identifiers knows."""


def test_every_described_address_with_a_page_in_it_is_read() -> None:
    values = {"stamp": "20101105101500", "url": URL, "identifier": DURI, "format": "json"}
    values |= {"modifier": "id_", "name": "x", "operation": "N2L", "id": "harbour"}
    described = description("https://gate.example/find", ())["paths"]
    assert isinstance(described, dict)
    paths = [
        path
        for path in described
        if ("{url}" in path or "{identifier}" in path) and not path.startswith(KNOWN_OTHERWISE)
    ]
    unread = [p for p in paths if OWN.read(f"{OWN.origins[0]}{p.format(**values)}") is None]

    assert len(paths) > 10
    assert unread == []


@pytest.mark.parametrize(
    "text",
    [
        "https://gate.example/find/",
        "https://gate.example/find/docs/http",
        "https://gate.example/find/archives/internet-archive",
        "https://gate.example/find/cite",
        f"https://gate.example/view/2010/{URL}",
        f"https://gate.example.org/find/view/2010/{URL}",
        f"See https://gate.example/find/view/2010/{URL}",
        URL,
    ],
)
def test_other_texts_are_left_as_they_are(text: str) -> None:
    assert OWN.read(text) is None


async def test_the_address_bar_of_an_opened_copy_can_be_searched_for() -> None:
    stamps = ("20101105101500", "20190820074530")
    async with site(FakeArchive("a", 0.0, stamps), FakeArchive("b", 0.0, stamps)) as served:
        for origin in ("https://gate.example", f"http://{served.host}"):
            address = f"{origin}/view/20101105101500@a/http://example.org/"
            seen = await served.ask(f"/?{urlencode({'q': address})}", BROWSER)
            page = Html(seen.body.decode())
            assert "http://a/20101105101500/http://example.org/" in page.links
            assert "Exactly as requested" in page.text
            assert "The address is one of this server" in page.text


async def test_the_address_of_a_list_of_captures_leads_to_that_list() -> None:
    async with site(FakeArchive("a", 0.0, ("20101105101500",))) as served:
        address = "https://gate.example/timemap/html/http://example.org/"
        seen = await served.ask(f"/?{urlencode({'q': address})}", BROWSER)

    page = Html(seen.body.decode())
    assert "This is a list of captures" in page.text
    assert "/timemap/html/http%3A%2F%2Fexample.org%2F" in page.links

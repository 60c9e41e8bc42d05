"""Addresses of copies in an archive that answers after the soft deadline, in the demo."""

import json
from collections.abc import Iterator
from urllib.parse import quote
from urllib.request import Request, urlopen

import pytest

from tests.end_to_end.server import running_demo

HOME = "http://museum.example/"
STAMP = "20120509120000"


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with running_demo() as server:
        yield server.url


def copy_in(demo: str) -> str:
    return f"{demo}/collections/lantern/{STAMP}/{HOME}"


def fetched(url: str, **headers: str) -> tuple[str, str]:
    """Return the verdict and the body of the answer to a request, after redirects."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    request = Request(url, headers=fields)  # noqa: S310 -- our own server
    with urlopen(request, timeout=30) as answer:  # noqa: S310
        return answer.headers.get("Memento-Precision", ""), answer.read().decode()


def test_a_person_who_opens_the_copy_sees_it_and_no_other(demo: str) -> None:
    verdict, page = fetched(copy_in(demo), Sec_Fetch_Dest="document", Accept="text/html")

    assert 'match=exact, evidence=held, archive=any;got="lantern.example"' in verdict
    assert "9 May 2012" in page


@pytest.mark.parametrize("address", ["parts/{}?as=json", "cite?id={}", "diff/{}/2010?as=json"])
def test_what_is_linked_beside_a_copy_is_of_that_copy(demo: str, address: str) -> None:
    verdict, body = fetched(f"{demo}/{address.format(quote(copy_in(demo), safe=''))}")

    assert 'archive=same;req="lantern.example";got="lantern.example"' in verdict
    assert f"/collections/lantern/{STAMP}/" in body
    assert json.loads(body)


def test_the_link_to_a_copy_leads_to_the_copy_again(demo: str) -> None:
    verdict, body = fetched(f"{demo}/resolve/{copy_in(demo)}?as=json&wait=5")

    assert verdict.startswith("match=exact, ")
    assert json.loads(body)["memento"]["uri"] == copy_in(demo)

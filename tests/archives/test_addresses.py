import ast
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.addresses import (
    WITHOUT_SERVER,
    AddressPolicy,
    AddressUse,
    OwnAddress,
    RefusedAddress,
    ServerName,
    server_of,
)
from archives.errors import Misbehaved
from archives.model import ArchiveEntry
from archives.registry import load_known
from tests.fakes import an_entry
from timegate.upstream.egress import Egress

ROOT = Path(__file__).parents[2]
USES: tuple[AddressUse, ...] = ("request", "link", "list")
ARCHIVE = an_entry(
    "memento",
    timegate="https://archive.example/timegate/",
    timemaps={"link": "https://lists.example:8443/timemap/"},
    replay="https://archive.example/web/{time14}/{uri}",
    hosts=("archive.example", "copies.example"),
    former_hosts=("old.example",),
)
ADDRESSES = WITHOUT_SERVER.of(ARCHIVE)
PAGE = "/web/20160122112029/http://example.org/"


def refusal(url: str, use: AddressUse, policy: AddressPolicy = WITHOUT_SERVER) -> str | None:
    found = policy.of(ARCHIVE).read(url, use)
    return found.refusal if isinstance(found, RefusedAddress) else None


NOWHERE = {
    "http://evil.example/phish": "foreign",
    "https://archive.example.evil.example/": "foreign",
    "https://notarchive.example/": "foreign",
    "http://127.0.0.1:6379/": "foreign",
    "https://archive.example:6379/": "foreign",
    "http://archive.example:443/": "foreign",
    "https://archive.example:80/": "foreign",
    "https://lists.example/": "foreign",
    "https://copies.example:22/": "foreign",
    "http://[::1]/": "foreign",
    "http://[::ffff:127.0.0.1]:6379/": "foreign",
    "https://xn--rchive-3ya.example/": "foreign",
    "https://archive.example:99999/": "foreign",
    "https://user:pw@archive.example/": "ambiguous",
    "https://archive.example@evil.example/": "ambiguous",
    "https://evil.example\\@archive.example/": "ambiguous",
    "https://archive.example\\.evil.example/": "ambiguous",
    "https://archive.example%2eevil.example/": "ambiguous",
    "https://archive.example./": "ambiguous",
    "https://archive.example\t/": "ambiguous",
    "https://archive.example\r\n/": "ambiguous",
    "https://arch\x00ive.example/": "ambiguous",
    "https://arch\u0456ve.example/": "ambiguous",
    "https://\uff41rchive.example/": "ambiguous",
    "https://archive\u3002example/": "ambiguous",
    "https:archive.example/": "ambiguous",
    "https:/archive.example/": "ambiguous",
    "https:///archive.example/": "ambiguous",
    "https://": "ambiguous",
    "http:\\\\archive.example\\": "ambiguous",
    "//127.0.0.1:6379/": "not-web",
    "//archive.example/": "not-web",
    "/web/": "not-web",
    "": "not-web",
    " https://archive.example/": "not-web",
    "\x01https://archive.example/": "not-web",
    "javascript:alert(1)//https://archive.example/": "not-web",
    "file:///etc/passwd": "not-web",
    "ftp://archive.example/": "not-web",
    "data:text/html,https://archive.example/": "not-web",
    "ws://archive.example/": "not-web",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("url", NOWHERE)
def test_an_address_of_another_server_is_refused_for_every_use(
    url: str, use: AddressUse
) -> None:
    assert refusal(url, use) == NOWHERE[url]


ALLOWED: dict[str, tuple[AddressUse, ...]] = {
    f"https://archive.example{PAGE}": USES,
    "https://archive.example:443/": USES,
    "https://archive.example?x": USES,
    "https://archive.example#x": USES,
    "https://archive.example": USES,
    "https://lists.example:8443/timemap/2": USES,
    "https://copies.example/": USES,
    # http where the entry has https: handed out, but never requested.
    "http://archive.example/": ("link", "list"),
    "http://archive.example:80/": ("link", "list"),
    "http://copies.example/": ("link", "list"),
    "http://lists.example:8443/": ("link", "list"),
    # The entry cannot state the port of a host without an endpoint.
    "https://copies.example:8443/": ("link", "list"),
    # Lists of captures are old.
    "https://www.archive.example/": ("list",),
    "https://old.example/": ("list",),
    "http://old.example/": ("list",),
    "https://a.b.lists.example:8443/": ("list",),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("url", ALLOWED)
def test_each_use_has_its_servers(url: str, use: AddressUse) -> None:
    assert refusal(url, use) == (None if use in ALLOWED[url] else "foreign")


@pytest.mark.parametrize("use", USES)
def test_scheme_and_host_are_returned_in_lower_case(use: AddressUse) -> None:
    shouted = ADDRESSES.read(f"HTTPS://Archive.EXAMPLE{PAGE}Über", use)

    assert shouted == f"https://archive.example{PAGE}Über"


def test_the_path_is_kept_as_it_is() -> None:
    url = "https://archive.example/web/2016/http://a.example\\b/ c\u212a@user:6379/../%0a"

    assert ADDRESSES.read(url, "link") == url


def test_the_kelvin_sign_is_no_k() -> None:
    kiwi = WITHOUT_SERVER.of(an_entry("memento", timegate="http://kiwi.example/"))

    assert kiwi.is_own("http://KIWI.example/", "link")
    assert not kiwi.is_own("http://\u212aiwi.example/", "link")


def test_an_archive_without_https_is_requested_with_either_scheme() -> None:
    plain = WITHOUT_SERVER.of(an_entry("memento", timegate="http://archive.example/"))

    assert plain.is_own("http://archive.example/", "request")
    assert plain.is_own("https://archive.example/", "request")


@pytest.mark.parametrize("use", USES)
def test_a_host_with_a_port_of_its_own_has_no_other_ports(use: AddressUse) -> None:
    local = WITHOUT_SERVER.of(
        an_entry("memento", timegate="http://127.0.0.1:8080/", hosts=("127.0.0.1",))
    )

    assert local.is_own("http://127.0.0.1:8080/x", use)
    for elsewhere in ("http://127.0.0.1/", "https://127.0.0.1/", "http://127.0.0.1:6379/"):
        assert not local.is_own(elsewhere, use)


@pytest.mark.parametrize("use", USES)
def test_an_address_may_be_an_ipv6_literal(use: AddressUse) -> None:
    local = WITHOUT_SERVER.of(an_entry("memento", timegate="http://[::1]:8080/"))

    assert local.is_own("http://[::1]:8080/x", use)
    assert not local.is_own("http://[::1]:80/x", use)


@pytest.mark.parametrize("use", USES)
def test_a_template_in_a_host_names_no_host(use: AddressUse) -> None:
    entry = an_entry("wayback", replay="https://{uri}.archive.example/{time14}/")

    assert not WITHOUT_SERVER.of(entry).is_own("https://evil.archive.example/", use)


def test_https_is_never_followed_by_http() -> None:
    url = "http://archive.example/"

    assert ADDRESSES.is_own(url, "link", after="http://archive.example/timegate/")
    for stating in ("https://archive.example/timegate/", "HTTPS://archive.example/timegate/"):
        found = ADDRESSES.read(url, "link", after=stating)
        assert found == RefusedAddress(url, "downgrade")


# Our own address

OURS = {
    "http://gate.example": ["http://gate.example/timegate/http://a.example/"],
    "https://gate.example/tg/": ["https://gate.example/tg/x", "https://gate.example:443/tg/"],
    "http://127.0.0.1:1208": ["http://127.0.0.1:1208/"],
    "http://[::1]:1208/": ["http://[::1]:1208/web/"],
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("base_url", OURS)
def test_our_own_address_is_no_archive(base_url: str, use: AddressUse) -> None:
    own = OwnAddress.of_all([base_url], "", 0)
    entry = an_entry("memento", timegate="http://127.0.0.1:1/", hosts=("gate.example",))
    addresses = AddressPolicy(own).of(entry)

    for url in OURS[base_url]:
        assert not addresses.is_own(url, use)


def test_an_archive_beside_us_at_one_host_is_an_archive() -> None:
    entry = an_entry("memento", timegate="https://gate.example/wayback/")
    below = AddressPolicy(OwnAddress.of_all(["https://gate.example/tg"], "", 0)).of(entry)
    beside = AddressPolicy(OwnAddress.of_all(["https://gate.example"], "", 0)).of(entry)

    assert below.is_own("https://gate.example/wayback/x", "link")
    assert below.read("https://gate.example/tg/x", "link") == RefusedAddress(
        "https://gate.example/tg/x", "ours"
    )
    assert beside.is_own("https://gate.example/wayback/x", "link")


def test_a_collection_of_our_own_is_at_our_own_address() -> None:
    entry = an_entry("warc", replay="http://gate.example/collections/a/{time14}/{uri}")
    addresses = AddressPolicy(OwnAddress.of_all(["http://gate.example/"], "", 0)).of(entry)

    assert addresses.is_own("http://gate.example/collections/a/2016/http://x/", "request")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:80/"),  # noqa: S104
        ("0.0.0.0", "http://localhost:80/"),  # noqa: S104
        ("::", "http://[::1]:80/"),
        ("gate.example", "http://gate.example/"),
    ],
)
def test_the_listening_address_is_our_own(host: str, url: str) -> None:
    name = urlsplit(url).hostname
    entry = an_entry("memento", timegate="http://archive.example/", hosts=(name,))
    own = OwnAddress.of_all([], host, 80)

    assert AddressPolicy(own).of(entry).read(url, "list") == RefusedAddress(url, "ours")
    assert WITHOUT_SERVER.of(entry).is_own(url, "list")


# Refusals


def test_a_refusal_is_reported_with_its_reason() -> None:
    seen: list[tuple[str, RefusedAddress, int]] = []
    addresses = AddressPolicy(report=lambda *refused: seen.append(refused)).of(ARCHIVE)

    assert not addresses.accepts("http://evil.example/", "link")
    assert addresses.accepts("https://archive.example/", "link")

    assert seen == [("test", RefusedAddress("http://evil.example/", "foreign"), 1)]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (
            "http://evil.example:81/x",
            "http://evil.example:81, which the registry does not name",
        ),
        ("https://a@archive.example/", "an address whose host is ambiguous"),
        ("javascript:1", "javascript:1, which is no http(s) URL"),
    ],
)
def test_a_refusal_names_the_server(url: str, why: str) -> None:
    found = ADDRESSES.read(url, "request")

    assert isinstance(found, RefusedAddress)
    assert found.why == why


def test_a_refusal_of_our_own_address_says_so() -> None:
    own = OwnAddress.of_all(["https://copies.example/"], "", 0)
    found = AddressPolicy(own).of(ARCHIVE).read("https://copies.example/web/", "request")

    assert isinstance(found, RefusedAddress)
    assert found.why == "https://copies.example, which is this server"


# Laws

SCHEMES = st.sampled_from(["http", "https", "HTTPS", "ftp", "javascript", "", "hTTp"])
HOSTS = st.sampled_from(
    [
        *("archive.example", "Archive.Example", "www.archive.example", "archive.example."),
        *("lists.example", "copies.example", "old.example", "evil.example", "127.0.0.1"),
        *("[::1]", "a@archive.example", "archive.example@evil.example", ""),
        *("archive\\.example", "evil.example\\@archive.example", "archive.example\t"),
        *("\u212a.example", "%61.example"),
    ]
)
PORTS = st.sampled_from(["", ":", ":80", ":443", ":8443", ":6379", ":0", ":99999", ":x", ":-1"])
SEPARATORS = st.sampled_from(["://", ":", ":/", "//"])
PATHS = st.text(st.sampled_from("/\\@:?#.a\t\n "), max_size=6)
URLS = st.tuples(SCHEMES, SEPARATORS, HOSTS, PORTS, PATHS).map("".join) | st.text(max_size=30)


@given(URLS, st.sampled_from(USES))
def test_an_accepted_address_is_at_a_listed_server_for_every_client(
    url: str, use: AddressUse
) -> None:
    found = ADDRESSES.read(url, use)
    if isinstance(found, RefusedAddress):
        return

    split = urlsplit(found)
    assert split.scheme in ("http", "https")
    assert split.username is None
    host = split.hostname or ""
    assert any(f".{host}".endswith(f".{server.host}") for server in ADDRESSES.listed)
    # What browsers read as the authority ends at the first of these.
    authority = found.partition("://")[2]
    for end in "/\\?#":
        authority = authority.partition(end)[0]
    assert authority == split.netloc


@given(URLS)
def test_what_may_be_requested_may_be_linked_and_listed(url: str) -> None:
    if ADDRESSES.is_own(url, "request"):
        assert ADDRESSES.is_own(url, "link")
    if ADDRESSES.is_own(url, "link"):
        assert ADDRESSES.is_own(url, "list")


@given(URLS)
def test_the_http_client_connects_to_every_address_that_may_be_requested(url: str) -> None:
    found = ADDRESSES.read(url, "request")
    if isinstance(found, RefusedAddress) or not found.isprintable():
        return

    server = server_of(found)
    assert server is not None
    assert tuple(Egress.of(ARCHIVE).check(found)[0]) == tuple(server)


@given(URLS)
def test_the_http_client_connects_to_no_server_that_the_policy_refuses(url: str) -> None:
    try:
        target = Egress.of(ARCHIVE).check(url)
    except Misbehaved:
        return

    assert ServerName(*target[0]) in ADDRESSES.requested


@pytest.mark.parametrize("entry", load_known().entries, ids=lambda entry: entry.id)
def test_the_endpoints_and_hosts_of_a_known_archive_are_its_own(entry: ArchiveEntry) -> None:
    addresses = WITHOUT_SERVER.of(entry)
    endpoints = (entry.timegate, *entry.timemaps.values(), entry.cdx, entry.replay, entry.raw)
    for endpoint in filter(None, endpoints):
        assert all(addresses.is_own(endpoint, use) for use in USES)
    for host in entry.hosts:
        assert addresses.is_own(f"https://{host}/", "request")
        assert addresses.is_own(f"http://{host}/", "link")
    for host in entry.former_hosts:
        assert addresses.is_own(f"http://{host}/", "list")


# Where mementos are made

ORIGIN_OF_ADDRESS = {
    # The policy has accepted the address.
    "archives/negotiation.py _proved_by_redirect": "the policy, in the same function",
    "archives/negotiation.py _conclude": "the policy, in closest",
    "archives/negotiation.py _named": "a page; it is never the answer",
    "archives/columns.py __getitem__": "an address that the list was checked for",
    "timegate/cache/page_encoding.py _beside": "checked before it was kept",
    "timegate/cache/page_encoding.py _checked": "checked before it was kept",
    "archives/evidence.py neighbours": "the policy, in without_foreign_links and closest",
    "archives/evidence.py common_redirect": "the policy, in Negotiator._common_redirect",
    "archives/model.py __getitem__": "the policy, for the address of the memento beside it",
    "archives/listing/document.py _memento": "the policy, in _at_own_servers",
    "timegate/following/change_file.py _change": "checked before it was kept",
    "timegate/resolution/verification.py _delivered": "the policy, in Negotiator.closest",
    # A template of the registry.
    "archives/adapters/wayback.py _replayed": "the template of the entry",
    "archives/adapters/warc.py _memento": "the template of the entry",
    "timegate/resolution/verification.py at_replay_address": "the template of the entry",
    "timegate/collections/__init__.py memento_of": "the template of the entry",
    # Our own address.
    "timegate/collections/extents.py _capture": "the base URL of the server",
    "timegate/collections/extents.py _list": "the base URL of the server",
    "timegate/keep/run.py _capture": "the base URL of the server",
    "timegate/responses/report.py _mementos": "the base URL of the server",
    # Another memento.
    "timegate/responses/answer_view.py _chosen": "a memento, or the template of the entry",
    "timegate/cdx/formats.py memento": "the row of a memento",
    "timegate/cli/extract.py _fetch": "a report",
    "timegate/cli/extract.py parts": "a report",
    "timegate/cli/titles.py _title": "a report",
    "timegate/keep/run.py _memento": "a report",
    # No mementos.
    "archives/listing/document.py pages": "the policy, when the page is requested",
}


def makers() -> Iterator[str]:
    """Yield the functions that make a `Memento`, or change the address of one."""
    for package in ("archives", "timegate"):
        for path in (ROOT / package).rglob("*.py"):
            for function in ast.walk(ast.parse(path.read_text())):
                if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and any(
                    map(_makes, ast.walk(function))
                ):
                    yield f"{path.relative_to(ROOT).as_posix()} {function.name}"


def _makes(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="Memento")):
            return True
        case ast.Call(func=ast.Attribute(attr="_replace"), keywords=changed):
            return any(each.arg == "uri" for each in changed)
    return False


def test_the_origin_of_the_address_of_every_memento_is_listed() -> None:
    assert set(makers()) == set(ORIGIN_OF_ADDRESS)

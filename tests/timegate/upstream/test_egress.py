import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.errors import Misbehaved
from archives.kinds import KINDS
from archives.model import ArchiveEntry, Limits, Rate
from timegate.upstream.egress import Egress, Endpoint, target

SLOW = Rate(1, 1)


def archive(**fields: object) -> ArchiveEntry:
    known: dict[str, object] = {
        "id": "test",
        "name": "Test",
        "kind": KINDS["memento"],
        "use": True,
        "because": "",
        "access": "open",
        "limits": Limits(SLOW, SLOW, 1, "test"),
    }
    return ArchiveEntry(**(known | fields))  # type: ignore[arg-type]


PUBLIC = Egress.of(
    archive(
        hosts=("web.archive.example", "nl.example/oasis"),
        timegate="https://web.archive.example/web/",
        timemaps={"link": "https://tm.archive.example:8443/link/"},
        cdx="http://cdx.archive.example:8080/cdx",
        replay="https://{collection}.archive.example/{time14}/{uri}",
        raw="https://raw.archive.example/{time14}id_/{uri}",
    )
)


def test_the_endpoints_are_those_of_urls_and_hosts() -> None:
    assert PUBLIC.endpoints == {
        Endpoint("https", "web.archive.example", 443),
        Endpoint("https", "nl.example", 443),
        Endpoint("https", "tm.archive.example", 8443),
        Endpoint("http", "cdx.archive.example", 8080),
        Endpoint("https", "raw.archive.example", 443),
    }


def test_plain_http_is_allowed_only_if_the_archive_has_no_https() -> None:
    plain = Egress.of(archive(hosts=("a.example",), timegate="http://a.example/"))

    assert Endpoint("http", "a.example", 80) in plain.endpoints
    assert Endpoint("http", "web.archive.example", 80) not in PUBLIC.endpoints


@pytest.mark.parametrize(
    "url",
    [
        "https://web.archive.example",
        "HTTPS://WEB.Archive.Example.:443/x",
        "https://user:pass@web.archive.example/",
        "https://evil.example@web.archive.example/",
        "https://tm.archive.example:8443?x",
        "http://cdx.archive.example:08080/",
    ],
)
def test_hosts_in_the_entry_are_allowed(url: str) -> None:
    assert PUBLIC.check(url)[0] in PUBLIC.endpoints


@pytest.mark.parametrize(
    "url",
    [
        "http://web.archive.example/",
        "https://web.archive.example:444/",
        "http://web.archive.example:443/",
        "https://archive.example/",
        "https://evil.web.archive.example/",
        "https://web.archive.example.evil.example/",
        "https://web.archive.example@evil.example/",
        "https://web.archive.example\\@evil.example/",
        "https://evil.example\\web.archive.example/",
        "https://evil.example#@web.archive.example/",
        "https://evil.example?@web.archive.example/",
        "https://weB.archive.example%00.evil.example/",
        "https://\uff57eb.archive.example/",
        "https://web\u3002archive\u3002example/",
        "https://\u212ab.example/",
        "https://[web.archive.example]:444/",
        "http://127.0.0.1/",
        "http://0x7f000001/",
        "http://[::ffff:127.0.0.1]/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://LOCALHOST/",
        "http://2130706433/",
    ],
)
def test_all_other_hosts_are_forbidden(url: str) -> None:
    with pytest.raises(Misbehaved, match=r"registry does not name|no http\(s\) URL"):
        PUBLIC.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "//web.archive.example/",
        "/web/",
        "ftp://web.archive.example/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https:web.archive.example",
        "https:///",
        "https://:443/",
        "https://web.archive.example:0/",
        "https://web.archive.example:65536/",
        "https://web.archive.example:443443443443/",
        "https://web.archive.example:\uff14\uff14\uff13/",
        "https://web.archive.example:-1/",
        "https://web.archive.example/\r\nHost: evil.example",
        "https://web.archive.example/\x00",
        "https://web.archive.example/\t",
        "https://web.archive.example/\x7f",
    ],
)
def test_a_url_that_is_not_http_is_rejected(url: str) -> None:
    with pytest.raises(Misbehaved, match=r"no http\(s\) URL"):
        PUBLIC.check(url)


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    for url in (text, f"http://{text}", f"https://a/{text}"):
        parts = target(url)
        if parts is not None:
            assert parts.endpoint.host.isascii()
            assert 0 < parts.endpoint.port < 65536
            assert parts.path.startswith("/")
            assert all("!" <= character <= "~" for character in parts.path)


FORBIDDEN = [
    "0.0.0.0",  # noqa: S104 - an address to refuse, not to bind
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.8",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::ffff:a9fe:a9fe",
    "::ffff:0:7f00:1",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "2001:0:7f00:1::",
    "2001:0:808:808::80ff:fffe",
    "2001:db8::1",
    "2001:4860:4860::5efe:7f00:1",
    "2001:4860:4860::200:5efe:a00:1",
    "100::1",
    "fc00::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "localhost",
    "",
    "127.1",
    "0x7f000001",
]


@pytest.mark.parametrize("address", FORBIDDEN)
def test_an_address_that_is_not_public_is_rejected(address: str) -> None:
    assert PUBLIC.refusal(address) is not None


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "207.241.237.3", "2001:4860:4860::8888", "64:ff9b::808:808", "::ffff:8.8.8.8"],
)
def test_a_public_address_passes(address: str) -> None:
    assert PUBLIC.refusal(address) is None


OWN = Egress.of(archive(timegate="http://wayback.local/"), allow_private=True)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "192.168.0.9", "::1", "fd12::1"])
def test_an_operators_archive_may_live_at_a_private_address(address: str) -> None:
    assert OWN.refusal(address) is None


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "fe80::1", "224.0.0.1", "::"],
)
def test_even_an_operators_archive_is_never_a_metadata_service(address: str) -> None:
    assert OWN.refusal(address) is not None


def test_an_address_spelled_out_in_the_entry_is_allowed_and_no_other() -> None:
    spelled = Egress.of(archive(timegate="http://10.0.0.7:8080/", cdx="http://[::1]:1/"))

    assert spelled.refusal("10.0.0.7") is None
    assert spelled.refusal("::1") is None
    assert spelled.refusal("10.0.0.8") == "10.0.0.8 is a private address"

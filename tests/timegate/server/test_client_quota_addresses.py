"""The address of a client behind proxies."""

import pytest
from multidict import CIMultiDict

from timegate.access.networks import UNKNOWN, Networks
from timegate.server.client_quota import ClientAddresses

PROXY = ("10.0.0.1", 4711)
STRANGER = ("192.0.2.9", 4711)


@pytest.mark.parametrize(
    ("peer", "written", "client"),
    [
        (STRANGER, "203.0.113.5", "192.0.2.9"),
        (PROXY, "203.0.113.5", "203.0.113.5"),
        (PROXY, "127.0.0.1, 203.0.113.5", "203.0.113.5"),
        (PROXY, "127.0.0.1, 203.0.113.5, 10.0.0.7", "203.0.113.5"),
        (PROXY, "203.0.113.5:8080", "203.0.113.5"),
        (PROXY, "[2001:db8::1]:8080", "2001:db8::1"),
        (PROXY, "2001:db8::1", "2001:db8::1"),
        (PROXY, "203.0.113.5, unknown", "10.0.0.1"),
        (PROXY, "203.0.113.5, 10.0.0.7, nonsense, 10.0.0.8", "10.0.0.8"),
        (PROXY, "", "10.0.0.1"),
        (PROXY, "10.0.0.7", "10.0.0.7"),
        (PROXY, ",".join(["203.0.113.5"] * 5000), "203.0.113.5"),
        ("", "203.0.113.5", UNKNOWN),
    ],
)
def test_only_addresses_from_trusted_proxies_are_used(
    peer: object, written: str, client: str
) -> None:
    clients = ClientAddresses(Networks(["10.0.0.0/8"]))

    address = clients.address(peer, CIMultiDict({"X-Forwarded-For": written}))

    assert address == client


def test_repeated_header_fields_are_one_list() -> None:
    fields = CIMultiDict([("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-For", "192.0.2.1")])

    assert ClientAddresses(Networks(["10.0.0.0/8"])).address(PROXY, fields) == "192.0.2.1"


@pytest.mark.parametrize(
    ("written", "client"),
    [
        ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
        ('proto=https;For="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"),
        ("for=192.0.2.43, for=198.51.100.17", "198.51.100.17"),
        ("for=192.0.2.43, for=_hidden", "10.0.0.1"),
        ("by=192.0.2.43", "10.0.0.1"),
    ],
)
def test_the_forwarded_header_is_read_if_configured(written: str, client: str) -> None:
    clients = ClientAddresses(Networks(["10.0.0.0/8"]), "Forwarded")
    fields = CIMultiDict({"Forwarded": written, "X-Forwarded-For": "127.0.0.1"})

    assert clients.address(PROXY, fields) == client

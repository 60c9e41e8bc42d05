"""Addresses of clients."""

import pytest

from timegate.access.networks import UNKNOWN, Networks, household, neighbourhood


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("192.0.2.7", True),
        ("192.0.2.8", False),
        ("2001:db8::1", True),
        ("2001:db9::1", False),
        ("no address", False),
        ("", False),
    ],
)
def test_an_address_is_in_a_network_or_not(address: str, *, inside: bool) -> None:
    networks = Networks(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"])

    assert (address in networks) is inside


def test_nothing_is_in_no_network() -> None:
    assert "127.0.0.1" not in Networks()
    assert not Networks()


def test_a_network_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="localhost"):
        Networks(["localhost"])


@pytest.mark.parametrize(
    ("address", "client", "written"),
    [
        ("192.0.2.77", "192.0.2.77", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("fe80::1%eth0", "fe80::/64", "fe80::/48"),
        ("unix:", UNKNOWN, UNKNOWN),
    ],
)
def test_a_client_is_a_line_and_only_its_neighbourhood_is_written(
    address: str, client: str, written: str
) -> None:
    assert household(address) == client
    assert neighbourhood(address) == written

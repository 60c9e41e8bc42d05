"""Addresses of clients and the networks that contain them."""

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


def test_an_empty_set_of_networks_contains_no_address() -> None:
    assert "127.0.0.1" not in Networks()
    assert not Networks()


def test_a_bad_network_is_rejected() -> None:
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
def test_a_client_counts_by_its_subscriber_prefix_and_is_logged_by_a_shorter_one(
    address: str, client: str, written: str
) -> None:
    assert household(address) == client
    assert neighbourhood(address) == written

from base64 import b32encode
from hashlib import new

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.content.digests import payload_digest

NAMES = st.sampled_from(["md5", "sha1", "sha256", "sha512"])


def notations(name: str, octets: bytes) -> list[str]:
    digest = new(name, octets, usedforsecurity=False)
    hexadecimal, base32 = digest.hexdigest(), b32encode(digest.digest()).decode()
    prefixed = [f"{name}:{hexadecimal}", f"{name}:{base32}", f"{name.upper()}:{base32}"]
    bare = [hexadecimal, hexadecimal.upper()]
    if name != "md5":
        bare += [base32, base32.rstrip("="), f"{name[:3]}-{name[3:]}:{hexadecimal}"]
    return [*prefixed, *bare, f"urn:{name}:{base32}"]


@given(NAMES, st.binary(min_size=1))
def test_all_notations_of_one_digest_are_equal(name: str, octets: bytes) -> None:
    found = {payload_digest(text) for text in notations(name, octets)}
    assert len(found) == 1
    assert None not in found


@given(st.lists(NAMES, min_size=2, max_size=2, unique=True), st.binary(min_size=1))
def test_digests_of_different_algorithms_are_never_equal(
    names: list[str], octets: bytes
) -> None:
    first, second = ({payload_digest(t) for t in notations(n, octets)} for n in names)
    assert first.isdisjoint(second)


@given(NAMES, st.binary(), st.binary())
def test_digests_of_different_octets_are_never_equal(
    name: str, one: bytes, other: bytes
) -> None:
    if one != other:
        digests = [payload_digest(t) for t in notations(name, one)]
        others = [payload_digest(t) for t in notations(name, other)]
        assert not {*digests} & {*others} - {None}


@pytest.mark.parametrize(
    "text",
    [None, "", "-", "sha1:", "sha1:-", "crc32:abcd", "A" * 32, "0" * 31, "é" * 32],
)
def test_what_is_no_known_digest_is_none(text: str | None) -> None:
    assert payload_digest(text) is None


@pytest.mark.parametrize(
    "text",
    ["3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709"],
)
def test_the_digest_of_no_octets_says_nothing(text: str) -> None:
    assert payload_digest(text) is None

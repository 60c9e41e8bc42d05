from hypothesis import given
from hypothesis import strategies as st

from timegate.replication.digests import digests_of, have_same_bytes, normal, of_etag

SHA1 = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # of nothing
SHA256 = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_digests_are_those_of_the_bytes() -> None:
    assert digests_of(b"") == {SHA1, SHA256}


def test_archives_spell_digests_in_different_ways() -> None:
    assert normal("3i42h3s6nnfq2msvx7xzkyayscx5qbyj") == SHA1
    assert normal(SHA256.upper().replace("SHA256", "SHA-256")) == SHA256
    assert [normal(text) for text in (None, "", "-", "md5:abc", "sha256:12")] == [None] * 5
    assert of_etag('"' + SHA256.replace(":", "-") + '"') == SHA256
    assert of_etag('"abc"') is None


def test_only_digests_of_one_kind_compare() -> None:
    assert have_same_bytes(SHA1, SHA1.lower().removeprefix("sha1:")) is True
    assert have_same_bytes(SHA1, SHA256) is None
    assert have_same_bytes(SHA1, None) is None


@given(st.binary(), st.binary())
def test_other_bytes_have_other_digests(one: bytes, other: bytes) -> None:
    assert (digests_of(one) == digests_of(other)) is (one == other)

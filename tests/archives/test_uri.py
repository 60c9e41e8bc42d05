"""Examples of `archives.uri`: folding and repairs (N-7, G-5)."""

import pytest

from archives.diagnostics import Diagnosis, Malformed
from archives.uri import (
    begins_with_host,
    canonical_uri,
    check_text,
    equivalent,
    host_of,
    negotiable,
    plain_origin,
    read_uri,
    scheme_of,
)


@pytest.mark.parametrize(
    ("text", "uri"),
    [
        ("http://www.dr.dk", "http://www.dr.dk"),
        ("HTTP://WWW.DR.DK/Path", "http://www.dr.dk/Path"),
        ("http://User:Pw@WWW.dr.dk:80/", "http://User:Pw@www.dr.dk:80/"),
        ("http://[2001:DB8::1]:8080/x", "http://[2001:db8::1]:8080/x"),
        ("http://[v1.A:b]/", "http://[v1.a:b]/"),
        ("http://x/a/../b//c%2fd?q=%7e", "http://x/a/../b//c%2fd?q=%7e"),
        ("MAILTO:Elzi@kb.dk", "mailto:Elzi@kb.dk"),
        ("ftp://FTP.example.org/Pub", "ftp://ftp.example.org/Pub"),
        ("http://www.dr.dk:/", "http://www.dr.dk:/"),
    ],
)
def test_only_scheme_and_host_are_folded(text: str, uri: str) -> None:
    diagnosis = Diagnosis(strict=True)

    assert read_uri(text, diagnosis) == uri


@pytest.mark.parametrize(
    ("text", "uri", "token"),
    [
        ("http://bücher.example/æ", "http://xn--bcher-kva.example/%C3%A6", "iri"),
        ("http://æ@x/", "http://%C3%A6@x/", "iri"),
        ("http://x/{a|b}", "http://x/%7Ba%7Cb%7D", "encoded-unsafe"),
        ("http://x/?a[]=1", "http://x/?a[]=1", "brackets"),
    ],
)
def test_common_errors_of_crawled_urls_are_repaired_with_a_diagnostic(
    text: str, uri: str, token: str
) -> None:
    diagnosis = Diagnosis()

    assert read_uri(text, diagnosis) == uri
    assert {d.token for d in diagnosis.diagnostics} == {token}
    with pytest.raises(Malformed):
        read_uri(text, Diagnosis(strict=True))


@pytest.mark.parametrize("host", ["b%C3%BCcher.example", "B%c3%9cCHER.EXAMPLE"])
def test_a_host_in_triplets_is_decoded(host: str) -> None:
    diagnosis = Diagnosis(strict=True)

    assert read_uri(f"http://{host}:8080/%C3%A6", diagnosis) == (
        "http://xn--bcher-kva.example:8080/%C3%A6"
    )
    assert {d.token for d in diagnosis.diagnostics} == {"iri"}


@pytest.mark.parametrize("host", ["b%fccher.example", "ex%61mple.org", "a%2fb.example"])
def test_triplets_of_ascii_or_invalid_utf8_are_unchanged(host: str) -> None:
    diagnosis = Diagnosis()

    assert read_uri(f"http://{host}/", diagnosis) == f"http://{host}/"
    assert not diagnosis.diagnostics


def test_triplets_in_a_host_do_not_begin_a_path() -> None:
    with pytest.raises(Malformed):
        read_uri("http://%C3%BC%2F%C3%BC.example/", Diagnosis())


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("//www.dr.dk", 0),
        ("http://[zz]/", 7),
        ("http://[::1/", 7),
        ("http://a]b/", 7),
        ("http://x:8o/", 8),
        ("http://x:65536/", 8),
        ("http://x:" + "0" * 5000, 8),
        ("http://xn--\u2028.example/", 7),
        ("http://" + "ü" * 64 + ".example/", 7),
    ],
)
def test_the_error_of_an_invalid_uri_has_its_position(text: str, position: int) -> None:
    with pytest.raises(Malformed) as caught:
        read_uri(text, Diagnosis())

    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("a b", "control-or-space", 1),
        ("a\u200bb", "control-or-space", 1),
        ("a\ud800b", "bad-char", 1),
        ("a<b", "bad-char", 1),
        ("a%2", "bad-percent", 1),
        ("a" * 8193, "too-long", 8192),
        ("æ" * 4097, "too-long", 4097),
    ],
)
def test_some_characters_are_not_allowed_in_identifiers(
    text: str, code: str, position: int
) -> None:
    with pytest.raises(Malformed) as caught:
        check_text(text)

    assert (caught.value.code, caught.value.position) == (code, position)


def test_a_dotted_name_is_a_host_even_before_a_port() -> None:
    assert begins_with_host("www.dr.dk/x")
    assert begins_with_host("www.dr.dk:8080/x")
    assert begins_with_host("127.0.0.1")
    assert not begins_with_host("1.2")
    assert not begins_with_host("item")
    assert scheme_of("www.dr.dk:8080/x") is None
    assert scheme_of("mailto:x") == "mailto"


def test_triplets_are_folded_for_comparison_only() -> None:
    assert canonical_uri("http://x/%c3%a6") == "http://x/%C3%A6"


def test_only_http_urls_with_a_host_are_originals() -> None:
    assert negotiable("https://u@[::1]:80/")
    assert host_of("https://u@[::1]:80/") == "[::1]"
    assert not negotiable("http://:80/")
    assert not negotiable("http:x")
    assert not negotiable("ftp://x/")


@pytest.mark.parametrize(
    ("uri", "origin"),
    [
        ("http://A.example/x", ("http", "a.example", 80)),
        ("HTTPS://a.example", ("https", "a.example", 443)),
        ("http://a.example:/x", ("http", "a.example", 80)),
        ("http://a.example:8080?x", ("http", "a.example", 8080)),
        ("http://[::1]:6379/", ("http", "::1", 6379)),
        ("http://me@a.example/", None),
        ("http://a.example\\@b.example/", None),
        ("http://a.example:123456/", None),
        ("//a.example/", None),
        ("ftp://a.example/", None),
    ],
)
def test_an_origin_is_unambiguous(uri: str, origin: tuple[str, str, int] | None) -> None:
    assert plain_origin(uri) == origin


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example", "HTTP://A.example:80/"),
        ("https://a.example:443?x", "https://a.example/?x"),
        ("http://a.example:/%c3", "http://a.example/%C3"),
    ],
)
def test_equivalent_urls_differ_in_their_spelling_only(one: str, other: str) -> None:
    assert equivalent(one, other)
    assert equivalent(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example:443/", "http://a.example/"),
        ("http://a.example:0/", "http://a.example/"),
        ("http://a.example/A", "http://a.example/a"),
        ("http://a.example/x", "http://a.example/x/"),
        ("http://a.example/?", "http://a.example/"),
        ("http://a.example/%7E", "http://a.example/~"),
        ("http://me@a.example:80/", "http://me@a.example/"),
    ],
)
def test_other_urls_are_not_called_equivalent(one: str, other: str) -> None:
    assert not equivalent(one, other)
    assert not equivalent(other, one)

"""The address of Redis, and what is never shown of it."""

import pytest

from timegate.redis import is_shared
from timegate.redis.address import RedisAddress, RedisPassword, parse_address


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://h", RedisAddress("single", (("h", 6379),))),
        ("redis://h:1/2", RedisAddress("single", (("h", 1),), database=2)),
        ("rediss://h", RedisAddress("single", (("h", 6379),), tls=True)),
        ("redis://[::1]:7", RedisAddress("single", (("::1", 7),))),
        ("redis://[::1]", RedisAddress("single", (("::1", 6379),))),
        (
            "redis+sentinel://a:1,b:2/main/3",
            RedisAddress("sentinel", (("a", 1), ("b", 2)), master="main", database=3),
        ),
        (
            "redis+sentinel://a/main",
            RedisAddress("sentinel", (("a", 26379),), master="main"),
        ),
        ("redis+cluster://a:1,b:2", RedisAddress("cluster", (("a", 1), ("b", 2)))),
        ("rediss+cluster://a", RedisAddress("cluster", (("a", 6379),), tls=True)),
    ],
)
def test_a_url_is_read(url: str, expected: RedisAddress) -> None:
    found = parse_address(url)

    assert is_shared(url)
    assert (found.kind, found.nodes, found.tls, found.master, found.database) == (
        expected.kind,
        expected.nodes,
        expected.tls,
        expected.master,
        expected.database,
    )


def test_credentials_are_unquoted() -> None:
    found = parse_address("redis://me:p%40ss%3A@h")

    assert (found.username, found.password.reveal()) == ("me", "p@ss:")


def test_a_password_is_in_no_representation_and_no_message() -> None:
    found = parse_address("redis+sentinel://:hunter2@a:1,b:2/main")

    assert "hunter2" not in f"{found!r} {found}"
    assert str(found) == "main of a:1,b:2"
    assert found.password.hidden_in("wrong: hunter2") == "wrong: ***"
    assert RedisPassword("").hidden_in("as it is") == "as it is"


@pytest.mark.parametrize(
    "url",
    [
        "redis:h",
        "http://h",
        "redis://",
        "redis://:hunter2@",
        "redis://h:hunter2",
        "redis://h:0",
        "redis://h:99999",
        "redis://h/hunter2",
        "redis://a,b",
        "redis+sentinel://hunter2",
        "redis+cluster://a/1",
        "redis+cluster://" + ",".join("a" for _ in range(65)),
    ],
)
def test_an_error_does_not_repeat_the_url(url: str) -> None:
    with pytest.raises(ValueError, match=r"cache|Cluster") as caught:
        parse_address(url)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["memory:", "sqlite:a.db", "redis", "redis:x", ""])
def test_other_cache_urls_are_not_shared(url: str) -> None:
    assert not is_shared(url)

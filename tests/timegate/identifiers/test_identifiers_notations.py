"""Differences between the notations: what one allows and another does not."""

import pytest

from archives.diagnostics import Malformed
from timegate.identifiers import parse


def test_an_item_id_without_a_tilde_is_valid_in_a_pwid_uri_and_repaired_in_a_urn() -> None:
    uri = parse("pwid:archive.org:2016-01-22_11.20.29Z:collection:my-list", strict=True)
    urn = "urn:pwid:archive.org:2016-01-22T11:20:29Z:collection:my-list"

    assert uri.identifier.item == "~my-list"
    assert [each.token for each in uri.diagnostics] == ["legacy-item-id"]
    assert parse(urn).identifier == uri.identifier
    with pytest.raises(Malformed):
        parse(urn, strict=True)


def test_parameters_of_the_http_interface_are_read_with_and_without_encoding() -> None:
    pasted = "time=2016-01-22T11:20:29Z&coverage=page&item=http://a.org/?b=c%20"
    encoded = (
        "time=2016-01-22T11%3A20%3A29Z&coverage=page&item=http%3A%2F%2Fa.org%2F%3Fb%3Dc%2520"
    )

    first, second = (parse(f"https://archive.org/pwid?{each}") for each in (pasted, encoded))

    assert first.identifier.item == "http://a.org/?b=c%20"
    assert first.identifier == second.identifier


def test_an_at_sign_in_a_user_name_is_repaired_to_a_triplet() -> None:
    text = "http://me@home@Example.org/"

    assert parse(text).identifier.item == "http://me%40home@example.org/"
    with pytest.raises(Malformed):
        parse(text, strict=True)


@pytest.mark.parametrize("before", ["urn:pwid:a.org:2016-01-22Z:page:", "duri:2016:", ""])
def test_a_slash_removed_by_a_front_end_is_restored_in_every_kind_of_identifier(
    before: str,
) -> None:
    reading = parse(f"{before}http:/example.org/a{{b}}")

    assert reading.identifier.item == "http://example.org/a%7Bb%7D"
    assert [(each.token, each.position - len(before)) for each in reading.diagnostics] == [
        ("slash-collapsed", 6),
        ("encoded-unsafe", 19),
    ]
    with pytest.raises(Malformed, match="one slash after the scheme; strict"):
        parse(f"{before}http:/example.org/", strict=True)

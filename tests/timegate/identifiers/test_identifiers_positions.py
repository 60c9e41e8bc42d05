"""The position in an error is that of the wrong character, not that of its part."""

import pytest

from archives.diagnostics import Malformed
from timegate.identifiers import parse

PAGE = ":2016-01-22T11:20:29Z:page:"

# A ^ stands before the wrong character; at the end, it marks where something is missing.
WRONG = [
    f"urn:pwid:arch^_ive.org{PAGE}http://a.example/",
    f"urn:pwid:archive.^.org{PAGE}http://a.example/",
    f"urn:pwid:archive^-.org{PAGE}http://a.example/",
    f"urn:pwid:^-archive.org{PAGE}http://a.example/",
    f"urn:pwid:192.0.2.^4{PAGE}http://a.example/",
    f"urn:pwid:{'a' * 63}^a.org{PAGE}http://a.example/",
    f"urn:pwid:~a^+b{PAGE}http://a.example/",
    f"urn:pwid:~^{PAGE}http://a.example/",
    "urn:pwid:archive.org:2016-01-22Z:sub^-site:http://a.example/",
    "urn:pwid:archive.org:2016-01-22Z:page^2:http://a.example/",
    "urn:pwid:archive.org:2016-01-22Z:^:http://a.example/",
    "urn:pwid:archive.org:2016-01-22Z:page:~a^/b",
    "urn:pwid:archive.org:2016-01-22T11^Z:page:http://a.example/",
    "urn:pwid:archive.org:2016-01-22T11:20:29^,5Z:page:http://a.example/",
    "urn:pwid:archive.org:2016-01-22Z:page:http://a.example/%3F%2520^ ",
    "urn:pwid:archive.org:2016-01-22Z:page:http://%5B::1%5D^:99999/",
    "pwid:archive.org:2016-01-22^-11.20.29Z:page:http://a.example/",
    "pwid:archive.org:2016-01-22_11.20.29^.5Z:page:http://a.example/",
    "pwid:archive.org:2016-01-22_11^Z:page:http://a.example/",
    "duri:2001:^/x",
    "duri:2001-01-01T12:00Z:^//a.example/",
    "duri:^http://a.example/",
    "duri:2001^",
    "duri:2001-01-01T12^:http://a.example/",
    "duri:2001-1^:http://a.example/",
    "pdi://a.us/1997/^13/01/1.text.1",
    "pdi://a.us/1997/02/^29/1.text.1",
    "pdi://a.us/*/02/^30/1.text.1",
    "pdi://a.us/^0000/01/01/1.text.1",
    "pdi://a.us/1997/02/28/a^~b.text.1",
    "pdi://a.us/1997/02/28/1.te^_xt.1",
    "pdi://a.us/1997/02/28/1.text.1#37^@1=pdi://a.us/1997/02/28/2.text.1",
]


@pytest.mark.parametrize("marked", WRONG)
def test_a_refusal_points_at_the_wrong_character(marked: str) -> None:
    before, _, after = marked.partition("^")

    with pytest.raises(Malformed) as complaint:
        parse(before + after)

    assert complaint.value.position == len(before)


REPAIRED = [
    "urn:pwid:archive.org:2016-01-22Z:page:http://a.example/%3Fq=^{x}",
    "urn:pwid:archive.org:2016-01-22Z:page:http://a.example/%3Fq=^%5B1%5D",
    "duri:2001:http://a.example/^{x}",
    "http://user^@home@a.example/",
]


@pytest.mark.parametrize("marked", REPAIRED)
def test_a_repair_points_at_what_was_repaired(marked: str) -> None:
    before, _, after = marked.partition("^")

    (repair,) = parse(before + after).diagnostics

    assert repair.position == len(before)

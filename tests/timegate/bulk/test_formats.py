"""Which format a list has."""

import pytest

from timegate.bulk.formats import format_of


@pytest.mark.parametrize(
    ("name", "beginning", "form"),
    [
        ("a.csv", b"", "csv"),
        ("a.TSV", b"", "csv"),
        ("a.jsonl", b"", "jsonl"),
        ("a.bib", b"", "bibtex"),
        ("a.wiki", b"", "wikitext"),
        ("-", b'{"url": "http://a/"}\n', "jsonl"),
        ("-", b'"http://a/"\n', "jsonl"),
        ("-", b'"link","date"\n', "csv"),
        ("-", b"link,date\nhttp://a/,2016\n", "csv"),
        ("-", b"% refs\n@article{a,\n url={http://a/}}", "bibtex"),
        ("-", b"Text.<ref>{{cite web|url=http://a/}}</ref>", "wikitext"),
        ("-", b"http://a/?x=1,2 2016\nhttp://b/ 2015\n", "lines"),
        ("list.txt", b"http://a/\nhttp://b/,c\n", "lines"),
        ("-", b"", "lines"),
        ("-", b"\xff\xfe", "lines"),
    ],
)
def test_the_format_is_found(name: str, beginning: bytes, form: str) -> None:
    assert format_of(name, beginning) == form

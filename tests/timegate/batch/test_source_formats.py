"""Detection of the format of a list."""

import pytest

from timegate.references.detection import format_of, unsupported


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
        ("a.json", b'[{"url": "http://a/"}]', "json"),
        ("a.json", b'{"urls": ["http://a/"]}', "json"),
        ("a.json", b'{"url": "http://a/"}\n{"url": "http://b/"}\n', "jsonl"),
        ("a.json", b'["http://a/",\n"http://b/"]', "json"),
        ("-", b'[\n  {"url": "http://a/"}]', "json"),
        ("-", b'{\n  "urls": ["http://a/"]}', "json"),
        ("-", b'{"url": "' + b"x" * 9000, "jsonl"),
        ("-", b"[[Museum]] [http://a/ a]", "wikitext"),
        ("a.HTM", b"", "html"),
        ("-", b"<!DOCTYPE html><script>{{</script>", "html"),
        ("-", b"See <a class=x\nhref='http://a/'>a</a>.", "html"),
        ("-", b"\xff\xfe", "lines"),
    ],
)
def test_the_format_is_detected(name: str, beginning: bytes, form: str) -> None:
    assert format_of(name, beginning) == form


@pytest.mark.parametrize(
    ("beginning", "hint"),
    [
        (b"\xd0\xcf\x11\xe0", "docx"),
        (b"PK\x03\x04...", "CSV"),
        (b"\x1f\x8b\x08", "unpack"),
        (b"\xff\xfeh\0", "UTF-8"),
        (b"http://a/", ""),
        (b"", ""),
    ],
)
def test_unsupported_files_are_recognised(beginning: bytes, hint: str) -> None:
    assert hint in unsupported(beginning)
    assert bool(hint) == bool(unsupported(beginning))

"""Detection of the format of a list by its first bytes."""

import pytest

from archives.diagnostics import Malformed
from archives.formats.cdx import CdxLines
from archives.formats.decoding import decoder_for
from archives.formats.rows import ListDecoder
from archives.formats.timemap_json import JsonTimeMap
from archives.formats.timemap_link import LinkTimeMap


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b'<http://a.example/>; rel="original",\n', LinkTimeMap),
        (b"\xef\xbb\xbf\n <HTTPS://a.example/", LinkTimeMap),
        (b"<//www.webarchive.org.uk/x>", LinkTimeMap),
        (b"</web/2010/x>;rel=memento", LinkTimeMap),
        (b"<x>; rel=memento", LinkTimeMap),
        (b'{"original_uri":"http://a.example/"', JsonTimeMap),
        (b'{\n  "self": "x"', JsonTimeMap),
        (b'{ "mementos": {', JsonTimeMap),
        (b'[["urlkey","timestamp"', JsonTimeMap),
        (b"[]", JsonTimeMap),
        (b'{"urlkey": "com,example)/", "timestamp": "2014', CdxLines),
        (b'{"url": "http://', CdxLines),
        (b"com,example)/ 20140126200624 {", CdxLines),
        (b"com,example)/ 20020120142510 http://example.com:80/ text/html", CdxLines),
        (b"20160122112029 {", CdxLines),
        (b'!context ["http://tools.ietf.org/html/rfc7089"]', CdxLines),
        (b" CDX N b a m s k r M S V g\n", CdxLines),
    ],
)
def test_the_first_bytes_choose_the_decoder(start: bytes, kind: type[ListDecoder]) -> None:
    decoder = decoder_for(start, "http://base.example/")

    assert type(decoder) is kind
    assert decoder.base_url == "http://base.example/"


@pytest.mark.parametrize(
    ("start", "code"),
    [
        (b"<!DOCTYPE html><title>Just a moment...</title>", "html-page"),
        (b"\n<html>", "html-page"),
        (b"<?xml version='1.0'?>", "html-page"),
        (b"<head><script>", "html-page"),
        (b"<!-- x -->", "html-page"),
        (b"", "empty"),
        (b" \r\n", "empty"),
        (b"Too many requests", "unknown-format"),
        (b"\x1f\x8b\x08", "unknown-format"),
    ],
)
def test_a_document_that_is_no_list_of_captures_is_rejected(start: bytes, code: str) -> None:
    with pytest.raises(Malformed) as error:
        decoder_for(start, "")

    assert error.value.code == code

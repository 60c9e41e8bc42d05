"""LANL's list of archives."""

import pytest

from archives.registry.entry import BadEntry
from archives.registry.lanl import (
    LONGEST_VALUE,
    MOST_CHARACTERS,
    MOST_ELEMENTS,
    from_lanl,
    is_xml,
)

LIST = """<?xml version="1.0" encoding="UTF-8"?>
<links>
  <link id="ia" longname="Internet Archive">
    <timegate uri="http://web.archive.org/web/" redirect="no"/>
    <timemap uri="http://web.archive.org/web/timemap/link/" paging-status="2" redirect="no"/>
    <calendar uri="http://web.archive.org/web/*/" redirect="no"/>
    <archive type="snapshot" rewritten-urls="yes" access-policy="public"/>
  </link>
  <link id="PRONI" longname="Public Record Office &amp; others">
    <timegate uri="http://webarchive.proni.gov.uk/timegate/"/>
  </link>
  <link id="wiki" longname="No TimeGate"><calendar uri="http://wiki.example/"/></link>
</links>
"""


def test_archives_with_a_timegate_are_read() -> None:
    first, second = from_lanl(LIST, "archivelist.xml")

    assert (first.id, first.name) == ("ia", "Internet Archive")
    assert first.timegate == "http://web.archive.org/web/"
    assert first.timemaps == {"link": "http://web.archive.org/web/timemap/link/"}
    assert (second.id, second.name) == ("proni", "Public Record Office & others")
    assert second.timemaps == {}


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-16", "x-unknown", "idna"])
def test_the_declared_encoding_of_decoded_text_has_no_meaning(encoding: str) -> None:
    text = LIST.replace("UTF-8", encoding).replace("Internet Archive", "Archivé")

    assert from_lanl(text, "archivelist.xml")[0].name == "Archivé"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<links>", "line 1"),
        ("<links/>", "has no <link"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><links>&x;</links>', "document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><links/>', "document type"),
        ("<a>" * 30, "too many elements"),
        ("<a>" + "<b/>" * MOST_ELEMENTS + "</a>", "too many elements"),
        ("<links>" + " " * MOST_CHARACTERS, "longer than"),
        ('<links><link id="a"><timegate uri="ftp://a/"/></link></links>', "timegate"),
        (f'<links><link id="a" longname="{"x" * (LONGEST_VALUE + 1)}"/></links>', "a value"),
        ('<links><link id="a" longname="&x;"/></links>', "undefined entity"),
    ],
)
def test_other_documents_are_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(BadEntry, match=why):
        from_lanl(text, "archivelist.xml")


def test_json_is_told_from_xml() -> None:
    assert is_xml(LIST)
    assert not is_xml('[{"id": "ia"}]')

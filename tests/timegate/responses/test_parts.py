"""The parts of a page in each format."""

import csv
import io
import json

from archives.model import Memento
from archives.registry import Registry
from tests.fakes import an_entry
from timegate.identifiers import parse
from timegate.parts.coherence import Coherence
from timegate.parts.composite import CompositeMemento, Part
from timegate.responses.parts import PARTS_FORMATS, parts_document, pwids

KNOWN = Registry(
    [
        an_entry(
            "memento", id="a", pwid=("a.example",), raw="http://a.example/{time14}id_/{uri}"
        ),
        an_entry("memento", id="nameless"),
    ]
)
PAGE = "http://shop.example/cat.html"
ROOT = Memento("20081129011916", f"http://a.example/20081129011916/{PAGE}", PAGE, "a", 200)


def found(url: str, archive: str = "a", stamp: str = "20081128000000") -> Part:
    memento = Memento(stamp, f"http://a.example/{stamp}/{url}", url, archive, 200)
    return Part(
        url,
        "image",
        "img src",
        PAGE,
        "found",
        memento=memento,
        offset=-91_156,
        coherence=Coherence.POSSIBLE,
        evidence="delivered",
    )


COMPOSITE = CompositeMemento(
    ROOT,
    (
        found("http://shop.example/a.png?x=[1]"),
        Part("http://shop.example/=1+1", "image", "img src", PAGE, "missing", why="=none\x1b"),
        found("http://shop.example/b.png", "nameless"),
    ),
    ("a frame was not read",),
    7,
)


def written(form: str) -> str:
    return PARTS_FORMATS[form].write(COMPOSITE, KNOWN).decode()


def test_the_pwid_of_the_page_comes_first_then_those_of_the_parts_that_were_found() -> None:
    assert [*pwids(COMPOSITE, KNOWN)] == [
        f"urn:pwid:a.example:2008-11-29T01:19:16Z:page:{PAGE}",
        "urn:pwid:a.example:2008-11-28T00:00:00Z:part:http://shop.example/a.png%3Fx=%5B1%5D",
    ]


def test_every_line_of_the_list_is_a_pwid_of_a_part() -> None:
    page, *parts = written("uri-list").removesuffix("\r\n").split("\r\n")

    assert parse(page, KNOWN).identifier.item == PAGE
    assert [parse(part, KNOWN).identifier.item for part in parts] == [
        "http://shop.example/a.png?x=[1]"
    ]


def test_the_document_says_everything() -> None:
    document = parts_document(COMPOSITE, KNOWN)

    assert document["summary"] == {
        "parts": 3,
        "found": 2,
        "missing": 1,
        "unknown": 0,
        "not-looked": 0,
        "partial": True,
        "spread": "-P1DT1H19M16S/-P1DT1H19M16S",
        "coherence": "undefined",
        "classes": {"possibly-coherent": 2},
    }
    assert document["unread"] == ["a frame was not read"]
    assert document["requests"] == 7
    first, second, _ = json.loads(written("json"))["parts"]
    assert first["memento"]["raw"].startswith("http://a.example/20081128000000id_/")
    assert (first["offset"], first["coherence"]) == (-91_156, "possibly-coherent")
    assert (second["outcome"], second["memento"], second["coherence"]) == (
        "missing",
        None,
        None,
    )


def test_the_linkset_has_the_parts_as_items_of_the_page() -> None:
    page, first, second = json.loads(written("linkset"))["linkset"]

    assert page["anchor"] == ROOT.uri
    assert [item["href"] for item in page["item"]] == [first["anchor"], second["anchor"]]
    assert page["item"][0]["coherence"] == ["possibly-coherent"]
    assert page["cite-as"][0]["href"].startswith("urn:pwid:a.example:")
    assert "cite-as" not in second


def test_cells_are_neither_formulas_nor_control_characters() -> None:
    rows = [*csv.DictReader(io.StringIO(written("csv")))]

    assert [row["outcome"] for row in rows] == ["found", "missing", "found"]
    assert rows[1]["why"] == "'=none\\u001b"
    assert rows[0]["offset"] == "-91156"

"""DOCX and PDF files, read in a process of their own."""

from datetime import UTC, datetime
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from pypdf import PdfWriter
from pypdf.annotations import Link

from archives.registry import load_known
from timegate.references import BadInput
from timegate.references.formats import extract
from timegate.references.office import read_office, with_addresses

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HEAD = f'xmlns:w="{WORD}" xmlns:r="{OFFICE}"'


def docx(body: str, notes: str = "", target: str = "") -> bytes:
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", f"<w:document {HEAD}>{body}</w:document>")
        if notes:
            file.writestr("word/footnotes.xml", f"<w:footnotes {HEAD}>{notes}</w:footnotes>")
        if target:
            relation = f'<Relationship Id="r1" TargetMode="External" Target="{target}"/>'
            file.writestr(
                "word/_rels/document.xml.rels", f"<Relationships>{relation}</Relationships>"
            )
    return out.getvalue()


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def test_paragraphs_links_and_footnotes_of_a_docx_file_are_read() -> None:
    link = '<w:p><w:hyperlink r:id="r1"><w:r><w:t>here</w:t></w:r></w:hyperlink></w:p>'
    note = paragraph("http://c.example/ (accessed 5 November 2010)")
    file = docx(paragraph("See http://a.example/.") + link, note, "http://b.example/")

    found = extract(read_office(file, "docx"), load_known(), NOW)

    assert [(each.identifier, str(each.at or "")) for each in found] == [
        ("http://a.example/", ""),
        ("http://b.example/", ""),
        ("http://c.example/", "2010-11-05"),
    ]


def test_the_links_of_a_pdf_file_are_read() -> None:
    writer = PdfWriter()
    writer.add_blank_page(200, 200)
    writer.add_annotation(0, Link(rect=(0, 0, 9, 9), url="http://a.example/"))
    out = BytesIO()
    writer.write(out)

    found = extract(read_office(out.getvalue(), "pdf"), load_known(), NOW)

    assert [each.identifier for each in found] == ["http://a.example/"]


def test_an_address_that_print_broke_is_joined() -> None:
    text = "See http://a.example/open-\ning-hours, accessed 2010."

    joined = with_addresses(text, ["http://a.example/open-ing-hours"])

    assert joined == "See http://a.example/open-ing-hours, accessed 2010."


@pytest.mark.parametrize("form", ["docx", "pdf"])
def test_a_damaged_file_is_refused(form: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_office(b"PK\x03\x04 nonsense", form)


def test_a_file_that_expands_without_end_is_refused() -> None:
    bomb = docx(paragraph("a" * (65 << 20)))

    assert len(bomb) < 1 << 20
    with pytest.raises(BadInput, match="too large"):
        read_office(bomb, "docx")

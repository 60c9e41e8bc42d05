"""Text of DOCX and PDF files, read in a process of its own with bounds on memory and time.

Both formats are compressed and nested: a small file can expand without end, and readers of PDF
are large. The child process may use `_MEMORY` octets and `_SECONDS` of CPU; whatever happens in
it costs this one file. It writes the text, with the addresses of links in their places.
"""

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Final
from xml.etree.ElementTree import Element, ParseError, fromstring

from timegate.references import BadInput

_MEMORY: Final = 1 << 30
_SECONDS: Final = 60
_MOST_TEXT: Final = 64 * 1024 * 1024
_MOST_PART: Final = 64 * 1024 * 1024
"""Octets of one part of a DOCX file, uncompressed."""
_NO_LIBRARY: Final = 3
_OUTPUT_LIMIT: Final = _MOST_TEXT + 1


def read_office(octets: bytes, form: str) -> str:
    """Return the text of a file in the format *form* (docx or pdf). Raises BadInput."""
    command = [sys.executable, "-m", "timegate.references.office", form]
    try:
        done = subprocess.run(  # noqa: S603 -- our own module, with a word of ours
            command, input=octets, capture_output=True, timeout=2 * _SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"the {form.upper()} file takes too long to read") from error
    if done.returncode == _NO_LIBRARY:
        raise BadInput("PDF files need an extra: pip install 'timegate-proxy[documents]'")
    if done.returncode or len(done.stdout) > _MOST_TEXT:
        raise BadInput(
            f"the {form.upper()} file cannot be read: it is damaged, encrypted or too large"
        )
    return done.stdout.decode(errors="replace")


_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_RELATION: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_PARTS: Final = ("document", "footnotes", "endnotes", "comments")


def docx_text(octets: bytes) -> str:
    """Return the text of a DOCX file, one line for each paragraph, with notes at the end."""
    with zipfile.ZipFile(BytesIO(octets)) as file:
        names = set(file.namelist())
        lines = [
            line
            for part in _PARTS
            if f"word/{part}.xml" in names
            for line in _paragraphs(
                _part(file, f"word/{part}.xml"), _targets(file, part, names)
            )
        ]
    return "\n\n".join(lines)


def _part(file: zipfile.ZipFile, name: str) -> Element:
    with file.open(name) as stream:
        octets = stream.read(_MOST_PART + 1)
    if len(octets) > _MOST_PART or b"<!DOCTYPE" in octets[:4096]:
        raise ParseError("too large, or with a document type")
    return fromstring(octets)  # noqa: S314 -- in a child process with bounded memory


def _targets(file: zipfile.ZipFile, part: str, names: set[str]) -> Mapping[str, str]:
    """Return the addresses of the links of a part, by their ids."""
    name = f"word/_rels/{part}.xml.rels"
    if name not in names:
        return {}
    relations = _part(file, name)
    return {
        relation.get("Id", ""): relation.get("Target", "")
        for relation in relations
        if relation.get("TargetMode") == "External"
    }


def _paragraphs(root: Element, targets: Mapping[str, str]) -> Iterator[str]:
    for paragraph in root.iter(f"{_WORD}p"):
        text = "".join(_pieces(paragraph, targets)).strip()
        if text:
            yield text


def _pieces(paragraph: Element, targets: Mapping[str, str]) -> Iterator[str]:
    """Yield the text of *paragraph*; after the words of a link comes its address."""
    for node in paragraph.iter():
        if node.tag == f"{_WORD}t":
            yield node.text or ""
        elif node.tag in (f"{_WORD}tab", f"{_WORD}br", f"{_WORD}cr"):
            yield " "
        elif node.tag == f"{_WORD}instrText" and "HYPERLINK" in (node.text or ""):
            yield f" <{_quoted(node.text or '')}> "
        elif node.tag == f"{_WORD}hyperlink":
            target = targets.get(node.get(f"{_RELATION}id", ""), "")
            words = "".join(each.text or "" for each in node.iter(f"{_WORD}t"))
            if target.startswith(("http://", "https://")) and target not in words:
                yield f" <{target}> "


def _quoted(instruction: str) -> str:
    """Return the address in ``HYPERLINK "http://..."``; empty if there is none."""
    parts = instruction.split('"')
    return parts[1] if len(parts) > 2 else ""


def pdf_text(octets: bytes) -> str:
    """Return the text of a PDF file, with the addresses of its links."""
    from pypdf import PdfReader  # noqa: PLC0415 -- an extra, and only in the child process

    pages = PdfReader(BytesIO(octets)).pages
    return "\n\n".join(
        with_addresses(page.extract_text(), _addresses(page.get("/Annots"))) for page in pages
    )


def _addresses(annotations: object) -> list[str]:
    found = []
    for annotation in annotations if isinstance(annotations, list) else []:
        action = annotation.get_object().get("/A")
        address = None if action is None else action.get_object().get("/URI")
        if address is not None:
            found.append(str(address))
    return found


def with_addresses(text: str, addresses: list[str]) -> str:
    """Return *text* with each address in its place, in one piece.

    Lines of print break addresses; one that is not in the text comes after it.
    """
    pieces = text.split()
    for address in dict.fromkeys(addresses):
        if not address.startswith(("http://", "https://")) or address in text:
            continue
        text = _rejoined(text, address) or f"{text}\n<{address}>"
    return text if pieces or addresses else ""


def _rejoined(text: str, address: str) -> str | None:
    """Return *text* with the pieces of *address* joined; None if they are not there."""
    places = [index for index, character in enumerate(text) if not character.isspace()]
    squeezed = "".join(text[index] for index in places)
    at = squeezed.find(address)
    if at < 0:
        return None
    start, end = places[at], places[at + len(address) - 1] + 1
    return f"{text[:start]}{address}{text[end:]}"


def main(form: str) -> int:
    """Read a file from standard input and write its text; return the exit code.

    An exception ends the process, which is all that a damaged file can do.
    """
    import resource  # noqa: PLC0415 -- not on every system

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    octets = sys.stdin.buffer.read()
    try:
        text = pdf_text(octets) if form == "pdf" else docx_text(octets)
    except ImportError:
        return _NO_LIBRARY
    sys.stdout.buffer.write(text.encode(errors="replace")[:_OUTPUT_LIMIT])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""A fixed number of cases for each target, and the completeness of the list."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from archives.adapters import ADAPTERS
from tests.fuzz.mutations import cases
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
CASES = 500
NOT_FUZZED = {
    "archives.registry.read_known": "reads our own files",
    "archives.warc.remote.read_error": "makes an exception",
    "timegate.batch.source.read_octets": "reads a stream and parses nothing",
    "timegate.references.office.read_office": "starts a process, which is fuzzed as DOCX",
    "timegate.references.prose.read_citation": "fields that other readers have read",
    "timegate.cli.given.read_given": "calls read_pasted",
    "timegate.batch.source.read_document": "decodes a stream and parses nothing",
    "timegate.cli.mcp.read_address": "an option of the command line, tested there",
    "timegate.cli.options.read_ids": "names of the command line, looked up in a table",
    "timegate.redis.connections.parse": "the parser of the Redis library",
}
"""Functions with names of parsers, and why they are no targets."""
_INPUT = ("str", "bytes", "str | None", "BinaryIO")


@pytest.mark.parametrize("name", TARGETS)
def test_any_octets_raise_nothing_but_documented_errors(name: str) -> None:
    target = TARGETS[name]
    for octets in cases(target.seeds, CASES):
        try:
            target.run(octets)
        except target.raises:
            continue
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} for {octets!r}") from error


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_of_a_target_are_its_kind_of_input(name: str) -> None:
    assert 1 <= len(TARGETS[name].seeds) <= 10
    assert sum(map(len, TARGETS[name].seeds)) < 4096


def parsers_in(path: Path) -> Iterator[str]:
    """Yield the public functions of a module that are called like parsers and take text."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.args.args and _is_parser(node):
            yield f"{module}.{node.name}"


def _is_parser(node: ast.FunctionDef) -> bool:
    annotation = node.args.args[0].annotation
    called = node.name.startswith(("read_", "parse", "decode_"))
    return called and annotation is not None and ast.unparse(annotation) in _INPUT


def test_every_parser_is_fuzzed() -> None:
    paths = [*(ROOT / "archives").rglob("*.py"), *(ROOT / "timegate").rglob("*.py")]
    sources = [path for path in paths if "misbehave" not in path.parts]
    covered = {name for target in TARGETS.values() for name in target.covers}

    found = {name for path in sources for name in parsers_in(path)}

    assert found - covered - NOT_FUZZED.keys() == set()
    assert covered - found == set()


def test_every_kind_of_archive_is_fuzzed() -> None:
    assert {f"archives of kind {kind}" for kind in ADAPTERS} <= TARGETS.keys()

"""Every specification vector: what it states, whether it conforms, what was repaired."""

import json
from importlib.resources import files
from typing import Any

import pytest

from archives.diagnostics import Malformed
from archives.registry import load_known
from timegate.identifiers import KINDS, parse, parse_wrapped
from timegate.identifiers.model import ParsedIdentifier
from timegate.responses.problems import status_of_reading, status_of_refusal

VECTORS: list[dict[str, Any]] = [
    vector
    for name in ("vectors", "lenient_vectors")
    for vector in json.loads(files("tests").joinpath(f"data/{name}.json").read_text())[
        "vectors"
    ]
]
REGISTRY = load_known()
REJECTED = [v for v in VECTORS if v["expect"] is None]
ACCEPTED = [v for v in VECTORS if v["expect"] is not None]
REPAIRED = [v for v in ACCEPTED if not v["valid"]]


def read(vector: dict[str, Any], *, strict: bool = False) -> ParsedIdentifier:
    reader = parse_wrapped if vector["kind"] == "wrapped-text" else parse
    return reader(vector["input"], REGISTRY, strict=strict)


def by_id(vector: dict[str, Any]) -> str:
    return str(vector["id"])


@pytest.mark.parametrize("vector", ACCEPTED, ids=by_id)
def test_an_identifier_states_what_the_vector_expects(vector: dict[str, Any]) -> None:
    expected = dict(vector["expect"])
    fragment = expected.pop("f", None)
    expected.pop("pdi", None)

    reading = read(vector)

    identifier, time = reading.identifier, reading.identifier.time
    assert {
        "scheme": reading.scheme,
        "archive": identifier.archive,
        "time": {
            "start": time.start if time else None,
            "end": time.end if time else None,
            "granularity": identifier.granularity,
        },
        "precision": identifier.precision,
        "item": identifier.item,
        "canonical": identifier.canonical,
    } == expected
    assert reading.fragment == fragment
    assert reading.conforming == vector["valid"]
    assert sorted({d.token for d in reading.diagnostics}) == sorted(
        vector.get("diagnostics", [])
    )
    assert status_of_reading(reading) == vector.get("status")


@pytest.mark.parametrize("vector", REJECTED, ids=by_id)
def test_a_rejection_has_its_status_and_a_position_in_the_text(vector: dict[str, Any]) -> None:
    with pytest.raises(Malformed) as caught:
        read(vector)

    assert status_of_refusal(caught.value) == vector["status"]
    assert 0 <= caught.value.position <= len(vector["input"])
    assert caught.value.why


@pytest.mark.parametrize("vector", REPAIRED, ids=by_id)
def test_a_strict_reader_rejects_what_a_lenient_one_repairs(vector: dict[str, Any]) -> None:
    with pytest.raises(Malformed) as caught:
        read(vector, strict=True)

    assert caught.value.code in vector["diagnostics"]


@pytest.mark.parametrize("vector", [v for v in ACCEPTED if v["valid"]], ids=by_id)
def test_a_strict_reader_accepts_what_conforms(vector: dict[str, Any]) -> None:
    assert read(vector, strict=True).identifier == read(vector).identifier


@pytest.mark.parametrize("vector", ACCEPTED, ids=by_id)
def test_a_canonical_form_is_a_fixed_point(vector: dict[str, Any]) -> None:
    identifier = read(vector).identifier
    if identifier.canonical is None:
        assert vector["kind"] == "archive-url"
        return

    again = parse(identifier.canonical).identifier

    assert again.canonical == identifier.canonical
    assert again == identifier
    assert hash(again) == hash(identifier)


def test_every_scheme_of_the_vectors_is_the_name_of_one_kind() -> None:
    names = [kind.name for kind in KINDS]

    assert len(names) == len(set(names))
    assert {vector["expect"]["scheme"] for vector in ACCEPTED} <= set(names)


@pytest.mark.parametrize("vector", ACCEPTED, ids=by_id)
def test_an_identifier_begins_with_a_prefix_of_its_kind(vector: dict[str, Any]) -> None:
    reading = read(vector)

    if reading.kind.prefixes and "base64" not in {d.token for d in reading.diagnostics}:
        assert "".join(vector["input"].split()).lower().startswith(reading.kind.prefixes)


def test_a_tdb_leads_to_its_duri_and_a_duri_to_nothing_else() -> None:
    thing = parse("tdb:2012-01:http://Example.org/a").identifier

    assert thing.document == "duri:2012-01:http://example.org/a"
    assert parse(thing.document).identifier.document is None

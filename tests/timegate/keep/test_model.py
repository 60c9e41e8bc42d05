"""Copies count as independent if different institutions hold them."""

from archives.registry import Registry
from tests.fakes import an_entry
from timegate.batch.model import Item
from timegate.keep.model import HERE, CopyPlace, KeptReference, archives_of, custodian_of

ONE = an_entry("memento", id="one")
HOSTED = an_entry("memento", id="hosted", hosted_by="one")
LOCAL = an_entry("warc", id="local", path="/srv")
REGISTRY = Registry((ONE, HOSTED, LOCAL), shared_hosts=True)
OWN = CopyPlace("notes", "http://here/1", "2016-01-22T11:20:29Z", HERE)
ITEM = Item(0, "http://a.example/", ("http://a.example/",))


def test_archives_at_one_host_have_one_custodian() -> None:
    assert custodian_of("hosted", REGISTRY) == custodian_of("one", REGISTRY) == "one"
    assert archives_of("one", REGISTRY.entries) == {"one", "hosted"}


def test_collections_of_this_server_have_one_custodian() -> None:
    assert custodian_of("local", REGISTRY) == HERE
    assert custodian_of("unknown", REGISTRY) == "unknown"


def test_two_copies_of_one_custodian_are_one() -> None:
    twice = CopyPlace("local", "http://here/2", "2016-01-22T11:20:29Z", HERE)
    other = CopyPlace("one", "http://one/", "2016-01-22T11:20:29Z", "one")

    assert KeptReference(ITEM, "kept", 0, "", (OWN, twice)).independent == 1
    assert KeptReference(ITEM, "kept", 0, "", (OWN, twice, other)).independent == 2


def test_the_line_says_how_many_copies_there_are() -> None:
    kept = KeptReference(ITEM, "already", 0, "same URL", (OWN,))

    assert kept.line == "http://a.example/: kept before, 1 independent copy; same URL"
    assert KeptReference(ITEM, "missing", 3, "no copy").line == (
        "http://a.example/: not kept; no copy"
    )


def test_the_json_says_whether_enough_copies_are_there() -> None:
    described = KeptReference(ITEM, "kept", 1, "", (OWN,), 2).described

    assert (described["independent"], described["wanted"], described["ensured"]) == (
        *(1, 2),
        False,
    )

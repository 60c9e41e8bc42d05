"""The registry: known files, errors of bad entries, and properties of look-ups."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives.model import ArchiveEntry
from archives.registry import (
    BadEntry,
    Registry,
    bare_host,
    entry_from,
    known_entries,
    load_file,
    load_known,
    read_entry,
)
from archives.registry.snapshot import SNAPSHOT, read_snapshot, write_snapshot

KNOWN = load_known()
FOLDER = Path(__file__).parents[3] / "archives" / "known"
MINIMAL = 'id = "mine"\nkind = "memento"\ntimegate = "http://wayback.local:8080/all/"\n'

names = sorted(path.name for path in FOLDER.glob("*.toml"))
labels = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=8)


def minimal(**changes: object) -> ArchiveEntry:
    table = {"id": "mine", "kind": "memento", "timegate": "http://wayback.local:8080/all/"}
    return entry_from({**table, **changes}, "mine.toml")


def archive_of(found: ArchiveEntry | None) -> str | None:
    return None if found is None else found.id


@pytest.mark.parametrize("name", names)
def test_every_known_file_loads_and_has_the_name_of_its_id(name: str) -> None:
    entry = load_file(FOLDER / name)

    assert f"{entry.id}.toml" == name
    assert entry.because
    assert entry.sources


def test_all_known_archives_load_together() -> None:
    assert len(KNOWN.entries) == len(names) == 83


def test_only_archives_that_answer_programs_are_used_by_default() -> None:
    assert {entry.id for entry in KNOWN.used} == {
        "arquivo-pt",
        "banq",
        "internet-archive",
        "nlnz",
        "onb-austria",
        "oszk-hungary",
        "veebiarhiiv",
        "vefsafn",
    }


def test_archives_that_are_used_can_be_queried() -> None:
    assert all(entry.kind.name != "none" and entry.access != "defunct" for entry in KNOWN.used)


def test_an_archive_is_hosted_by_a_known_archive() -> None:
    hosts = {entry.hosted_by for entry in KNOWN.entries if entry.hosted_by}

    assert hosts == {"archive-it"}
    assert KNOWN.by_host("wayback.archive-it.org") is KNOWN.by_id("archive-it")


def test_an_operator_states_only_id_kind_and_endpoint() -> None:
    entry = read_entry(MINIMAL, "mine.toml")

    assert entry.name == "mine"
    assert entry.use
    assert entry.hosts == ("wayback.local",)
    assert entry.limits.source == "default until agreed"
    assert entry.origin == "mine.toml"


def test_a_single_timemap_is_one_in_link_format() -> None:
    entry = minimal(timemap="http://wayback.local:8080/all/timemap/link/")

    assert entry.timemaps == {"link": "http://wayback.local:8080/all/timemap/link/"}


BAD: list[tuple[str, str, str]] = [
    ("id = 'mine'", "kind", "is missing"),
    ("kind = 'none'", "id", "is missing"),
    ("id = ''\nkind = 'none'", "id", "is not made of"),
    ("id = 'Mine!'\nkind = 'none'", "id", "is not made of"),
    ("id = 'mine'\nkind = 'gopher'", "kind", "allowed: memento, wayback, cdx, warc, none"),
    ("id = 'mine'\nkind = 'memento'", "timegate", "is missing"),
    ("id = 'mine'\nkind = 'wayback'", "replay", "is missing"),
    ("id = 'mine'\nkind = 'cdx'", "cdx", "is missing"),
    (f"{MINIMAL}cdx = 'http://a.example/cdx'", "dialect", "is missing"),
    (
        f"{MINIMAL}cdx = 'http://a.example/cdx'\ndialect = 'x'",
        "dialect",
        "allowed: wayback-cdx",
    ),
    (f"{MINIMAL}colour = 'red'", "colour", "unknown key; allowed: id, name"),
    (f"{MINIMAL}origin = 'x'", "origin", "unknown key"),
    (f"{MINIMAL}name = 3", "name", "Expected `str`, got `int`"),
    (f"{MINIMAL}use = 'yes'", "use", "Expected `bool`, got `str`"),
    (f"{MINIMAL}pwid = 'archive.org'", "pwid", "Expected `array`, got `str`"),
    (f"{MINIMAL}pwid = ['Archive.org']", "pwid", "lower case"),
    (f"{MINIMAL}hosts = ['a.example:80']", "hosts", "without a port"),
    (
        f"{MINIMAL}timemap = 'a.example/timemap/'",
        "timemaps.link",
        "not an http or https address",
    ),
    (f"{MINIMAL}timemaps.atom = 'http://a.example/'", "timemaps.atom", "allowed: link, json"),
    (f"{MINIMAL}replay = 'http://a.example/{{time14}}/'", "replay", "has no {uri}"),
    (f"{MINIMAL}replay = 'http://a.example/{{uri}}'", "replay", "has no {time14}"),
    ("id = 'mine'\nkind = 'memento'\ntimegate = 'ftp://a.example/'", "timegate", "not an http"),
    ("id = 'mine'\nkind = 'memento'\ntimegate = 'http://[a/'", "timegate", "not an http"),
    (f"{MINIMAL}[limits]\nat_once = 1\nsource = 'x'", "limits", "missing required field"),
    (
        f"{MINIMAL}[[forms]]\ntemplate = '{{host}}/{{when}}/{{uri}}'",
        "forms[0].template",
        "not a field",
    ),
    (
        f"{MINIMAL}[[forms]]\ntemplate = 'lost: {{host}}/{{uri}}'",
        "forms[0].template",
        "not a kind",
    ),
    (
        f"{MINIMAL}[[forms]]\ntemplate = '{{host}}/{{time:x}}'",
        "forms[0].template",
        "allowed: base62",
    ),
    (f"{MINIMAL}[[forms]]\ntemplate = '{{host}}/{{uri}}/x'", "forms[0].template", "follows"),
    (f"{MINIMAL}[[forms]]\ntemplate = '{{host}}'", "forms[0].template", "no path"),
    (
        f"{MINIMAL}[[forms]]\nshape = '{{host}}/'",
        "forms[0].shape",
        "unknown key; allowed: templ",
    ),
    (
        f"{MINIMAL}[[relocations]]\ndead = 'a'\nliving = 'b'",
        "relocations[0].dead",
        "not an http",
    ),
]


@pytest.mark.parametrize(("text", "key", "why"), BAD)
def test_the_error_of_a_bad_entry_names_file_and_key(text: str, key: str, why: str) -> None:
    with pytest.raises(BadEntry) as error:
        read_entry(text, "own/mine.toml")

    assert str(error.value).startswith(f"own/mine.toml: {key}: ")
    assert why in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("requests = 0", "limits.memento"),
        ("requests = nan", "limits.memento"),
        ("requests = inf", "limits.memento"),
        ("requests = -1", "limits.memento"),
        ("requests = 1\nburst = 0", "limits.memento.burst"),
    ],
)
def test_a_rate_that_allows_no_request_is_rejected(change: str, key: str) -> None:
    text = (
        f"{MINIMAL}[limits]\nat_once = 1\nsource = 'x'\nindex = {{requests = 1, seconds = 1}}\n"
        f"[limits.memento]\nseconds = 1\n{change}"
    )

    with pytest.raises(BadEntry, match=re.escape(f"mine.toml: {key}: ")):
        read_entry(text, "mine.toml")


def test_a_limit_of_zero_requests_at_once_is_rejected() -> None:
    rates = "memento = {requests = 1, seconds = 1}\nindex = {requests = 1, seconds = 1}"

    with pytest.raises(BadEntry, match=r"limits\.at_once"):
        read_entry(f"{MINIMAL}[limits]\nat_once = 0\nsource = 'x'\n{rates}", "mine.toml")


def test_the_error_of_invalid_toml_names_the_line() -> None:
    with pytest.raises(BadEntry, match=r"mine\.toml: .*line 2"):
        read_entry("id = 'mine'\nkind = ?\n", "mine.toml")


def test_a_file_must_have_the_name_of_its_id(tmp_path: Path) -> None:
    path = tmp_path / "yours.toml"
    path.write_text(f"{MINIMAL}name = 'n'\nuse = true\nbecause = 'b'\naccess = 'open'", "utf-8")

    with pytest.raises(BadEntry, match="'mine' is not the name of the file"):
        load_file(path)


def test_a_file_must_have_more_keys_than_an_operators_entry(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL, "utf-8")

    with pytest.raises(BadEntry, match="name: is missing"):
        load_file(path)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({}, "id"),
        ({"id": "other", "pwid": ("a.example",), "hosts": ("b.example",)}, "pwid"),
        ({"id": "other", "hosts": ("wayback.local",)}, "hosts"),
        ({"id": "other", "hosts": (), "former_hosts": ("wayback.local",)}, "former_hosts"),
    ],
)
def test_two_archives_cannot_claim_one_name(change: dict[str, object], key: str) -> None:
    first = minimal(pwid=["a.example"])
    second = replace(first, pwid=(), origin="two.toml")
    second = replace(second, **change)  # type: ignore[arg-type]

    with pytest.raises(BadEntry, match=rf"two\.toml: {key}: .* already belongs to mine"):
        Registry([first, second])


@pytest.mark.parametrize(
    ("archive_id", "archive"),
    [
        ("archive.org", "internet-archive"),
        ("Web.Archive.ORG", "internet-archive"),
        ("some.thing.archive.org", "internet-archive"),
        ("europarchive.org", "internet-memory"),
        ("web.archive.org.au", "nla-awa"),
        ("eot.us.archive.org", "eot-archive"),
        ("webarchive.nationalarchives.gov.uk", "ukgwa"),
        ("gov.uk", None),
        ("org", None),
        ("", None),
        ("myarchive.org", None),
    ],
)
def test_an_archive_id_is_matched_by_whole_labels(archive_id: str, archive: str | None) -> None:
    assert archive_of(KNOWN.by_pwid(archive_id)) == archive


@pytest.mark.parametrize(
    ("host", "archive"),
    [
        ("web.archive.org", "internet-archive"),
        ("WEB.archive.org:443", "internet-archive"),
        ("web.archive.org.", "internet-archive"),
        ("www.padi.cat:8080", "padicat"),
        ("s07.megalodon.jp", "megalodon"),
        ("web.archive.org.evil.example", None),
        ("europarchive.org.example", None),
        ("[::1]:80", None),
        ("www.bnf.fr", None),
        ("a." * 5000 + "archive.org", None),
    ],
)
def test_a_host_is_matched_by_whole_labels(host: str, archive: str | None) -> None:
    assert archive_of(KNOWN.by_host(host)) == archive


@given(st.lists(labels, max_size=4), st.sampled_from(KNOWN.entries))
def test_a_subdomain_finds_its_archive_or_a_more_specific_one(
    below: list[str], entry: ArchiveEntry
) -> None:
    for name in entry.pwid:
        found = KNOWN.by_pwid(".".join([*below, name]))

        assert found is not None
        assert found is entry or any(len(each) > len(name) for each in found.pwid)


@given(labels, st.sampled_from(KNOWN.entries))
def test_letters_before_a_host_make_another_host(letters: str, entry: ArchiveEntry) -> None:
    for host in (*entry.hosts, *entry.former_hosts):
        found = KNOWN.by_host(f"{letters}{host}")

        assert found is None or any(
            f".{letters}{host}".endswith(f".{each}")
            for each in (*found.hosts, *found.former_hosts)
        )


@pytest.mark.parametrize(
    ("dead", "living"),
    [
        (
            "http://webarchive.proni.gov.uk/20100218151844/http://www.berr.gov.uk/",
            "https://wayback.archive-it.org/11112/20100218151844/http://www.berr.gov.uk/",
        ),
        (
            "https://collections.europarchive.org/nli/20141013204117/http://x.ie/?a=b#c",
            "https://wayback.archive-it.org/10702/20141013204117/http://x.ie/?a=b#c",
        ),
        (
            "http://www.collectionscanada.gc.ca/webarchives/20060114023625/http://x.ca/",
            "https://webarchiveweb.wayback.bac-lac.canada.ca/web/20060114023625/http://x.ca/",
        ),
        (
            "http://webarchive.bac-lac.gc.ca:8080/wayback/20060114023625/http://x.ca/",
            "https://webarchiveweb.wayback.bac-lac.canada.ca/web/20060114023625/http://x.ca/",
        ),
        (
            "https://swap.stanford.edu/19951222000000/http://x.edu/",
            "https://swap.stanford.edu/was/19951222000000/http://x.edu/",
        ),
        ("https://swap.stanford.edu/was/19951222000000/http://x.edu/", None),
        ("https://swap.stanford.edu/", None),
        ("http://collections.europarchive.org/other/20141013204117/http://x/", None),
        ("http://webarchive.proni.gov.uk.example/20100218151844/http://x/", None),
        ("https://example.com/", None),
        ("http://[", None),
        ("", None),
    ],
)
def test_dead_links_are_relocated(dead: str, living: str | None) -> None:
    assert KNOWN.relocated(dead) == living


def test_the_host_of_a_dead_link_finds_the_archive_that_moved() -> None:
    for entry in KNOWN.entries:
        for move in entry.relocations:
            host = move.dead.partition("//")[2].partition("/")[0]
            assert archive_of(KNOWN.by_host(bare_host(host))) == entry.id, move.dead


def test_a_relocated_link_is_not_relocated_again() -> None:
    for entry in KNOWN.entries:
        for move in entry.relocations:
            assert KNOWN.relocated(f"{move.living}20100218151844/http://x/") is None


def test_a_hosted_archive_shares_the_host_of_another() -> None:
    host = minimal()
    hosted = minimal(id="hosted", hosted_by="mine")

    registry = Registry([host, hosted])

    assert registry.by_host("wayback.local") is host


def test_all_archives_at_a_shared_host_are_listed_in_order() -> None:
    tables = [
        {"id": name, "kind": "memento", "timegate": f"http://{host}/{name}/"}
        for name, host in (("a", "s.example"), ("b", "s.example"), ("c", "other.example"))
    ]
    entries = [entry_from(table, "x.toml") for table in tables]
    registry = Registry(entries, shared_hosts=True)

    assert [entry.id for entry in registry.at_host("S.example:8080")] == ["a", "b"]
    assert [entry.id for entry in registry.at_host("www.other.example")] == ["c"]
    assert registry.at_host("nowhere.example") == ()


def test_the_snapshot_has_the_entries_of_the_files() -> None:
    """Otherwise run ``make known``; a file that is missing in it is read as TOML."""
    from_files = list(known_entries(FOLDER, use_snapshot=False))
    rows = read_snapshot(FOLDER / SNAPSHOT)

    assert list(known_entries(FOLDER)) == from_files
    assert sum(digest in rows for digest, _ in from_files) > len(from_files) * 0.8


def test_a_file_that_was_edited_is_read_itself(tmp_path: Path) -> None:
    text = (FOLDER / "archive-it.toml").read_text("utf-8")
    (tmp_path / "archive-it.toml").write_text(text, "utf-8")
    write_snapshot(tmp_path / SNAPSHOT, list(known_entries(tmp_path)))
    before = [entry for _, entry in known_entries(tmp_path)]

    name = f'name = "{before[0].name}"'
    assert name in text
    (tmp_path / "archive-it.toml").write_text(text.replace(name, 'name = "Edited"'), "utf-8")

    assert before[0].name != "Edited"
    assert [entry.name for _, entry in known_entries(tmp_path)] == ["Edited"]


def test_a_folder_without_a_snapshot_is_read_from_its_files(tmp_path: Path) -> None:
    text = (FOLDER / "archive-it.toml").read_bytes()
    (tmp_path / "archive-it.toml").write_bytes(text)

    entries = [entry for _, entry in known_entries(tmp_path)]

    assert [entry.id for entry in entries] == ["archive-it"]

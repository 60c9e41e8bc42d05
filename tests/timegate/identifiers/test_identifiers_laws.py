"""Properties that hold for every text and every identifier."""

import re
import string
from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st

from archives.diagnostics import Diagnosis, Malformed
from archives.moment import Moment
from archives.registry import load_known
from archives.uri import canonical_uri
from tests.archives.test_moment import moments
from timegate.citations import citation
from timegate.identifiers import parse, parse_wrapped
from timegate.identifiers.duri import Duri, read_common_duri, read_duri
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.pdi import Pdi
from timegate.identifiers.pwid import PRECISIONS, Pwid
from timegate.identifiers.pwid.urn import read_common_urn, read_pwid_urn
from timegate.identifiers.replay_link import ReplayUrl

# Text that resembles an identifier finds more faults than random text.
WORDS = """
    urn: pwid: duri: tdb: pdi:// http:// https:/ www.dr.dk archive.org 2016-01-22 T11:20:29
    _11.20.29 .123 Z +01:00 :page: :part: ~id a.us/1997/09/01/ 1.text.1 * #char=37,51 @103=
    %3F %25 %zz [::1] : / ? = + & # { æ bücher.example ٢ ~ dXJuOnB3aWQ6 /pwid?time= &coverage=
    &item= 2016 id_ http%3A https://web.archive.org/web/ 20160122112029 archive.ph/ %2F
    webcitation.org/5 20161301000000
"""
PIECES = [*WORDS.split(), "\n", " ", "\ud800", "Thu, 31 May 2007", " 20:35:00 GMT"]
REGISTRY = load_known()
texts = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join),
    st.text(string.printable, max_size=60).map(
        "urn:pwid:archive.org:2016-01-22Z:page:".__add__
    ),
)
hosts = st.from_regex(r"[a-z0-9]{1,8}(\.[a-z]{2,6}){1,2}", fullmatch=True)
paths = st.from_regex(
    r"(/([A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2}){0,6}){0,3}", fullmatch=True
)
queries = st.from_regex(
    r"(\?([A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-F]{2}){0,8})?", fullmatch=True
)
urls = st.builds(
    "{}://{}{}{}".format, st.sampled_from(["http", "https"]), hosts, paths, queries
)
pwid_times = moments().filter(lambda m: len(m.digits) in (8, 12, *range(14, 24)))
duri_times = moments().filter(lambda m: len(m.digits) != 10)
pwids = st.builds(
    Pwid,
    hosts.filter(lambda h: not h.rpartition(".")[2].isdecimal()),
    pwid_times,
    st.sampled_from(sorted(PRECISIONS)),
    urls,
)
duris = st.builds(Duri, st.none() | duri_times, urls, st.booleans())


@given(texts)
@example("http://[" + "v" * 100)
@example("urn:pwid:a:2016-01-22Z:page:http://x:" + "0" * 5000)
@example("duri:2016-01-22T11:20:29." + "9" * 8000 + "Z:http://x/")
@example("pdi://a.us/1997/09/01/1.text." + "9" * 5000)
@example("dXJuOnB3aWQ6\ud800")
def test_any_text_is_read_or_rejected_with_a_position_in_it(text: str) -> None:
    for read in (parse, parse_wrapped):
        for strict in (False, True):
            try:
                reading = read(text, REGISTRY, strict=strict)
            except Malformed as complaint:
                assert 0 <= complaint.position <= len(text)
            else:
                assert isinstance(reading, ParsedIdentifier)
                assert all(0 <= d.position <= len(text) for d in reading.diagnostics)
                assert reading.conforming or not strict


@given(texts)
def test_the_canonical_form_reads_as_the_same_identifier(text: str) -> None:
    try:
        identifier = parse(text, REGISTRY).identifier
    except Malformed:
        return
    if identifier.canonical is None:
        assert isinstance(identifier, ReplayUrl)
        return

    again = parse(identifier.canonical).identifier

    assert again == identifier
    assert again.canonical == identifier.canonical
    assert again.time == identifier.time


@given(pwids)
def test_a_written_pwid_reads_as_itself(pwid: Pwid) -> None:
    reading = parse(str(pwid), strict=True)

    assert reading.identifier == pwid
    assert reading.identifier.time == pwid.time
    assert reading.identifier.item == canonical_uri(pwid.item)


@given(duris)
def test_a_written_duri_reads_as_itself(duri: Duri) -> None:
    reading = parse(str(duri))

    assert reading.identifier == duri
    assert reading.identifier.time == duri.time
    assert reading.identifier.item == canonical_uri(duri.item)


@given(urls, pwid_times.filter(lambda m: len(m.digits) >= 14), hosts)
def test_minted_identifiers_conform(original: str, captured: Moment, archive: str) -> None:
    names = citation(original, captured, archive)

    assert parse(str(names.pwid), strict=True).identifier == names.pwid
    assert parse(str(names.duri), strict=True).identifier == names.duri


@given(st.one_of(pwids.map(str), texts))
def test_the_reader_of_common_pwids_agrees_with_the_full_reader(text: str) -> None:
    common = _outcome(lambda: read_common_urn(text))
    if common is None:
        return

    assert common == _outcome(lambda: read_pwid_urn(text, Diagnosis(strict=True)))


@given(st.one_of(duris.map(str), texts))
def test_the_reader_of_common_duris_agrees_with_the_full_reader(text: str) -> None:
    common = _outcome(lambda: read_common_duri(text))
    if common is None:
        return

    assert common == _outcome(lambda: read_duri(text, Diagnosis(strict=True)))


def _outcome(read: Callable[[], ParsedIdentifier | None]) -> object:
    try:
        return read()
    except Malformed as complaint:
        return complaint.code, complaint.position


@given(
    pwids.map(str),
    st.lists(st.integers(1, 60), max_size=4),
    st.sampled_from(["\n", "\r\n", " \n  "]),
)
def test_line_breaks_anywhere_make_no_difference_once_joined(
    text: str, places: list[int], line_break: str
) -> None:
    broken = text
    for place in sorted(places, reverse=True):
        broken = broken[:place] + line_break + broken[place:]

    assert parse_wrapped(broken).identifier == parse(text).identifier


@given(texts)
def test_the_case_of_scheme_and_host_makes_no_difference(text: str) -> None:
    assert (
        parse("HTTP://WWW.Example.ORG/a").identifier
        == parse("http://www.example.org/a").identifier
    )
    try:
        identifier = parse(text).identifier
    except Malformed:
        return
    if not isinstance(identifier, Pdi):
        match = re.match(r"(urn:pwid|duri|tdb|pwid):", text)
        if match:
            folded = match[0].upper() + text[match.end() :]
            assert parse(folded).identifier == identifier

"""The output at a terminal."""

from io import StringIO

import pytest
from click.testing import CliRunner
from rich.text import Text

from archives.errors import Unreachable
from archives.model import Closest, Memento
from archives.registry import Registry, load_known
from archives.source import Request
from timegate.cli import main
from timegate.cli.closest import ArchiveAnswer, as_text
from timegate.cli.output import ProgressLine, Styled, echo, echo_lines, waiting_words
from timegate.cli.plain_result import result_lines
from timegate.cli.terminal import Terminal, show
from timegate.identifiers import parse
from timegate.resolution.model import Attempt, Preferences, Resolution, UnaskedVariant
from timegate.resolution.query import query_for
from timegate.routing.planner import unplanned
from timegate.upstream.exchange_log import UpstreamExchange
from timegate.verdict import verdict
from timegate.verdict.words import DOUBTED

REGISTRY: Registry = load_known()
ASKED = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
QUERY = query_for(parse(ASKED, REGISTRY), REGISTRY)
LINK = "https://arquivo.pt/wayback/20160123040000/http://www.dr.dk"


def found(uri: str = LINK, stamp: str = "20160123040000") -> Attempt:
    memento = Memento(stamp, uri, QUERY.original, "arquivo-pt", 200)
    return Attempt(
        "arquivo-pt", Closest(memento, "timegate", evidence="delivered"), 0.4, QUERY.original
    )


def silent(why: str = "no connection") -> Attempt:
    error = Unreachable("internet-archive", "https://web.archive.org/", why)
    return Attempt("internet-archive", error, 2.0, QUERY.original)


def shown(
    *attempts: Attempt,
    best: Attempt | None = None,
    width: int = 100,
    colour: bool = False,
    doubt: str = "",
) -> str:
    others = tuple(a for a in attempts if isinstance(a.outcome, Closest) and a is not best)
    resolution = Resolution(QUERY, Preferences(), best, others, attempts)
    screen = StringIO()
    console = Terminal(
        file=screen, width=width, highlight=False, force_terminal=colour, no_color=not colour
    )
    show(ASKED, resolution, verdict(resolution, REGISTRY), REGISTRY, console, doubt=doubt)
    return screen.getvalue()


def test_the_memento_is_shown_with_its_verdict_and_the_differences() -> None:
    best = found()

    lines = [line.rstrip() for line in shown(best, silent(), best=best, width=80).splitlines()]

    assert lines == [
        ASKED,
        "  ≈ A substitute from another archive, less than a day away",
        f"  {LINK}",
        "  captured 23 January 2016, 04:00:00 UTC, in Arquivo.pt (Portuguese Web Archive)",
        "  ≈  Time     Requested: 2016-01-22T11:20:29Z. The copy was captured",
        "              2016-01-23T04:00:00Z, 17 hours later.",
        "  ≈  Archive  Requested: archive.org. Found in arquivo.pt instead.",
        "  ≈  Sources  1 of 2 archives did not answer: a better copy may exist.",
        "  No answer from",
        "  Internet Archive Wayback Machine  no connection",
        "  unchecked link: https://web.archive.org/web/20160122112029/http://www.dr.dk",
        "  open the unchecked link in a browser; try again later",
        "",
    ]


def test_other_mementos_are_listed_with_their_distance() -> None:
    best, other = found(), found("https://arquivo.pt/wayback/2017/x", "20170122112029")

    text = shown(best, other, best=best)

    assert "366 days later  https://arquivo.pt/wayback/2017/x" in text


def test_without_a_memento_the_archives_without_an_answer_are_named_in_red() -> None:
    text = shown(silent(), colour=True)

    assert "\x1b[1;31m✘ Not every archive answered" in text
    assert "Wayback Machine" in text


def test_a_copy_is_never_as_requested_if_another_date_may_be_meant() -> None:
    best = found()

    assert "As requested" not in shown(best, best=best, doubt=DOUBTED)
    assert "≈ Found, but another date may be meant" in shown(best, best=best, doubt=DOUBTED)


def test_without_a_memento_variants_that_were_not_queried_are_named() -> None:
    no = Attempt("internet-archive", None, 0.1, QUERY.original)
    spared = (UnaskedVariant("scheme", "https://www.dr.dk", ("arquivo-pt",)),)
    resolution = Resolution(QUERY, Preferences(), None, (), (no,), unasked=spared)
    judged = verdict(resolution, REGISTRY)

    for_pipes = list(result_lines(resolution, judged, REGISTRY))
    screen = StringIO()
    show(ASKED, resolution, judged, REGISTRY, Terminal(file=screen, width=200))

    assert for_pipes == [
        "nothing found",
        "not every archive was queried for https://www.dr.dk",
    ]
    assert "not every one was queried for https://www.dr.dk" in screen.getvalue()


def test_a_link_can_be_opened_also_where_it_is_folded() -> None:
    best = found(f"https://arquivo.pt/wayback/20160123040000/{'x' * 100}")

    text = shown(best, best=best, width=40, colour=True)

    assert text.count(f"\x1b]8;id={text.partition(']8;id=')[2].partition(';')[0]};https://") > 1


@pytest.mark.parametrize("evil", ["\x1b]0;title\x07", "\x9b31m", "[red]x[/red]", "\u202e"])
def test_text_from_archives_is_not_interpreted_by_the_terminal(evil: str) -> None:
    best = found(f"https://arquivo.pt/{evil}")

    text = shown(best, silent(evil), best=best)

    for character in "\x1b\x9b\x07\u202e":
        assert character not in text
    assert "[red]" not in evil or "[red]x[/red]" in text


def lines_of(asked: str, *attempts: Attempt, best: Attempt | None = None) -> list[str]:
    """Return the lines for a reference whose archive is only queried if there is an attempt."""
    query = query_for(parse(asked, REGISTRY), REGISTRY)
    named = REGISTRY.by_id(query.archive or "")
    skip = None if named is None else unplanned(named, Preferences())
    resolution = Resolution(query, Preferences(), best, (), attempts, named_skip=skip)
    return [*result_lines(resolution, verdict(resolution, REGISTRY), REGISTRY)]


@pytest.mark.parametrize(
    ("archive", "why"),
    [
        (
            "archive.org",
            (
                "Internet Archive Wayback Machine, the archive that the reference names, "
                "was not queried"
            ),
        ),
        (
            "gone.example",
            "the archive that the reference names, gone.example, is not registered",
        ),
        ("netarkivet.dk", "Netarkivet (Danish Web Archive) cannot be queried by programs ("),
    ],
)
def test_without_a_memento_the_output_says_why_the_named_archive_gave_no_answer(
    archive: str, why: str
) -> None:
    nothing = Attempt("arquivo-pt", None, 0.4, QUERY.original)

    first, second, *_ = lines_of(ASKED.replace("archive.org", archive), nothing)

    assert first == "nothing found"
    assert second.startswith(why)


UNCHECKED = "https://webarchive.loc.gov/all/20160122112029/http://www.dr.dk"
GATED = ASKED.replace("archive.org", "loc.gov")


def test_the_unchecked_link_to_the_named_archive_is_printed() -> None:
    nothing = Attempt("arquivo-pt", None, 0.4, QUERY.original)

    assert lines_of(GATED, nothing)[2:] == [
        f"unchecked link: {UNCHECKED}",
        "open the unchecked link in a browser",
    ]


def test_a_substitute_is_printed_with_the_unchecked_link() -> None:
    best = found()

    link, _, words, named, unchecked, _ = lines_of(GATED, best, best=best)

    assert link == LINK
    assert words.endswith("the requested archive was not queried")
    assert "was not queried (a bot gate stops programs: 403" in named
    assert unchecked == f"unchecked link: {UNCHECKED}"


def test_an_archive_that_is_read_on_site_is_printed_with_its_advice_once() -> None:
    nothing = Attempt("arquivo-pt", None, 0.4, QUERY.original)

    lines = lines_of(ASKED.replace("archive.org", "netarkivet.dk"), nothing)

    assert len(lines) == 2


def test_holdings_that_programs_may_not_see_are_mentioned() -> None:
    austria = Attempt("onb-austria", None, 0.4, QUERY.original)

    *_, last = lines_of(ASKED.replace("archive.org", "webarchiv.onb.ac.at"), austria)

    assert "shows programs no copy (Austrian libraries" in last


def test_an_archive_that_was_queried_is_not_mentioned_again() -> None:
    assert lines_of(ASKED, Attempt("internet-archive", None, 0.4, QUERY.original)) == [
        "nothing found"
    ]


def test_without_any_query_no_archive_is_said_to_have_answered() -> None:
    assert lines_of("http://www.dr.dk") == ["nothing found: no archive could be queried"]


HOSTILE = "\x1b[31m \x1b]0;title\x07 \x9b2J \u202e \x08 \r \n \u2028 \x7f \ud800"


def is_harmless(written: str) -> bool:
    return all(line.isprintable() for line in written.split("\n"))


def test_a_line_has_no_control_characters_of_foreign_text(
    capsys: pytest.CaptureFixture[str],
) -> None:
    echo("copy: ", HOSTILE)
    echo(HOSTILE, err=True)

    out, err = capsys.readouterr()
    assert out.startswith("copy: \\u001b[31m")
    assert is_harmless(out)
    assert is_harmless(err)
    assert (out.count("\n"), err.count("\n")) == (1, 1)


def test_only_our_own_words_are_coloured() -> None:
    screen = StringIO()
    terminal = Terminal(file=screen, force_terminal=True, width=200)

    terminal.print(Text.assemble((HOSTILE, "red"), HOSTILE), soft_wrap=True)

    ours = screen.getvalue().replace("\x1b[31m", "").replace("\x1b[0m", "")
    assert is_harmless(ours)
    assert ours.count("\n") >= HOSTILE.count("\n")


def test_the_exchanges_of_closest_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    request = Request("GET", f"http://a.example/{HOSTILE}", "memento", {HOSTILE: HOSTILE})
    exchange = UpstreamExchange("a", request, 302, {"location": HOSTILE, "link": HOSTILE})
    failure = Unreachable("a", HOSTILE, HOSTILE)

    echo_lines(as_text(ArchiveAnswer("a", f"http://b/{HOSTILE}", None, failure, [exchange])))

    assert is_harmless(capsys.readouterr().out)


@pytest.mark.parametrize(
    "arguments",
    [
        [HOSTILE],
        [f"--{HOSTILE}"],
        *([command, HOSTILE] for command in ("parse", "cite", "index", "extract", "timemap")),
        ["parse", f"--{HOSTILE}"],
        ["closest", "--demo", HOSTILE, "http://museum.example/"],
        ["closest", "--demo", "harbour", "http://museum.example/", HOSTILE],
        ["resolve", "--demo", HOSTILE],
        ["resolve", "--demo", "--at", HOSTILE, "http://museum.example/"],
        ["serve", "--config", HOSTILE],
        ["check", HOSTILE],
        ["misbehave", HOSTILE],
        ["completion", HOSTILE],
    ],
)
def test_no_command_prints_control_characters_of_its_arguments(arguments: list[str]) -> None:
    # Arguments are octets in UTF-8: lone surrogates are octets that are not.
    ended = CliRunner().invoke(main, [word.replace("\ud800", "\udcff") for word in arguments])

    assert ended.exit_code == 2
    assert is_harmless(ended.output)


def test_words_can_be_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    echo(Styled("found", "green"), f" {HOSTILE}")

    assert capsys.readouterr().out.startswith("found \\u001b")


class FakeTerminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_line_of_progress_is_replaced_and_then_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "21")
    stream = FakeTerminal()

    line = ProgressLine(stream)
    line.show("0 of 2 archives have answered")
    line.show("1 of 2")
    line.clear()

    assert stream.getvalue() == "\r\x1b[K0 of 2 archives have\r\x1b[K1 of 2\r\x1b[K"


def test_a_line_of_progress_executes_nothing_that_an_archive_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = FakeTerminal()

    ProgressLine(stream).show("waiting for \x1b]0;x\x07")

    assert "\x1b" not in stream.getvalue().removeprefix("\r\x1b[K")


@pytest.mark.parametrize(("term", "stream"), [("dumb", FakeTerminal()), ("xterm", StringIO())])
def test_no_progress_is_written_where_a_line_cannot_be_replaced(
    term: str, stream: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    line = ProgressLine(stream)

    line.show("0 of 2")
    line.clear()

    assert (line.is_visible, stream.getvalue()) == (False, "")


@pytest.mark.parametrize(
    ("answered", "waiting", "words"),
    [
        (0, ["A"], "0 of 1 archive has answered, waiting for A"),
        (2, [], "2 of 2 archives have answered"),
        (1, list("ABCDE"), "1 of 6 archives have answered, waiting for A, B, C and 2 more"),
    ],
)
def test_progress_names_the_archives_that_are_waited_for(
    answered: int, waiting: list[str], words: str
) -> None:
    assert waiting_words(answered, waiting) == words

"""The words for people: the page, the command line and the report agree for every verdict."""

from dataclasses import replace
from io import StringIO

import pytest

from archives.model import Evidence
from tests.timegate.resolution.resolutions import (
    REGISTRY,
    asking,
    failed,
    found,
    memento,
    resolved,
)
from timegate.cli.plain_result import result_lines
from timegate.cli.terminal import Terminal, show
from timegate.pages.rendering import Pages
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import answer_view
from timegate.responses.report import report
from timegate.verdict import verdict

SECOND = "20160122112029"
STAMPS = (
    SECOND,
    "20160122112030",
    "20160122232029",
    "20160125112029",
    "20160301112029",
    "20160901112029",
    "20090122112029",
)


def resolution_of(
    stamp: str, archive: str, evidence: Evidence, status: int, when: str | None
) -> Resolution:
    copy = memento(stamp, archive)._replace(status=status)
    query = asking(when, identifier="urn:pwid:...")
    return resolved(query, found(copy, evidence=evidence), failed("nameless"))


@pytest.mark.parametrize("when", [SECOND, "2016", None])
@pytest.mark.parametrize("status", [200, 302, 404])
@pytest.mark.parametrize("evidence", ["promised", "delivered", "held"])
@pytest.mark.parametrize("archive", ["internet-archive", "arquivo-pt"])
def test_the_page_the_command_line_and_the_report_use_the_same_words(
    archive: str, evidence: Evidence, status: int, when: str | None
) -> None:
    for stamp in STAMPS:
        resolution = resolution_of(stamp, archive, evidence, status, when)
        judged = verdict(resolution, REGISTRY)
        view = answer_view(resolution, judged, REGISTRY)
        document = report(resolution, judged, REGISTRY, "http://gate.example")
        screen = StringIO()
        show("id", resolution, judged, REGISTRY, Terminal(file=screen, width=200))
        page = Pages("http://gate.example").render("reference", answer=view, token="")

        assert document["headline"] == view.headline
        assert view.headline in screen.getvalue()
        assert view.headline in page
        assert document["words"] == view.words
        assert view.words in "\n".join(result_lines(resolution, judged, REGISTRY))


def test_a_url_that_differs_in_www_and_in_its_scheme_is_said_to_differ_in_both() -> None:
    copy = memento(SECOND, "internet-archive")._replace(original="http://a.example/")
    query = replace(asking(None), original="https://www.a.example/")
    resolution = resolved(query, found(copy))
    points = answer_view(resolution, verdict(resolution, REGISTRY), REGISTRY).points

    assert [point.sentence for point in points if point.topic == "URL"] == [
        (
            "The URL is a variant of the requested one: www. differs. "
            "The copy is of http://a.example/. http and https differ, too."
        )
    ]

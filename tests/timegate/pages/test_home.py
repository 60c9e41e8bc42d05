"""The front page: complete without scripts, and safe with hostile text."""

import json
from importlib.resources import files
from urllib.parse import quote, urlencode

import pytest

from archives.registry import entry_from
from tests.scenario import NEVER, FakeArchive
from tests.timegate.pages.served_pages import BROWSER, Html, site
from timegate.citations.forms import FORMS_OF_COPIES
from timegate.pages.form import MOST_TEXT
from timegate.pages.rendering import Pages, prepare

EXACT = "20160122112029"
LATER = "20160125112029"
URL = "http://example.org/"
PWID = f"urn:pwid:a.example:2016-01-22T11:20:29Z:page:{URL}"


def asking(q: str, at: str = "") -> str:
    return f"/?q={quote(q, safe='')}" + (f"&at={quote(at)}" if at else "")


async def test_the_front_page_has_one_field_and_a_date() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        seen = await served.ask("/", BROWSER)

    page = Html(seen.body.decode())
    assert seen.status == 200
    shown = [field for field in page.all("input") if field.get("type") != "hidden"]
    assert [field["name"] for field in (*page.all("textarea"), *shown)] == [
        "q",
        "at",
    ]
    # Without scripts, an address could not hold a long text.
    assert page.all("form")[0]["method"] == "post"
    assert "maxlength" not in page.all("textarea")[0]
    assert {label["for"] for label in page.all("label")} == {"q", "at"}


@pytest.mark.parametrize(
    "text",
    [
        PWID,
        "  " + PWID.replace(":page:", ":\r\n   page:") + "\n",
        f"duri:2016-01-22T11:20:29Z:{URL}",
        f"tdb:2016-01-22T11:20:29Z:{URL}",
        f"https://a.host/{EXACT}/{URL}",
        URL,
    ],
)
async def test_the_field_takes_every_kind_of_reference(text: str) -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        seen = await served.ask(asking(text), BROWSER)

    page = Html(seen.body.decode())
    assert seen.status == 200
    assert f"http://a/{EXACT}/{URL}" in page.links
    assert "Open the copy from 22 January 2016, 11:20:29 UTC" in page.text


FORM = ("Content-Type", "application/x-www-form-urlencoded")
LIST = "".join(
    f"* [http://example.org/p{n} Page {n}] retrieved 5 November 2010\r\n" for n in range(300)
)
"""A text that no address can hold: 18,000 characters."""


async def test_a_posted_form_leads_to_the_address_of_its_answer() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        body = urlencode({"q": URL, "at": "2016"}).encode()
        posted = await served.ask("/", BROWSER, FORM, method="POST", body=body)
        empty = await served.ask("/", BROWSER, FORM, method="POST", body=b"q=&at=")
        answer = await served.ask(posted.headers["Location"], BROWSER)

    assert posted.status == 303
    assert posted.headers["Location"] == "/?q=http%3A%2F%2Fexample.org%2F&at=2016"
    assert (empty.status, empty.headers["Location"]) == (303, "/")
    assert "Open the copy from 22 January 2016" in Html(answer.body.decode()).text


async def test_a_text_that_no_address_can_hold_is_answered_whole() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        body = urlencode({"q": LIST, "at": ""}).encode()
        seen = await served.ask("/", BROWSER, FORM, method="POST", body=body)

    page = Html(seen.body.decode())
    assert seen.status == 200
    assert "Your text has 300 references" in page.text
    assert page.text.count("5 November 2010, the date of access") == 300


async def test_a_long_text_with_one_reference_is_searched_for_at_once() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        text = "Lorem ipsum dolor sit amet. " * 400 + f"\n{URL} (accessed 22 January 2016)"
        body = urlencode({"q": text}).encode()
        seen = await served.ask("/", ("Accept", "*/*"), FORM, method="POST", body=body)

    page = Html(seen.body.decode())
    assert seen.status == 200
    assert "Open the copy from 22 January 2016" in page.text
    assert f"Reference found in your text: {URL}" in page.text


async def test_a_text_beyond_the_limit_is_refused_with_a_way_that_reads_it() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        body = urlencode({"q": "x" * MOST_TEXT + "yz"}).encode()
        seen = await served.ask("/", BROWSER, FORM, method="POST", body=body)

    page = Html(seen.body.decode())
    assert seen.status == 413
    assert "It has 100,002 characters, and this page reads 100,000." in page.text
    assert "timegate resolve --batch FILE" in page.text


async def test_line_breaks_of_a_posted_text_count_once() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        text = f"{URL}" + "\r\n" * (MOST_TEXT - len(URL) - 1) + "x"
        body = urlencode({"q": text}).encode()
        seen = await served.ask("/", BROWSER, FORM, method="POST", body=body)

    assert seen.status == 200


async def test_a_list_sent_to_the_page_is_told_where_lists_are_read() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        seen = await served.ask("/", FORM, method="POST", body=b"http://example.org/\n")

    assert seen.status == 400
    assert "send a list to POST /resolve" in json.loads(seen.body)["detail"]


async def test_a_problem_page_searches_again_for_the_reference_and_names_the_wait() -> None:
    async with site(FakeArchive("a", NEVER)) as served:
        short = await served.ask(f"/resolve/duri:2010:{URL}?wait=0.1", BROWSER)
        usual = await served.ask(f"/resolve/duri:2010:{URL}", BROWSER)

    page = Html(short.body.decode())
    assert short.status == usual.status == 504
    assert "This address gives archives 0.1 s: wait=30 gives them more." in page.text
    assert f"duri:2010:{URL}" in page.text
    assert "wait=" not in Html(usual.body.decode()).text


async def test_a_url_is_resolved_at_the_date_beside_it() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT, "20050613120000"))) as served:
        seen = await served.ask(asking(URL, "June 2005"), BROWSER)

    page = Html(seen.body.decode())
    assert f"http://a/20050613120000/{URL}" in page.links
    assert "As requested Within the requested time, same URL." in page.text


async def test_a_reference_in_a_sentence_is_found_and_shown() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT, "20050613120000"))) as served:
        dated = await served.ask(asking(f"{URL} June 2005"), BROWSER)
        cited = await served.ask(asking(f"Smith, J.: Title. {PWID}. (Online.)"), BROWSER)

    assert f"http://a/20050613120000/{URL}" in Html(dated.body.decode()).links
    assert f"http://a/{EXACT}/{URL}" in Html(cited.body.decode()).links
    assert f"Reference found in your text: {PWID}" in Html(cited.body.decode()).text


async def test_a_date_beside_a_dated_reference_is_ignored_with_a_note() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT, "20050613120000"))) as served:
        seen = await served.ask(asking(PWID, "2005"), BROWSER)

    page = Html(seen.body.decode())
    assert f"http://a/{EXACT}/{URL}" in page.links
    assert "the other date was ignored" in page.text


async def test_the_verdict_is_shown_in_words_with_each_member_explained() -> None:
    archives = (FakeArchive("a", 0.0), FakeArchive("b", 0.0, (LATER,)))
    async with site(*archives) as served:
        seen = await served.ask(asking(PWID), BROWSER)

    page = Html(seen.body.decode())
    assert "A substitute from another archive" in page.text
    assert "3 days later, in another archive, same URL." in page.text
    assert (
        "Requested: 2016-01-22T11:20:29Z. The copy was captured 2016-01-25T11:20:29Z, 3 days"
        in page.text
    )
    assert "Requested: a.example. Found in b.example instead." in page.text


async def test_all_archives_are_queried_even_if_one_has_an_exact_memento() -> None:
    archives = (
        FakeArchive("a", 0.0, (EXACT,)),
        FakeArchive("b", 0.02, (LATER,)),
        FakeArchive("c", 0.0, error=True),
        FakeArchive("d", NEVER, (EXACT,)),
    )
    async with site(*archives) as served:
        seen = await served.ask(asking(PWID), BROWSER)

    page = Html(seen.body.decode())
    assert "Exactly as requested" in page.text
    assert f"http://b/{LATER}/{URL}" in page.links
    assert "2 of 4 did not answer: c (it is down) d (no answer in time)" in page.text


async def test_repairs_are_shown_with_their_position_and_without_names_for_programs() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        seen = await served.ask(asking(PWID.replace("29Z", "29")), BROWSER)

    page = Html(seen.body.decode())
    assert "Repaired:" in page.text
    assert "(character 39)" in page.text
    assert "The reference was malformed and was repaired." in page.text
    assert "missing-zone" not in page.text


async def test_every_text_to_copy_has_a_button() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        seen = await served.ask(asking(PWID), BROWSER)

    page = Html(seen.body.decode())
    copied = [one["data-copy"] for one in page.all("button") if "data-copy" in one]
    assert copied == [one["id"] for one in page.all("pre")]
    assert len(copied) == len(FORMS_OF_COPIES)
    assert PWID in page.text


async def test_a_mistake_is_marked_at_its_character() -> None:
    wrong = PWID.replace("01-22", "02-30")
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        typed = await served.ask(asking(wrong), BROWSER)
        linked = await served.ask(f"/resolve/{wrong}", BROWSER)
        program = await served.ask(f"/resolve/{wrong}")

    assert typed.status == linked.status == program.status == 400
    for seen in (typed, linked):
        body = seen.body.decode()
        assert "2016-02-<mark>3</mark>0T11:20:29Z" in body
        assert Html(body).all("textarea")
    assert "Correct it below" in linked.body.decode()
    assert program.headers["Content-Type"] == "application/problem+json"
    assert "accept" in program.headers["Vary"]
    assert json.loads(program.body)["position"]


@pytest.mark.parametrize(
    ("q", "at", "status", "words"),
    [
        ("duri:2016:mailto:a@b.c", "", 422, "http and https"),
        (URL, "31 June 2005", 400, "The date cannot be read"),
        (URL, "next tuesday or so", 400, "The date cannot be read"),
        (URL, "9" * 65, 400, "too long for a date"),
        ("not an identifier", "", 400, "There is no link in this text"),
        ("hello", "", 400, "There is no link in this text"),
        ("\U0001f600", "", 400, "There is no link in this text"),
        ("http://", "", 400, "The reference cannot be read"),
        ("https://a.host/20160122112029/", "", 400, "does not say which page"),
        ("Thu, 31 May 2007 20:35:00 GMT", "", 422, "of which URL"),
    ],
)
async def test_unusable_input_is_explained(q: str, at: str, status: int, words: str) -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        seen = await served.ask(asking(q, at), BROWSER)

    assert seen.status == status
    assert words in Html(seen.body.decode()).text


async def test_without_a_memento_the_page_says_whether_all_archives_answered() -> None:
    async with site(FakeArchive("a", 0.0), FakeArchive("b", 0.0)) as served:
        absent = await served.ask(asking(PWID), BROWSER)
    async with site(FakeArchive("a", 0.0), FakeArchive("b", 0.0, error=True)) as served:
        unknown = await served.ask(asking(PWID), BROWSER)

    assert absent.status == 404
    assert "No archive that was queried holds a copy" in Html(absent.body.decode()).text
    assert "What to do: Try another spelling" in Html(absent.body.decode()).text
    assert unknown.status == 504
    assert "Not every archive answered" in Html(unknown.body.decode()).text


HOSTILE = "http://example.org/<script>alert(1)</script>'\"><img src=x onerror=y>"


OFF = entry_from(
    {
        "id": "off",
        "name": "The <Other> Archive",
        "kind": "memento",
        "use": False,
        "because": "too slow",
        "timegate": "https://off.host/",
        "replay": "https://off.host/{time14}/{uri}",
        "pwid": ["off.example"],
    },
    "a test",
)


@pytest.mark.parametrize("stamps", [(), ("20160123000000",)])
@pytest.mark.parametrize("path", ["/?q=", "/"])
async def test_an_archive_that_was_not_queried_is_linked_and_marked(
    path: str, stamps: tuple[str, ...]
) -> None:
    text = "urn:pwid:off.example:2016-01-22T11:20:29Z:page:http://example.org/"
    async with site(FakeArchive("a", 0.0, stamps), extra=(OFF,)) as running:
        seen = await running.ask(f"{path}{text}", BROWSER)

    page = seen.body.decode()
    uri = "https://off.host/20160122112029/http://example.org/"
    assert seen.status == (200 if stamps else 404)
    assert f'href="{uri}"' in page
    assert "Unchecked link to the cited copy at The &lt;Other&gt; Archive" in page
    assert "too slow" in page
    assert "use = true in the [[archive]]" in page


@pytest.mark.parametrize("page", ["/", "/resolve/", "/list/2016/"])
async def test_hostile_text_from_archives_is_escaped(page: str) -> None:
    hostile = "http://example.org/%3Cscript%3E'onload=x&b=%22"
    nasty = FakeArchive('<b onclick="x">', 0.0, (LATER,), holds=hostile)
    worse = FakeArchive(
        "b", 0.0, (LATER,), holds=hostile, doubts=("<script>alert(2)</script>",)
    )
    target = asking(f"duri:2010:{hostile}") if page == "/" else f"{page}{hostile}"
    async with site(nasty, worse) as served:
        seen = await served.ask(target + ("?as=html" if page == "/resolve/" else ""), BROWSER)

    html = Html(seen.body.decode())
    assert seen.status == 200
    assert [one for one in html.all("script") if "src" not in one] == []
    assert html.all("b") == []
    assert not any(name.startswith("on") for _, attrs in html.tags for name in attrs)
    assert not any("style" in attributes for _, attributes in html.tags)
    assert all(link.startswith(("http://", "https://", "/", "#")) for link in html.links)


async def test_an_archive_that_is_only_read_on_site_is_named_as_not_asked() -> None:
    vault = entry_from(
        {
            "id": "vault",
            "name": "The Vault",
            "kind": "warc",
            "path": "/vault",
            "use": True,
            "access": "onsite-only",
            "apply": "Ask at the desk.",
        },
        "a test",
    )
    async with site(FakeArchive("a", 0.0), extra=(vault,)) as served:
        seen = await served.ask(asking(URL), BROWSER)

    assert "The Vault: Ask at the desk." in Html(seen.body.decode()).text


async def test_an_index_page_without_a_copy_may_be_filed_under_its_folder() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        seen = await served.ask(asking("http://example.org/b/index.html"), BROWSER)
        other = await served.ask(asking("http://example.org/b/page.html"), BROWSER)

    words = "may be the same page, and was not searched for"
    assert f"http://example.org/b/ {words}" in Html(seen.body.decode()).text
    assert words not in Html(other.body.decode()).text


async def test_hostile_input_is_escaped() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        seen = await served.ask(asking(HOSTILE, "<script>"), BROWSER)
        address = await served.ask("/resolve/" + quote(HOSTILE), BROWSER)

    for one in (seen, address):
        html = Html(one.body.decode())
        assert one.status == 400
        assert [script for script in html.all("script") if "src" not in script] == []
        assert [image["src"] for image in html.all("img")] == [
            f"/static/{_version(html)}/icon.svg"
        ]


def _version(html: Html) -> str:
    return str(html.all("script")[0]["src"]).split("/")[2]


async def test_an_address_without_http_is_no_link() -> None:
    class Lying(FakeArchive):
        def captures(self, original: str):  # type: ignore[no-untyped-def]
            return [
                one._replace(uri="javascript:alert(1)") for one in super().captures(original)
            ]

    async with site(Lying("a", 0.0, (EXACT,)), Lying("b", 0.0, (LATER,))) as served:
        seen = await served.ask(asking(PWID), BROWSER)

    html = Html(seen.body.decode())
    assert not any("javascript" in link for link in html.links)
    assert "gives an address for the copy that is not a web address" in html.text


async def test_the_content_security_policy_forbids_other_sources() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,))) as served:
        pages = [
            await served.ask(target, BROWSER)
            for target in (
                "/",
                asking(PWID),
                "/archives",
                "/archives/a",
                f"/list/2016/{URL}",
                "/nothing-here",
            )
        ]

    for seen in pages:
        html = Html(seen.body.decode())
        assert seen.headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert seen.headers["Referrer-Policy"] == "no-referrer"
        assert "style" not in [tag for tag, _ in html.tags]
        sources = [
            *(one["src"] for one in (*html.all("script"), *html.all("img"))),
            *(one["href"] for one in html.all("link")),
        ]
        assert all(str(source).startswith("/static/") for source in sources)


async def test_static_files_with_a_version_are_cached_for_a_year() -> None:
    async with site(FakeArchive("a", 0.0)) as served:
        front = Html((await served.ask("/", BROWSER)).body.decode())
        style = str(next(one for one in front.all("link"))["href"])
        seen = await served.ask(style)
        again = await served.ask(style, ("If-None-Match", seen.headers["ETag"]))
        older = await served.ask("/static/0000/site.css")
        missing = await served.ask("/static/0000/../pages.py")

    assert seen.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in seen.headers["Cache-Control"]
    assert (again.status, again.body) == (304, b"")
    assert older.headers["Cache-Control"] == "no-cache"
    assert missing.status == 404


async def test_a_list_is_a_page_for_browsers_and_json_for_programs() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,)), FakeArchive("b", 0.0, (LATER,))) as served:
        page = await served.ask(f"/list/{EXACT}/{URL}", BROWSER)
        program = await served.ask(f"/list/{EXACT}/{URL}")

    html = Html(page.body.decode())
    assert [link for link in html.links if link.startswith("http")] == [
        f"http://a/{EXACT}/{URL}",
        f"http://b/{LATER}/{URL}",
    ]
    assert html.all("figure")[0]["data-source"] == f"/timeline/{URL}"
    assert json.loads(program.body)["archives"]
    assert f"/?q={quote('duri:2016-01-22T11:20:29Z:' + URL)}" in html.links


async def test_the_list_for_people_measures_from_the_interval_that_its_answer_asked_for() -> (
    None
):
    stamps = ("20151201112029", LATER, "20160304112029")
    archives = [FakeArchive(f"a{n}", 0.0, (stamp,)) for n, stamp in enumerate(stamps)]
    async with site(*archives) as served:
        answer = Html((await served.ask(asking(URL, "January 2016"), BROWSER)).body.decode())
        listed = next(link for link in answer.links if link.startswith("/list/"))
        page = Html((await served.ask(listed, BROWSER)).body.decode())

    assert "nearest to January 2016 first" in page.text
    for distance in ("within the requested time", "32 days later"):
        assert distance in page.text
        assert distance in answer.text or distance.startswith("within")


async def test_the_timeline_is_that_of_the_url_variant_that_archives_hold() -> None:
    async with site(FakeArchive("a", 0.0, (EXACT,), holds="http://www.example.org/")) as served:
        seen = await served.ask(asking(f"duri:2016:{URL}"), BROWSER)

    html = Html(seen.body.decode())
    assert "www. differs" in html.text
    assert html.all("figure")[0]["data-source"] == "/timeline/http://www.example.org/"


def test_links_keep_the_path_of_the_base_url() -> None:
    pages = Pages("https://gate.example/time/")
    page = Html(pages.render("archives", in_use=[], not_in_use=[]))

    assert all(link.startswith(("/time/", "#")) for link in page.links)
    assert all(str(one["src"]).startswith("/time/static/") for one in page.all("script"))


def test_every_template_compiles_and_none_disables_escaping() -> None:
    prepare()
    templates = files("timegate.pages").joinpath("templates")
    for template in templates.iterdir():
        text = template.read_text()
        assert "|safe" not in text.replace(" ", "")
        assert "autoescape" not in text

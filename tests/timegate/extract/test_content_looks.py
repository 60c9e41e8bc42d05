"""Looking at the content of copies, over fake archives."""

from dataclasses import replace
from datetime import timedelta
from hashlib import sha1
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from archives.errors import Resting, Unreachable
from archives.model import Memento
from archives.moment import Moment, second_of
from archives.source import Request
from tests.fakes import Canned
from tests.quality.frames import TUNED, framed, site
from tests.quality.texts import article
from tests.timegate.extract.page_archives import AT, PAGE, Held, PageArchive, core_over
from timegate.content.comparison import Comparison
from timegate.content.findings import UnreadCopy
from timegate.content.fragments import TextQuote
from timegate.resolution.context import REQUESTS_PER_CHARGE, UNLIMITED, Budget, RequestContext
from timegate.resolution.model import Preferences, Resolution
from timegate.resolution.query import query_for_url
from timegate.server.client_quota import ClientQuota, ClientQuotas
from timegate.verdict import header, verdict

BEFORE, AFTER = "20081120000000", "20081210000000"
LOOKING = Preferences(verify="content")


def text(number: int, day: int = 1) -> bytes:
    """Return an article; *day* is what changes from day to day."""
    random = Random(number)  # noqa: S311 -- a page of a test
    sentences = article(random, "en", 14)
    return framed(TUNED["blog"], site(random), f"Article {number}", sentences, shape=1, day=day)


PARKED = (
    b"<title>shop.example</title><h1>shop.example</h1><p>This domain is for sale. "
    b"Buy this domain.<p>Related searches"
)


def html(stamp: str, body: bytes, status: int = 200) -> Held:
    digest = sha1(body, usedforsecurity=False).hexdigest()
    return Held(PAGE, stamp, body, "text/html; charset=utf-8", status, digest=digest)


async def looked(
    folder: Path, *archives: PageArchive, preferences: Preferences = LOOKING
) -> Resolution:
    async with core_over(folder, *archives) as core:
        query = query_for_url(PAGE, Moment(AT))
        resolution = await core.resolver.resolve(query, preferences, UNLIMITED)
        assert "comparison=" in header(verdict(resolution, core.registry))
        return resolution


def found(resolution: Resolution) -> Comparison:
    assert resolution.comparison is not None
    return resolution.comparison


async def test_the_same_octets_on_both_sides_are_seen_in_the_index(tmp_path: Path) -> None:
    body = text(1)
    archive = PageArchive("one", (html(BEFORE, body), html(AFTER, body)), has_index=True)

    comparison = found(await looked(tmp_path, archive))

    assert (comparison.value, comparison.basis) == ("same-around", "digest")
    assert comparison.before is not None
    assert comparison.after is not None
    assert (comparison.before.stamp, comparison.after.stamp) == (BEFORE, AFTER)
    assert comparison.page_class is None


async def test_equal_digests_are_read_once(tmp_path: Path) -> None:
    body = text(1)
    archive = PageArchive("one", (html(BEFORE, body), html(AFTER, body)), has_index=True)

    await looked(tmp_path, archive)

    assert (
        len([line for line in archive.journal if line.startswith("GET") and "id_" in line]) == 1
    )


async def test_the_same_text_with_other_advertisements_is_similar(tmp_path: Path) -> None:
    held = (html(BEFORE, text(1, 1)), html(AFTER, text(1, 2)))

    comparison = found(await looked(tmp_path, PageArchive("one", held, has_index=True)))

    assert (comparison.value, comparison.basis) == ("similar-around", "text")
    assert comparison.similarity is not None
    assert comparison.similarity > 80
    assert comparison.title.startswith("Article 1")
    assert comparison.language == "en"


async def test_another_text_on_the_other_side_has_changed(tmp_path: Path) -> None:
    held = (html(BEFORE, text(1)), html(AFTER, text(2)))

    comparison = found(await looked(tmp_path, PageArchive("one", held, has_index=True)))

    assert comparison.value == "changed"
    assert comparison.page_class is None


async def test_a_parked_domain_is_passed_over_for_the_page(tmp_path: Path) -> None:
    held = (html(BEFORE, PARKED), html(AFTER, text(1)))

    resolution = await looked(tmp_path, PageArchive("one", held, has_index=True))

    comparison = found(resolution)
    assert resolution.memento is not None
    assert resolution.memento.stamp == AFTER
    assert comparison.instead is not None
    assert (comparison.instead.stamp, comparison.instead_of) == (BEFORE, "parked")
    assert comparison.page_class is None


SOFT_404 = (
    b"<title>Page not found</title><h1>Page not found</h1><p>The page you requested has been "
    b"moved or deleted."
)


async def test_an_error_page_in_the_middle_of_a_history_is_passed_over(tmp_path: Path) -> None:
    later = "20090301000000"
    held = (html(BEFORE, text(1)), html(AFTER, SOFT_404), html(later, text(1, 2)))

    comparison = found(await looked(tmp_path, PageArchive("one", held, has_index=True)))

    assert (comparison.value, comparison.basis) == ("similar-around", "text")
    assert comparison.after is not None
    assert (comparison.after.stamp, comparison.after_class) == (later, None)


async def test_a_domain_that_was_parked_later_is_named(tmp_path: Path) -> None:
    held = (html(BEFORE, text(1)), html(AFTER, PARKED), html("20090301000000", PARKED))

    resolution = await looked(tmp_path, PageArchive("one", held, has_index=True))

    comparison = found(resolution)
    assert (comparison.value, comparison.after_class) == ("changed", "parked")
    assert resolution.memento is not None
    assert resolution.memento.stamp == BEFORE


async def test_the_page_of_another_archive_is_taken(tmp_path: Path) -> None:
    one = PageArchive("one", (html(BEFORE, PARKED),))
    two = PageArchive("two", (html(AFTER, text(1)),))

    resolution = await looked(tmp_path, one, two)

    assert resolution.memento is not None
    assert resolution.memento.archive == "two"
    assert [each.archive for each in resolution.alternatives] == ["one"]
    assert found(resolution).instead_of == "parked"


async def test_a_copy_of_the_requested_time_stays_whatever_it_shows(tmp_path: Path) -> None:
    held = (html(AT, PARKED), html(AFTER, text(1)))

    resolution = await looked(tmp_path, PageArchive("one", held, has_index=True))

    assert resolution.memento is not None
    assert resolution.memento.stamp == AT
    assert found(resolution).page_class == "parked"
    assert found(resolution).evidence


async def test_a_client_that_wants_the_day_gets_no_other_copy(tmp_path: Path) -> None:
    held = (html("20081129000000", PARKED), html(AFTER, text(1)))
    wanted = replace(LOOKING, precision="day")

    resolution = await looked(
        tmp_path, PageArchive("one", held, has_index=True), preferences=wanted
    )

    assert resolution.memento is not None
    assert resolution.memento.stamp == "20081129000000"


async def test_two_archives_of_the_same_day_corroborate_each_other(tmp_path: Path) -> None:
    one = PageArchive("one", (html(BEFORE, text(1, 1)),))
    two = PageArchive("two", (html("20081119120000", text(1, 2)),))

    comparison = found(await looked(tmp_path, one, two))

    assert comparison.corroborated == ("two",)
    assert comparison.dissent == ()


async def test_one_archive_that_dissents_is_named(tmp_path: Path) -> None:
    one = PageArchive("one", (html(BEFORE, text(1, 1)),))
    two = PageArchive("two", (html("20081119120000", text(1, 2)),))
    liar = PageArchive("liar", (html("20081119180000", text(7)),))

    comparison = found(await looked(tmp_path, one, two, liar))

    assert comparison.dissent == ("liar",)


async def test_two_archives_that_differ_are_no_dissent(tmp_path: Path) -> None:
    one = PageArchive("one", (html(BEFORE, text(1)),))
    two = PageArchive("two", (html("20081119120000", text(7)),))

    comparison = found(await looked(tmp_path, one, two))

    assert comparison.dissent == comparison.corroborated == ()


async def test_a_single_copy_is_alone(tmp_path: Path) -> None:
    comparison = found(await looked(tmp_path, PageArchive("one", (html(BEFORE, text(1)),))))

    assert comparison.value == "alone"


async def test_a_copy_that_is_not_html_was_not_looked_at(tmp_path: Path) -> None:
    archive = PageArchive("one", (Held(PAGE, BEFORE, b"\x89PNG", "image/png"),))

    comparison = found(await looked(tmp_path, archive))

    assert comparison.value == "not-looked"
    assert "image/png" in comparison.failure


async def test_an_archive_that_delivers_no_bytes_decides_nothing(tmp_path: Path) -> None:
    one = PageArchive("one", (html(BEFORE, text(1)),))
    two = PageArchive("two", (html(AFTER, text(2)),), loses=(PAGE,))

    comparison = found(await looked(tmp_path, one, two))

    assert comparison.value == "alone"


async def test_at_most_eight_requests_are_sent_to_look(tmp_path: Path) -> None:
    stamps = [f"200811{day:02}000000" for day in range(1, 28)]
    held = tuple(html(stamp, PARKED + stamp.encode()) for stamp in stamps)
    archives = [PageArchive(name, held, has_index=True) for name in ("one", "two", "three")]
    async with core_over(tmp_path, *archives) as core:
        query = query_for_url(PAGE, Moment(AT))
        await core.resolver.resolve(query, Preferences(verify="head"), UNLIMITED)
        before = sum(len(archive.journal) for archive in archives)
        await core.resolver.resolve(query, LOOKING, UNLIMITED)
        after = sum(len(archive.journal) for archive in archives)

    assert 0 < after - before <= 8


class ShakyArchive(PageArchive):
    """Answers requests for bytes with a redirect, an overload, or the bytes, in turn."""

    def answer(self, request: Request) -> Canned | Unreachable:
        answer = super().answer(request)
        if "id_/" not in request.url or request.method != "GET":
            return answer
        number = sum("id_/" in line for line in self.journal)
        if number % 3 == 1:
            return Canned(302, {"Location": f"{request.url}?again"})
        if number % 3 == 2:
            return Canned(503, {"Retry-After": "0"})
        return answer


async def test_redirects_and_retries_count_among_the_eight_requests(tmp_path: Path) -> None:
    stamps = [f"200811{day:02}000000" for day in range(1, 28)]
    held = tuple(html(stamp, PARKED + stamp.encode()) for stamp in stamps)
    names = ("one", "two", "three")
    archives = [ShakyArchive(name, held, has_index=True) for name in names]
    async with core_over(tmp_path, *archives) as core:
        query = query_for_url(PAGE, Moment(AT))
        await core.resolver.resolve(query, Preferences(verify="head"), UNLIMITED)
        before = sum(len(archive.journal) for archive in archives)
        resolution = await core.resolver.resolve(query, LOOKING, UNLIMITED)
    sent = [line for archive in archives for line in archive.journal]

    assert any(line.endswith("?again") for line in sent)
    assert 0 < len(sent) - before <= 8
    assert found(resolution).value in ("not-looked", "alone", "similar-around", "changed")


async def test_large_copies_stay_within_two_megabytes(tmp_path: Path) -> None:
    large = text(1) + b"<!-- " + b"x" * 3_000_000
    stamps = (BEFORE, AFTER, "20081119120000", "20081121000000")
    archives = [PageArchive(f"a{n}", (html(s, large),)) for n, s in enumerate(stamps)]

    comparison = found(await looked(tmp_path, *archives))

    assert "octets" in comparison.failure or "budget" in comparison.failure


async def test_what_was_read_before_is_not_read_again(tmp_path: Path) -> None:
    archive = PageArchive("one", (html(BEFORE, text(1)), html(AFTER, text(2))), has_index=True)
    async with core_over(tmp_path, archive) as core:
        query = query_for_url(PAGE, Moment(AT))
        first = await core.resolver.resolve(query, LOOKING, UNLIMITED)
        archive.journal.clear()
        second = await core.resolver.resolve(query, LOOKING, UNLIMITED)

    assert not [line for line in archive.journal if line.startswith("GET") and "id_" in line]
    assert found(first).value == found(second).value == "changed"


async def test_only_cached_answers_say_that_nothing_was_looked_at(tmp_path: Path) -> None:
    archive = PageArchive("one", (html(BEFORE, text(1)),))
    async with core_over(tmp_path, archive) as core:
        query = query_for_url(PAGE, Moment(AT))
        await core.resolver.resolve(query, Preferences(), UNLIMITED)
        wanted = replace(LOOKING, only_if_cached=True)
        resolution = await core.resolver.resolve(query, wanted, UNLIMITED)

    assert found(resolution).value == "not-looked"


def limited(burst: int) -> tuple[ClientQuotas, RequestContext]:
    """Return the quotas of clients, of which one has *burst* cold queries left and no more."""
    quotas = ClientQuotas(per_minute=0.001, burst=burst)
    return quotas, structs.replace(UNLIMITED, quota=ClientQuota("client", quotas))


def left(quotas: ClientQuotas) -> int:
    """Return how many cold queries the client has left."""
    number = 0
    while not quotas.take("client"):
        number += 1
    return number


def many_copies() -> list[PageArchive]:
    stamps = [f"200811{day:02}000000" for day in range(1, 28)]
    held = tuple(html(stamp, PARKED + stamp.encode()) for stamp in stamps)
    return [PageArchive(name, held, has_index=True) for name in ("one", "two", "three")]


async def test_requests_for_copies_are_charged_to_the_quota_of_the_client(
    tmp_path: Path,
) -> None:
    archives = many_copies()
    quotas, context = limited(10)
    async with core_over(tmp_path, *archives) as core:
        query = query_for_url(PAGE, Moment(AT))
        await core.resolver.resolve(query, LOOKING, context)
    reads = sum(
        line.startswith("GET") and "id_/" in line
        for archive in archives
        for line in archive.journal
    )

    assert 0 < reads <= REQUESTS_PER_CHARGE
    # One for the search, and one for the copies.
    assert left(quotas) == 10 - 2


async def test_each_four_requests_for_copies_cost_one_cold_query() -> None:
    quotas, context = limited(10)
    budget = Budget(9, 1000, context.quota)
    for number in range(9):
        await budget.draw_paid("one", f"http://one.example/{number}")

    assert left(quotas) == 10 - 3
    with pytest.raises(Resting, match="budget of upstream requests"):
        await budget.draw_paid("one", "http://one.example/")


async def test_a_client_without_quota_reads_no_copy_and_is_told_so(tmp_path: Path) -> None:
    archives = many_copies()
    _, context = limited(1)
    async with core_over(tmp_path, *archives) as core:
        query = query_for_url(PAGE, Moment(AT))
        resolution = await core.resolver.resolve(query, LOOKING, context)

    assert not any(
        line.startswith("GET") and "id_/" in line for a in archives for line in a.journal
    )
    assert found(resolution).value == "not-looked"
    assert "quota of this client is used up" in found(resolution).failure


async def test_a_quotation_and_a_difference_are_charged_as_well(tmp_path: Path) -> None:
    archives = [PageArchive("one", (html(BEFORE, text(1)), html(AFTER, text(2))))]
    first, second = (
        Memento(stamp, f"http://one.example/web/{stamp}/{PAGE}", PAGE, "one")
        for stamp in (BEFORE, AFTER)
    )
    async with core_over(tmp_path, *archives) as core:
        quotas, context = limited(5)
        wanted = Preferences(quote=TextQuote("a sentence that is nowhere on the page"))
        resolution = await core.resolver.resolve(
            query_for_url(PAGE, Moment(AT)), wanted, context
        )
        assert resolution.quote is not None
        assert left(quotas) == 5 - 2

        quotas, context = limited(1)
        assert not isinstance(await core.texts.diff(first, second, context), UnreadCopy)
        assert left(quotas) == 0

        refused = await core.texts.diff(second, first, limited(0)[1])
    assert isinstance(refused, UnreadCopy)
    assert "quota of this client is used up" in refused.why


DAYS = st.lists(
    st.tuples(
        st.integers(-14, 14).filter(bool),
        st.sampled_from("abc"),
        st.sampled_from(["one", "two"]),
        st.sampled_from([200, 200, 200, 404]),
        st.booleans(),
    ),
    max_size=8,
    unique_by=lambda drawn: drawn[::2][:2],
)
"""Captures: days from the requested time, content, archive, status, whether it has a digest."""


@settings(max_examples=15, deadline=None)
@given(DAYS, st.sampled_from(["", "content"]))
async def test_no_resolution_says_same_around_where_the_sides_differ(
    drawn: list[tuple[int, str, str, int, bool]], verify: str
) -> None:
    held: dict[str, list[Held]] = {"one": [], "two": []}
    truth: dict[str, set[tuple[str, int]]] = {}
    for days, content, name, status, has_digest in drawn:
        stamp = f"{second_of(AT) + timedelta(days=days):%Y%m%d%H%M%S}"
        one = html(stamp, text(ord(content)), status)
        held[name].append(one if has_digest else replace(one, digest="-"))
        truth.setdefault(stamp, set()).add((content, status))
    archives = [PageArchive(name, tuple(of), has_index=True) for name, of in held.items()]
    with TemporaryDirectory() as folder:
        async with core_over(Path(folder), *archives) as core:
            preferences = LOOKING if verify else Preferences()
            query = query_for_url(PAGE, Moment(AT))
            resolution = await core.resolver.resolve(query, preferences, UNLIMITED)

    comparison = resolution.comparison
    if comparison is None or comparison.value != "same-around":
        return
    assert comparison.before is not None
    assert comparison.after is not None
    sides = comparison.before.stamp, comparison.after.stamp
    assert sides[0] < AT < sides[1]
    contents = {each for stamp in sides for each in truth[stamp]}
    assert len(contents) == 1
    assert {status for _, status in contents} == {200}
    # Nor is another capture between the two that differs.
    assert not [stamp for stamp in truth if sides[0] < stamp < sides[1]]
    assert resolution.memento is not None
    assert resolution.memento.stamp in sides


class HardArchive(PageArchive):
    """Answers requests for bytes slowly, with a failure, or with too much, in turn."""

    def answer(self, request: Request) -> Canned | Unreachable:
        answer = super().answer(request)
        if "id_/" not in request.url or not isinstance(answer, Canned):
            return answer
        number = sum("id_/" in line for line in self.journal)
        if number % 3 == 1:
            return Unreachable(self.name, request.url, "it is down")
        if number % 3 == 2:
            return Canned(answer.status, answer.headers, b"<p>much</p>" * 300_000)
        return Canned(500)


async def test_copies_that_fail_or_are_too_large_give_no_verdict(tmp_path: Path) -> None:
    """No more than 8 requests are sent, and what could not be read is named."""
    stamps = [f"200811{day:02}000000" for day in range(1, 28)]
    held = tuple(html(stamp, text(1, day)) for day, stamp in enumerate(stamps, 1))
    archives = [HardArchive(name, held, has_index=True) for name in ("one", "two", "three")]
    comparison = found(await looked(tmp_path, *archives))
    sent = [line for archive in archives for line in archive.journal if "id_/" in line]

    assert 0 < len(sent) <= 8
    assert comparison.value in ("not-looked", "alone")
    assert comparison.page_class is None
    assert comparison.failure

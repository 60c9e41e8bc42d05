"""The parts of a page: found, missing, unknown and not looked for, over fake archives."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from msgspec import structs

from archives.errors import ArchiveError
from archives.model import Memento
from archives.moment import Moment
from tests.timegate.extract.page_archives import AT, PAGE, Held, PageArchive, core_over, page
from timegate.parts.composite import CompositeMemento, Part, PartLimits
from timegate.resolution.context import UNLIMITED
from timegate.resolution.model import Preferences
from timegate.resolution.query import query_for_url
from timegate.responses.answers import Answers
from timegate.server.client_quota import QuotaCharge

ROOT = Memento(AT, f"http://one.example/web/{AT}/{PAGE}", PAGE, "one")
IMAGE = "http://shop.example/cat.jpg"
STYLE = "http://shop.example/a.css"


async def parts_of(
    folder: Path, *archives: PageArchive, limits: PartLimits | None = None
) -> CompositeMemento:
    async with core_over(folder, *archives) as core:
        return await core.parts_of(ROOT, UNLIMITED, limits)


def by_url(composite: CompositeMemento) -> Mapping[str, Part]:
    return {part.url: part for part in composite.parts}


def styled(css: str = STYLE) -> Held:
    body = f'<link rel="stylesheet" href="{css}">'.encode()
    return Held(PAGE, AT, body, "text/html")


async def test_each_part_is_found_near_the_time_of_the_page(tmp_path: Path) -> None:
    before, after = "20081101000000", "20090301000000"
    archive = PageArchive("one", (page(IMAGE), Held(IMAGE, before), Held(IMAGE, after)))

    composite = await parts_of(tmp_path, archive)

    (part,) = composite.parts
    assert (part.outcome, part.kind, part.parent) == ("found", "image", PAGE)
    assert part.memento is not None
    assert (part.memento.stamp, part.memento.status) == (before, 200)
    assert part.offset == -2_423_956
    assert part.evidence == "delivered"
    assert part.coherence == "possibly-coherent"


async def test_what_the_archive_of_the_page_lacks_is_looked_for_in_others(
    tmp_path: Path,
) -> None:
    one = PageArchive("one", (page(IMAGE, STYLE), Held(STYLE)))
    two = PageArchive("two", (Held(IMAGE, "20081201000000"), Held(STYLE)))

    found = (await parts_of(tmp_path, one, two)).parts

    archives = {part.url: part.memento.archive for part in found if part.memento is not None}
    assert archives == {IMAGE: "two", STYLE: "one"}
    assert not [line for line in two.journal if STYLE in line]


async def test_a_part_is_missing_only_if_every_archive_says_so(tmp_path: Path) -> None:
    one = PageArchive("one", (page(IMAGE),))

    alone = by_url(await parts_of(tmp_path, one))
    beside = by_url(await parts_of(tmp_path, one, PageArchive("two")))
    silent = by_url(await parts_of(tmp_path, one, PageArchive("two", is_down=True)))

    assert alone[IMAGE].outcome == beside[IMAGE].outcome == "missing"
    assert silent[IMAGE].outcome == "unknown"
    assert "two" in silent[IMAGE].why


async def test_archives_that_the_client_does_not_want_are_not_asked(tmp_path: Path) -> None:
    one = PageArchive("one", (page(IMAGE),))
    two, three = PageArchive("two", (Held(IMAGE),)), PageArchive("three", (Held(IMAGE),))
    only, without = (
        Preferences(archives=frozenset({"one", "three"})),
        Preferences(exclude=frozenset({"three"})),
    )

    async with core_over(tmp_path, one, two, three) as core:
        (some,) = (await core.parts_of(ROOT, UNLIMITED, None, only)).parts
        assert two.journal == []
        three.journal.clear()
        (others,) = (await core.parts_of(ROOT, UNLIMITED, None, without)).parts

    assert three.journal == []
    archives = [part.memento and part.memento.archive for part in (some, others)]
    assert archives == ["three", "two"]


async def test_a_capture_of_another_url_is_not_the_part(tmp_path: Path) -> None:
    other = "http://shop.example/not-found.html"
    archive = PageArchive("one", (page(IMAGE), Held(other)), leads={IMAGE: other})

    (part,) = (await parts_of(tmp_path, archive)).parts

    assert part.outcome == "unknown"
    assert part.why == f"one leads to another URL: {other}"


async def test_an_archived_error_is_a_missing_part_and_says_so(tmp_path: Path) -> None:
    archive = PageArchive("one", (page(IMAGE), Held(IMAGE, AT, b"", "text/html", 404)))

    (part,) = (await parts_of(tmp_path, archive)).parts

    assert part.outcome == "missing"
    assert part.why == "it was archived as an error (404)"
    assert part.memento is not None
    assert part.memento.status == 404


async def test_a_capture_that_is_not_delivered_is_unknown(tmp_path: Path) -> None:
    archive = PageArchive("one", (page(IMAGE), Held(IMAGE)), loses=(IMAGE,))

    (part,) = (await parts_of(tmp_path, archive)).parts

    assert part.outcome == "unknown"
    assert part.coherence == "undefined"


async def test_an_archive_without_head_is_asked_with_get(tmp_path: Path) -> None:
    archive = PageArchive("one", (page(IMAGE), Held(IMAGE)), knows_head=False)

    (part,) = (await parts_of(tmp_path, archive)).parts

    assert (part.outcome, part.evidence) == ("found", "delivered")


async def test_another_archive_fills_in_for_a_capture_that_is_not_delivered(
    tmp_path: Path,
) -> None:
    one = PageArchive("one", (page(IMAGE), Held(IMAGE)), loses=(IMAGE,))
    two = PageArchive("two", (Held(IMAGE, "20081130000000"),))

    (part,) = (await parts_of(tmp_path, one, two)).parts

    assert part.outcome == "found"
    assert part.memento is not None
    assert part.memento.archive == "two"


async def test_stylesheets_and_frames_are_read_two_levels_deep(tmp_path: Path) -> None:
    archive = PageArchive(
        "one",
        (
            styled(),
            Held(STYLE, AT, b"@import 'b.css'; p { background: url(1.png) }", "text/css"),
            Held("http://shop.example/b.css", AT, b"@import 'c.css';", "text/css"),
            Held("http://shop.example/c.css", AT, b"@import 'd.css';", "text/css"),
            Held("http://shop.example/d.css", AT, b"@import 'e.css';", "text/css"),
            Held("http://shop.example/1.png"),
        ),
    )

    found = by_url(await parts_of(tmp_path, archive))

    assert [url.removeprefix("http://shop.example/") for url in found] == [
        *("a.css", "b.css", "1.png", "c.css"),
    ]
    assert {part.outcome for part in found.values()} == {"found"}
    assert found["http://shop.example/b.css"].parent == STYLE


async def test_a_part_that_several_documents_embed_is_looked_for_once(tmp_path: Path) -> None:
    css = b"p { background: url(cat.jpg#x) } b { background: url(cat.jpg) }"
    body = f'<link rel="stylesheet" href="{STYLE}"><img src="{IMAGE}"><img src="{IMAGE}#1">'
    archive = PageArchive(
        "one",
        (
            Held(PAGE, AT, body.encode(), "text/html"),
            Held(STYLE, AT, css, "text/css"),
            Held(IMAGE),
        ),
    )

    composite = await parts_of(tmp_path, archive)

    assert len(composite.parts) == 2
    asked = [line for line in archive.journal if line.endswith(IMAGE)]
    assert asked == [
        f"HEAD http://one.example/timegate/{IMAGE}",
        f"HEAD http://one.example/web/{AT}id_/{IMAGE}",
    ]


async def test_an_archived_redirect_is_followed_as_another_part(tmp_path: Path) -> None:
    target = "http://shop.example/new.jpg"
    moved = Held(IMAGE, AT, b"", "text/html", 302, location=target)
    archive = PageArchive("one", (page(IMAGE), moved, Held(target, "20081129011920")))

    found = by_url(await parts_of(tmp_path, archive))

    assert found[IMAGE].redirect == target
    assert found[target].outcome == "found"
    assert (found[target].source, found[target].parent) == ("redirect", IMAGE)


async def test_redirects_in_a_circle_end(tmp_path: Path) -> None:
    other = "http://shop.example/b.jpg"
    archive = PageArchive(
        "one",
        (
            page(IMAGE),
            Held(IMAGE, status=302, location=other),
            Held(other, status=302, location=IMAGE),
        ),
    )

    assert [*by_url(await parts_of(tmp_path, archive))] == [IMAGE, other]


async def test_variants_are_marked_and_neither_looked_for_nor_counted(tmp_path: Path) -> None:
    body = f'<img src="{IMAGE}" srcset="large.jpg 2x, huge.jpg 3x">'.encode()
    archive = PageArchive("one", (Held(PAGE, AT, body, "text/html"), Held(IMAGE)))

    composite = await parts_of(tmp_path, archive)

    outcomes = {part.url.rpartition("/")[2]: part.outcome for part in composite.parts}
    assert outcomes == {"cat.jpg": "found", "large.jpg": "variant", "huge.jpg": "variant"}
    assert (composite.summary.parts, composite.summary.found) == (1, 1)
    assert not [line for line in archive.journal if "large" in line]


async def test_variants_are_looked_for_on_request(tmp_path: Path) -> None:
    body = f'<img src="{IMAGE}" srcset="large.jpg 2x">'.encode()
    large = Held("http://shop.example/large.jpg")
    archive = PageArchive("one", (Held(PAGE, AT, body, "text/html"), Held(IMAGE), large))

    composite = await parts_of(tmp_path, archive, limits=PartLimits(variants=True))

    assert [part.outcome for part in composite.parts] == ["found", "found"]
    assert composite.summary.parts == 1


async def test_what_the_budget_of_requests_does_not_reach_is_not_looked_for(
    tmp_path: Path,
) -> None:
    images = [f"http://shop.example/{number}.jpg" for number in range(30)]
    archive = PageArchive("one", (page(*images), *map(Held, images)))

    composite = await parts_of(tmp_path, archive, limits=PartLimits(requests=21))

    summary = composite.summary
    assert (summary.parts, summary.missing, summary.unknown) == (30, 0, 0)
    assert summary.found + summary.not_looked == 30
    assert 8 <= summary.found <= 10
    assert summary.coherence == "undefined"
    assert len(archive.journal) <= 21
    assert composite.requests == 21
    assert {part.why for part in composite.parts if part.outcome == "not-looked"} == {
        "the budget of 21 requests is used up"
    }


class Tokens:
    """The quota of a client who has a few questions left."""

    def __init__(self, left: int) -> None:
        self.left = left

    async def charge(self, original: str) -> QuotaCharge:
        del original
        self.left -= 1
        return QuotaCharge(granted=self.left >= 0)


async def test_six_parts_cost_a_client_as_much_as_one_question(tmp_path: Path) -> None:
    images = [f"http://shop.example/{number}.jpg" for number in range(20)]
    archive = PageArchive("one", (page(*images), *map(Held, images)))
    poor, rich = Tokens(2), Tokens(10)

    async with core_over(tmp_path, archive) as core:
        few = await core.parts_of(ROOT, structs.replace(UNLIMITED, quota=poor))
    async with core_over(tmp_path, archive) as core:
        all_of_them = await core.parts_of(ROOT, structs.replace(UNLIMITED, quota=rich))

    assert (few.summary.found, few.summary.not_looked) == (12, 8)
    assert few.parts[-1].why == "the quota of this client is used up"
    assert all_of_them.summary.found == 20
    assert rich.left == 6


async def test_gaps_that_the_budget_does_not_reach_are_not_called_missing(
    tmp_path: Path,
) -> None:
    images = [f"http://shop.example/{number}.jpg" for number in range(8)]
    one, two = PageArchive("one", (page(*images),)), PageArchive("two")

    composite = await parts_of(tmp_path, one, two, limits=PartLimits(requests=34))

    outcomes = [part.outcome for part in composite.parts]
    assert set(outcomes) == {"missing", "not-looked"}
    assert len(one.journal) + len(two.journal) <= 34


async def test_the_budget_of_octets_and_of_parts_is_kept(tmp_path: Path) -> None:
    images = [f"http://shop.example/{number}.jpg" for number in range(10)]
    archive = PageArchive("one", (page(*images), *map(Held, images)))

    few = await parts_of(tmp_path, archive, limits=PartLimits(parts=3))
    large = Held(STYLE, AT, b"p { color: red }" * 1000, "text/css")
    styles = PageArchive("one", (styled(), large))
    heavy = await parts_of(tmp_path, styles, limits=PartLimits(octets=5_000))

    assert len(few.parts) == 3
    assert few.unread == ("only the first 3 parts are listed",)
    assert few.summary.partial
    assert [part.outcome for part in heavy.parts] == ["not-looked"]
    assert heavy.parts[0].why == "the budget of 5000 octets is used up"


async def test_a_document_that_is_not_read_to_its_end_may_have_more_parts(
    tmp_path: Path,
) -> None:
    archive = PageArchive("one", (page(IMAGE, *(f"/{n}.jpg" for n in range(100))), Held(IMAGE)))

    composite = await parts_of(tmp_path, archive, limits=PartLimits(document=100))

    assert composite.unread == (f"only the beginning of {PAGE} was read",)
    assert composite.summary.coherence == "undefined"


async def test_a_page_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    lost = PageArchive("one", (page(IMAGE),), loses=(PAGE,))
    moved = PageArchive("one", (Held(PAGE, status=302, location=IMAGE),))

    with pytest.raises(ArchiveError, match="404"):
        await parts_of(tmp_path, lost)
    with pytest.raises(ArchiveError, match="redirect"):
        await parts_of(tmp_path, moved)


async def test_a_picture_has_no_parts(tmp_path: Path) -> None:
    archive = PageArchive("one", (Held(PAGE, AT, b"\x89PNG", "image/png"),))

    composite = await parts_of(tmp_path, archive)

    assert (composite.parts, composite.unread) == ((), ())
    assert composite.summary.parts == 0


async def test_last_modified_decides_whether_a_later_part_fits(tmp_path: Path) -> None:
    old, new = "http://shop.example/old.png", "http://shop.example/new.png"
    later = "20081201000000"
    archive = PageArchive(
        "one",
        (
            page(old, new),
            Held(old, later, modified="20081001000000"),
            Held(new, later, modified="20081130000000"),
        ),
    )

    found = by_url(await parts_of(tmp_path, archive))

    assert found[old].coherence == "prima-facie-coherent"
    assert found[new].coherence == "prima-facie-violative"
    assert str(found[old].last_modified) == "2008-10-01T00:00:00Z"


async def test_equal_digests_on_both_sides_show_that_a_part_did_not_change(
    tmp_path: Path,
) -> None:
    before, after = "20081128000000", "20081201000000"
    held = (page(IMAGE), Held(IMAGE, before, digest="AAA"), Held(IMAGE, after, digest="AAA"))
    changed = (page(IMAGE), Held(IMAGE, before, digest="AAA"), Held(IMAGE, after, digest="B"))

    (same,) = (await parts_of(tmp_path, PageArchive("one", held, has_index=True))).parts
    (other,) = (await parts_of(tmp_path, PageArchive("one", changed, has_index=True))).parts
    (blind,) = (await parts_of(tmp_path, PageArchive("one", held))).parts

    assert (same.coherence, same.digest) == ("prima-facie-coherent", "AAA")
    assert other.coherence == "possibly-coherent"
    assert blind.coherence == "possibly-coherent"


async def test_an_unforeseen_exception_costs_one_part_only(tmp_path: Path) -> None:
    other = "http://shop.example/dog.jpg"
    archive = PageArchive("one", (page(IMAGE, other), Held(IMAGE), Held(other)), bugs=(IMAGE,))

    found = by_url(await parts_of(tmp_path, archive))

    assert found[IMAGE].outcome == "unknown"
    assert "internal error" in found[IMAGE].why
    assert found[other].outcome == "found"


async def test_a_query_for_the_page_sums_up_its_parts(tmp_path: Path) -> None:
    archive = PageArchive("one", (page(IMAGE, "/gone.gif"), Held(IMAGE, "20081129011816")))
    query = query_for_url(PAGE, Moment(AT))

    async with core_over(tmp_path, archive) as core:
        whole = await core.resolver.resolve(query, Preferences(verify="page"), UNLIMITED)
        plain = await core.resolver.resolve(query, Preferences(verify="head"), UNLIMITED)

    assert plain.parts is None
    assert whole.parts is not None
    assert (whole.parts.parts, whole.parts.found, whole.parts.missing) == (2, 1, 1)
    assert whole.parts.spread == "-PT1M/-PT1M"
    assert whole.preferences.verify == "page"


async def test_a_query_for_a_page_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    archive = PageArchive("one", (Held(PAGE, status=302, location=IMAGE),))

    async with core_over(tmp_path, archive) as core:
        query = query_for_url(PAGE, Moment(AT))
        whole = await core.resolver.resolve(query, Preferences(verify="page"), UNLIMITED)

    assert whole.parts is not None
    assert whole.parts.failure == "one holds a redirect, not a page"


async def test_an_answer_with_parts_that_are_not_known_is_not_kept(tmp_path: Path) -> None:
    query = query_for_url(PAGE, Moment(AT))
    kept = []
    for archive in (
        PageArchive("one", (page(IMAGE), Held(IMAGE))),
        PageArchive("one", (page(IMAGE), Held(IMAGE)), loses=(IMAGE,)),
    ):
        async with core_over(tmp_path, archive) as core:
            whole = await core.resolver.resolve(query, Preferences(verify="page"), UNLIMITED)
            answers = Answers(core.resolver, core.registry, "http://gate.example")
            answer = answers.described(whole, vary="accept")
            kept.append((answer.keep, answer.headers["Cache-Control"]))

    assert kept == [(60.0, "max-age=60"), (0.0, "no-cache")]


async def test_when_enough_parts_are_known_no_further_document_is_read(tmp_path: Path) -> None:
    frames = [f"http://shop.example/{number}.html" for number in range(8)]
    body = "".join(f'<iframe src="{url}"></iframe>' for url in frames)
    inner = b"".join(b'<img src="/%d.png">' % number for number in range(20))
    held = [Held(url, AT, inner, "text/html") for url in frames]
    archive = PageArchive("one", (Held(PAGE, AT, body.encode(), "text/html"), *held))

    composite = await parts_of(tmp_path, archive, limits=PartLimits(parts=12, at_once=1))

    read = [line for line in archive.journal if line.startswith("GET ")]
    assert read == [f"GET http://one.example/web/{AT}id_/{url}" for url in (PAGE, frames[0])]
    assert composite.unread == ("only the first 12 parts are listed",)
